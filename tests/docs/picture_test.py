#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture_test.py BUILD [--update]: every picture of docs/pictures is what its command draws (pictures.tsv), can be read as
XML, brings no script and asks for nothing from elsewhere, and is shown by a page; --update draws all of them again."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/pictures"
LIMIT_S = 300
SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {SVG + name for name in ("svg", "title", "desc", "style", "rect", "line", "polyline", "circle", "text")}


def commands():
    for line in (FOLDER / "pictures.tsv").read_text().splitlines():
        if not line.startswith("#"):
            name, command = line.split("\t")
            yield name, command


def drawn(build, command):
    words = shlex.split(command)
    words[0] = str(build / "bin/aliquot")
    # Findings (1) are no failure: the picture of what is broken is one of them.
    run = subprocess.run([*words, "--svg", "-"], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                         env={**os.environ, "LC_ALL": "C.UTF-8"})
    if run.returncode not in (0, 1) or not run.stdout.startswith("<svg "):
        sys.exit(f"{command}: exit code {run.returncode}: {run.stderr.strip()[:500]}")
    return run.stdout


def breaches(name, text):
    root = xml.etree.ElementTree.fromstring(text)
    for one in root.iter():
        if one.tag not in KNOWN:
            yield f"{name}: <{one.tag}> is not one of ours"
        for attribute in one.attrib:
            if attribute.lower().startswith("on") or "href" in attribute.lower():
                yield f"{name}: attribute {attribute}"
    if re.search(r"url\(|@import", text):
        yield f"{name}: asks for something from elsewhere"
    if not (root.findtext(SVG + "title") and root.findtext(SVG + "desc")):
        yield f"{name}: no title and description for who does not see it"


def main():
    build, update = pathlib.Path(sys.argv[1]).resolve(), "--update" in sys.argv
    pages = "".join(page.read_text() for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    wrong, names = [], set()
    for name, command in commands():
        names.add(name)
        text = drawn(build, command)
        wrong += breaches(name, text)
        path = FOLDER / name
        if update:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(f"docs/pictures/{name}: is not what '{command}' draws: python3 tests/docs/picture_test.py {sys.argv[1]} --update")
        if f"pictures/{name}" not in pages:
            wrong.append(f"docs/pictures/{name}: no page shows it")
    wrong += [f"{path.relative_to(ROOT)}: no command in pictures.tsv" for path in FOLDER.glob("*.svg") if path.name not in names]
    print("\n".join(wrong) or f"{len(names)} pictures are up to date")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
