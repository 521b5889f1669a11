#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree keeps its promises: licence lines, names, lengths, links. Prints one line per breach."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BANNED = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}
MOST_LINES = 400
OPEN = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# What clang 14, which builds the fuzz targets and reads the tree for clang-tidy, refuses of GCC 12's library.
NOT_FOR_CLANG_14 = re.compile(
    r"ranges::(search|search_n|find_end|equal_range|remove|remove_if|unique|partition|stable_partition|rotate"
    r"|shift_left|shift_right|subrange)\b|\bviews::|#include <(ranges|expected|format|source_location)>")
# Longer than the rule, with the reason.
AGREED_LONG = {
    "abi/cuda.h": "one ABI, one file",
    "abi/nvml.h": "one ABI, one file",
    "src/detect/tokens.cpp": "one scanner",
    "src/exposition/test_scenes.cpp": "one node of each kind",
    "src/syntax/promql.cpp": "one scanner",
    "src/syntax/quick_yaml.cpp": "one reader",
    "src/lint/rules/dockerfiles.cpp": "one family of rules",
    "src/syntax/python_objects.cpp": "one reader",
    "src/placement/event_line.cpp": "both ways of one line format",
}


def tracked():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         cwd=ROOT, capture_output=True, check=True)
    names = [n for n in out.stdout.decode().split("\0") if n]
    return [n for n in names if (ROOT / n).is_file()]


def source_breaches(name, text):
    if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
        yield f"{name}:1: no SPDX line"
    lines = text.count("\n")
    if lines > MOST_LINES and name not in AGREED_LONG:
        yield f"{name}: {lines} lines, over {MOST_LINES}: split it by noun, or agree on it in tests/tidy"
    for number, line in enumerate(text.splitlines(), 1):
        if OPEN.search(line):
            yield f"{name}:{number}: left open: {line.strip()}"
        if name.endswith((".cpp", ".h")) and NOT_FOR_CLANG_14.search(line):
            yield f"{name}:{number}: clang 14 refuses this: take the form with begin and end"


def link_breaches(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            if not ((ROOT / name).parent / target).exists():
                yield f"{name}:{number}: dead link {target}"


def map_breaches():
    """docs/map.md names every room of the house, and nothing that is not there."""
    text = (ROOT / "docs/map.md").read_text()
    named = set(re.findall(r"`([\w./-]+)`", text))
    for path in sorted(name for name in named if "/" in name):
        if not (ROOT / path).exists() and not list((ROOT / path).parent.glob((ROOT / path).name + ".*")):
            yield f"docs/map.md: {path} is not there"
    folders = [path for top in ("src", "sim", "cmd") for path in (ROOT / top).iterdir() if path.is_dir()]
    folders += [ROOT / name.split("/")[0] for name in tracked() if "/" in name and not name.startswith(".")]
    for folder in sorted(set(folders)):
        name = str(folder.relative_to(ROOT)) + "/"
        if name not in named:
            yield f"docs/map.md: says nothing of {name}"
    modules = set((ROOT / "src/LAYERS").read_text().split("\n", 1)[1].split())
    for folder in sorted((ROOT / "src").iterdir()):
        if folder.is_dir() and folder.name not in modules:
            yield f"src/LAYERS: says nothing of {folder.name}"


def breaches():
    yield from map_breaches()
    for name in tracked():
        path = pathlib.PurePosixPath(name)
        words = {part for piece in path.parts for part in re.split(r"[._-]", piece.lower())}
        for word in sorted(words & BANNED):
            yield f"{name}: '{word}' hides what it holds"
        is_case = "cases" in path.parts  # what a test reads is not ours to sign
        if path.suffix in {".cpp", ".h", ".py"} and not is_case or path.name in {"check", "quickstart", "run"}:
            yield from source_breaches(name, (ROOT / name).read_text(errors="replace"))
        if path.suffix == ".md":
            yield from link_breaches(name, (ROOT / name).read_text(errors="replace"))
    for folder in sorted((ROOT / "src").iterdir()):
        if folder.is_dir() and not list(folder.glob("*_test.cpp")):
            yield f"src/{folder.name}: no unit test"


found = list(breaches())
print("\n".join(found) if found else "the tree is tidy")
sys.exit(1 if found else 0)
