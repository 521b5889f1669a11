# SPDX-License-Identifier: Apache-2.0
"""Which package of the build machine a file came from, by dpkg. Without dpkg nothing is known, and that is said."""
import dataclasses
import os
import re
import shutil
import subprocess

COMMON_LICENCES = "/usr/share/common-licenses"
DEADLINE_SECONDS = 60
# What the status file of a package keeps: scanners read these.
KEPT_FIELDS = ("Package", "Status", "Priority", "Section", "Maintainer", "Architecture", "Multi-Arch", "Source", "Version",
               "Homepage")


@dataclasses.dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    homepage: str


def _ask(*words):
    """Output of a command; empty when it is not there or knows nothing."""
    if shutil.which(words[0]) is None:
        return ""
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    return done.stdout


def _names(path):
    """A file's names before and after /lib became /usr/lib, which dpkg does not know of."""
    real = os.path.realpath(path)
    for name in dict.fromkeys((path, real)):
        yield name
        if name.startswith("/usr/lib"):
            yield name[4:]
        elif name.startswith("/lib"):
            yield "/usr" + name


def owners(paths):
    """{path: package} of the files that a package brought."""
    asked = {name: path for path in paths for name in _names(path)}
    found = {}
    for line in _ask("dpkg-query", "-S", *asked).splitlines() if asked else []:
        package, _, name = line.partition(": ")
        if name in asked and "," not in package:
            found.setdefault(asked[name], package.split(":")[0])
    return found


def packages(names):
    """The Package of each installed name."""
    fields = ("Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage")
    form = "\\t".join(f"${{{field}}}" for field in fields) + "\\n"
    text = _ask("dpkg-query", "-W", "-f", form, *sorted(names)) if names else ""
    found = {}
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) == len(fields) and parts[1]:
            found.setdefault(parts[0], Package(*parts))
    return [found[name] for name in sorted(found)]


def status(name):
    """The package's status as scanners of images read it."""
    lines = _ask("dpkg-query", "-s", name).splitlines()
    kept = [line for line in lines if line.split(":")[0] in KEPT_FIELDS]
    return "\n".join(kept) + "\n" if kept else ""


def licences(names, root="/usr/share/doc"):
    """{path in the image: text} of the packages' copyright files and of the common licences they point to."""
    texts, common = {}, set()
    for name in sorted(names):
        path = os.path.join(root, name, "copyright")
        try:
            with open(path, "rb") as file:
                texts[f"usr/share/doc/{name}/copyright"] = file.read()
        except OSError:
            continue
        words = texts[f"usr/share/doc/{name}/copyright"].decode("utf-8", "replace")
        common |= set(re.findall(COMMON_LICENCES + r"/([A-Za-z0-9.-]*[A-Za-z0-9])", words))
    for name in sorted(common):
        try:
            with open(os.path.join(COMMON_LICENCES, name), "rb") as file:
                texts[f"usr/share/common-licenses/{name}"] = file.read()
        except OSError:
            continue
    return texts
