#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the programs, the libraries they need and what those need to say into an OCI image archive, without docker.

The same input gives the same bytes. SOURCE_DATE_EPOCH is the time of everything in it; without it that is 1970.
Exit codes: 0 written, 1 the image cannot be made, 2 usage.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import debian  # noqa: E402
import elf  # noqa: E402
import layout  # noqa: E402
import spdx  # noqa: E402

# Libraries of a driver are opened by path and want these of us; since glibc 2.34 most of them are nearly empty.
FOR_DRIVERS = ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
ZONES = "usr/share/zoneinfo"
FOLDERS = ("dev", "proc", "run", "sys", "var/lib")
PASSWD = b"root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"
GROUP = b"root:x:0:\nnogroup:x:65534:\n"
NSSWITCH = b"passwd: files\ngroup: files\nhosts: files dns\n"
# Where nodes keep a driver's libraries beside the places that our loader knows.
LIBRARY_PATH = "/usr/local/nvidia/lib64:/usr/lib64"
MEGABYTE = 1000 * 1000


class Refused(Exception):
    """The image cannot be made; the text says why and how to fix it."""


def options(words):
    parser = argparse.ArgumentParser(prog="assemble.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--file", action="append", default=[], metavar="PATH=SOURCE", required=True,
                        help="usr/bin/aliquot=build/release/bin/aliquot; ELF files get their libraries")
    parser.add_argument("--version", required=True)
    parser.add_argument("--reference", required=True, metavar="NAME:TAG")
    parser.add_argument("--output", required=True, help="the archive")
    parser.add_argument("--folder", required=True, help="where the layers and the bill of materials go")
    parser.add_argument("--licence", required=True, help="our own licence text")
    parser.add_argument("--strip", default="", help="program that strips ELF files; without it they stay as they are")
    parser.add_argument("--link-inputs", action="append", default=[], metavar="FILE",
                        help="a linker's --dependency-file: tells which archives are inside the programs")
    parser.add_argument("--source-package", action="append", default=[], metavar="NAME",
                        help="a package whose headers are inside the programs")
    parser.add_argument("--library-folder", action="append", default=[], metavar="FOLDER", help="searched first")
    parser.add_argument("--certificates", default="/" + CERTIFICATES)
    parser.add_argument("--zones", default="/" + ZONES, help="time zones, which schedules name")
    parser.add_argument("--most-megabytes", type=int, default=30)
    return parser.parse_args(words)


def contents(source, strip):
    """A file's bytes, stripped when it is an ELF file and there is a program for that."""
    if strip and pathlib.Path(source).read_bytes()[:4] == b"\x7fELF":
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "stripped")
            done = subprocess.run([strip, "--strip-unneeded", "-o", out, source], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Refused(f"{strip} cannot strip {source}: {done.stderr.strip()}")
            return pathlib.Path(out).read_bytes()
    return pathlib.Path(source).read_bytes()


def own_files(given):
    files = {}
    for pair in given:
        path, _, source = pair.partition("=")
        if not source or path.startswith("/") or ".." in path.split("/"):
            raise Refused(f"--file {pair}: expected PATH=SOURCE with a path without a leading slash")
        if not os.path.isfile(source):
            raise Refused(f"{source}: no such file; build the programs first")
        files[path] = source
    return files


def machine_of(files):
    facts = {}
    for source in files.values():
        try:
            facts[source] = elf.read(source)
        except elf.NotElf as problem:
            raise Refused(f"{source}: {problem}") from problem
    kinds = {one.architecture for one in facts.values()}
    if len(kinds) != 1:
        raise Refused(f"the programs are for {', '.join(sorted(kinds))}; an image is for one")
    return next(iter(facts.values())), facts


def linked_archives(link_inputs):
    """Archives outside of the build that a linker took; their names may have several spellings."""
    found = set()
    for name in link_inputs:
        words = re.split(r"(?<!\\)\s+", pathlib.Path(name).read_text().replace("\\\n", " "))
        found |= {os.path.normpath(word) for word in words if word.endswith(".a") and word.startswith("/")}
    return sorted(found)


def add_libraries(tree, libraries, facts, strip):
    folder = f"usr/lib/{facts.multiarch}"
    for name, source in libraries.items():
        tree.file(f"{folder}/{name}", contents(os.path.realpath(source), strip), 0o755)
    tree.link("lib", "usr/lib")
    tree.link("lib64", "usr/lib64")
    tree.folder("usr/lib64")
    loader = next((one.interpreter for one in facts.all if one.interpreter), "")
    if loader:
        where = "usr" + os.path.dirname(loader) if loader.startswith("/lib") else os.path.dirname(loader)[1:]
        if where != folder:
            tree.link(f"{where}/{os.path.basename(loader)}", os.path.relpath(f"{folder}/{os.path.basename(loader)}", where))


def distribution_text(version):
    """(os-release of the build machine and which image this is, its short name)."""
    try:
        text = pathlib.Path("/etc/os-release").read_text()
    except OSError:
        text = 'ID=linux\nPRETTY_NAME="Linux"\n'
    value = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.M))
    text = text.rstrip("\n") + f"\nIMAGE_ID=aliquot\nIMAGE_VERSION={version}\n"
    return text.encode(), f"{value.get('ID', 'linux')}-{value.get('VERSION_ID', '')}".rstrip("-")


