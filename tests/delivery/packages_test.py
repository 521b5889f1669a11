#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packages_test.py FOLDER: the Debian packages in FOLDER, installed into a Debian 12 root of their own, with a clock.

Needs root, mmdebstrap and a Debian mirror; without them it says what is missing and ends with 77.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What apt and dpkg themselves write.
NOT_OURS = re.compile(r"^(var/(lib/(apt|dpkg|systemd|pam|ucf)|cache|log)|tmp|proc|etc/(ld\.so\.cache|resolv\.conf|hosts))(/|$)")

MOST_BYTES = 25_000_000  # of a program, without debug data


def fail(text):
    sys.exit(f"packages_test: {text}")


def skip(text):
    print(f"packages_test: skipped: {text}")
    sys.exit(77)


def files_of(root):
    found = set()
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if not NOT_OURS.match(name):
            found.add(name)
    return found


def inside(root, command, check=True):
    """Runs a shell command in the root, with /proc, in mounts of its own."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, str(root), command],
                          capture_output=True, text=True, check=False, timeout=900)
    if check and done.returncode != 0:
        fail(f"exit code {done.returncode} of: {command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def make_root(root):
    if shutil.which("mmdebstrap") is None:
        skip("mmdebstrap is not installed")
    sources = [str(path) for path in (pathlib.Path("/etc/apt/sources.list.d/debian.sources"), pathlib.Path("/etc/apt/sources.list")) if path.exists()]
    # tzdata is in every Debian (priority required), and apt would not take it away again.
    done = subprocess.run(["mmdebstrap", "--variant=apt", "--include=tzdata", "--mode=root", "--quiet", "bookworm", str(root), *sources[:1]],
                          capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        skip("no Debian 12 root can be made here: " + (done.stderr.strip().splitlines() or ["mmdebstrap does not say why"])[-1])


def walk(root):
    """Every tutorial as it stands on its page, by somebody without rights, in what the packages brought: [(page, seconds)]."""
    inside(root, "DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends python3 /tmp/*.deb && useradd --create-home reader")
    tour = root / "home/reader/tour"
    shutil.copytree(root / "usr/share/aliquot", tour)
    for part in ("docs", "tests/docs"):
        shutil.copytree(ROOT / part, tour / part)
    inside(root, "chown -R reader: /home/reader")
    walked = []
    for page in sorted((ROOT / "docs/tutorial").glob("*.md")):
        started = time.monotonic()
        done = inside(root, f"su reader -c 'cd ~/tour && python3 -B tests/docs/console_test.py installed docs/tutorial/{page.name}'", check=False)
        if done.returncode != 0:
            fail(f"docs/tutorial/{page.name} is not what happens where the packages are\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        walked.append((page.stem, time.monotonic() - started))
    return walked


def main():
    folder = pathlib.Path(sys.argv[1])
    packages = sorted(folder.glob("*.deb"))
    if len(packages) != 3:
        fail(f"{folder} has {len(packages)} packages, expected 3: build the target deb")
    with tempfile.TemporaryDirectory(prefix="aliquot-packages-") as temporary:
        root = pathlib.Path(temporary) / "root"
        make_root(root)
        before = files_of(root)
        for package in packages:
            shutil.copy(package, root / "tmp")

        started = time.monotonic()
        inside(root, "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends /tmp/*.deb")
        installed = time.monotonic()
        examples = "/usr/share/aliquot/examples/a2-tts-stt"
        said = inside(root, f"cd /tmp && aliquot up --gpu a2 --config {examples}/config.yaml {examples}/*.yaml --once").stdout
        ended = time.monotonic()
        if said.count("Running") != 2:
            fail(f"expected 2 Running pods:\n{said}")

        for program in (root / "usr/bin").glob("aliquot*"):
            if program.stat().st_size > MOST_BYTES:
                fail(f"/usr/bin/{program.name} has {program.stat().st_size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}")
        for command in ("aliquot version", "kubectl-aliquot version", "aliquot-agent --version",
                        "aliquot simulate placement --help", "aliquot sim cluster --help", "aliquot lint " + examples,
                        "aliquot run --help", "aliquot doctor --help"):
            inside(root, command)
        for name in ("man/man1/aliquot.1", "man/man1/aliquot-up.1", "man/man1/aliquot-simulate-placement.1",
                     "man/man1/aliquot-sim-cluster.1", "bash-completion/completions/aliquot", "zsh/vendor-completions/_aliquot",
                     "fish/vendor_completions.d/aliquot.fish", "doc/aliquot/copyright"):
            if not (root / "usr/share" / name).is_file():
                fail(f"/usr/share/{name} is not there")
        for unit, program in (("aliquot-jobs", "aliquot serve"), ("aliquot-agent", "aliquot-agent")):
            text = (root / f"usr/lib/systemd/system/{unit}.service").read_text()
            if f"ExecStart=/usr/bin/{program}" not in text:
                fail(f"{unit}.service does not start /usr/bin/{program}")
        if "ListenStream=/run/aliquot/jobs.sock" not in (root / "usr/lib/systemd/system/aliquot-jobs.socket").read_text():
            fail("aliquot-jobs.socket does not listen where aliquot job asks")

        inside(root, "apt-get -qq -y purge aliquot aliquot-agent libaliquot-guard && apt-get -qq -y autoremove --purge")
        left = files_of(root) - before
        if left:
            fail("left behind: " + ", ".join(sorted(left)[:20]))
        print(f"packages_test: installed in {installed - started:.1f} s, two pods run {ended - installed:.1f} s later; nothing is left after purge")
        print("packages_test: walked " + ", ".join(f"{page} in {seconds:.0f} s" for page, seconds in walk(root)))


main()