def add_zones(tree, folder):
    """Every time zone of the folder; a second name stays a link. Without what Debian keeps beside them (right, posix)."""
    found = 0
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] in ("right", "posix") or not path.is_file():
            continue
        if path.is_symlink() and path.resolve().is_relative_to(pathlib.Path(folder).resolve()):
            tree.link(f"{ZONES}/{name}", os.path.relpath(path.resolve(), path.parent.resolve()))
        elif (data := path.read_bytes()).startswith(b"TZif"):
            tree.file(f"{ZONES}/{name}", data)
            found += 1
    if found == 0:
        raise Refused(f"{folder}: no time zones; install tzdata or name another folder with --zones")


def library_layer(given, facts, libraries, shipped):
    tree = layout.Tree()
    for name in FOLDERS:
        tree.folder(name)
    tree.folder("tmp", 0o1777)
    tree.link("var/run", "../run")
    tree.file("etc/passwd", PASSWD)
    tree.file("etc/group", GROUP)
    tree.file("etc/nsswitch.conf", NSSWITCH)
    tree.file("etc/os-release", distribution_text(given.version)[0])
    if not os.path.isfile(given.certificates):
        raise Refused(f"{given.certificates}: no such file; install ca-certificates or name another with --certificates")
    tree.file(CERTIFICATES, pathlib.Path(given.certificates).read_bytes())
    add_zones(tree, given.zones)
    add_libraries(tree, libraries, facts, given.strip)
    for path, text in debian.licences(package.name for package in shipped).items():
        tree.file(path, text)
    return tree


def program_layer(given, files, bill, shipped, linked):
    tree = layout.Tree()
    for path, data in files.items():
        tree.file(path, data, 0o755)
    tree.file("usr/share/doc/aliquot/copyright", pathlib.Path(given.licence).read_bytes())
    tree.file("usr/share/doc/aliquot/sbom.spdx.json", bill)
    known = {package.name for package in shipped}
    for path, text in debian.licences(package.name for package in linked if package.name not in known).items():
        tree.file(path, text)
    for package in sorted({*shipped, *linked}):
        tree.file(f"var/lib/dpkg/status.d/{package.name}", debian.status(package.name).encode())
    return tree


def assemble(given, when):
    """(the archive, its manifest's digest, layers by name, the bill of materials)."""
    sources = own_files(given.file)
    first, facts = machine_of(sources)
    search = elf.Search(first.multiarch, given.library_folder)
    try:
        libraries = elf.closure(sources.values(), search, FOR_DRIVERS)
    except LookupError as problem:
        raise Refused(f"libraries are missing:\n{problem}\ninstall them, or name their folder with --library-folder") from problem
    owner = debian.owners([*libraries.values(), given.certificates])
    data = {package for package, used in (("ca-certificates", given.certificates == "/" + CERTIFICATES), ("tzdata", given.zones == "/" + ZONES)) if used}
    shipped = debian.packages(set(owner.values()) | data)
    archives = debian.owners(linked_archives(given.link_inputs))
    linked = debian.packages({*archives.values(), *given.source_package})
    unknown = [name for name, path in libraries.items() if path not in owner]
    files = {path: contents(source, given.strip) for path, source in sources.items()}
    bill = spdx.document(given.version, files, shipped, linked, unknown, distribution_text(given.version)[1], when)

    place = Place(first.architecture, first.multiarch, tuple(facts.values()))
    trees = {"libraries": library_layer(given, place, libraries, shipped),
             "programs": program_layer(given, files, bill, shipped, linked)}
    layers = {}
    for name, tree in trees.items():
        plain = tree.tar(when)
        layers[name] = (layout.gzipped(plain), layout.digest(plain))
    image = layout.Image(
        reference=given.reference, architecture=first.architecture, command=["/usr/bin/aliquot"],
        environment=["PATH=/usr/bin", f"LD_LIBRARY_PATH={LIBRARY_PATH}", "SSL_CERT_FILE=/" + CERTIFICATES],
        labels={"org.opencontainers.image.title": "aliquot",
                "org.opencontainers.image.description": "GPU shares for Kubernetes: agent, controller, command line and probe",
                "org.opencontainers.image.version": given.version,
                "org.opencontainers.image.licenses": "Apache-2.0"},
        layers=[(f"aliquot image: {name}", *layer) for name, layer in layers.items()], time=when)
    archive, digest = image.archive()
    return archive, digest, layers, bill


class Place:
    """Whom the libraries are for."""

    def __init__(self, architecture, multiarch, every):
        self.architecture, self.multiarch, self.all = architecture, multiarch, every


def main(words):
    given = options(words)
    stamp = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not re.fullmatch(r"\d{1,11}", stamp):
        print(f"image: SOURCE_DATE_EPOCH is '{stamp}', expected seconds since 1970", file=sys.stderr)
        return 2
    try:
        archive, digest, layers, bill = assemble(given, int(stamp))
        if len(archive) > given.most_megabytes * MEGABYTE:
            raise Refused(f"the image has {len(archive) / MEGABYTE:.1f} MB, more than the {given.most_megabytes} MB that it may have")
        folder = pathlib.Path(given.folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, (data, _) in layers.items():
            (folder / f"{name}.tar.gz").write_bytes(data)
        (folder / "sbom.spdx.json").write_bytes(bill)
        part = given.output + ".part"
        pathlib.Path(part).write_bytes(archive)
        os.replace(part, given.output)
    except (Refused, OSError, subprocess.TimeoutExpired) as problem:
        print(f"image: {problem}", file=sys.stderr)
        return 1
    print(f"{given.output}: {given.reference}, {digest}, {len(archive) / MEGABYTE:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
