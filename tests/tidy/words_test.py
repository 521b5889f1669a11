#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people read is in plain English: none of the phrases of WORDS stands in a text of ours. docs/internals/words.md says how we write.
Looks at the texts of the programs (not of tests), at api/, at the pages of docs/ but docs/decisions, at README, quickstart and the changelog."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What stands there, and what to say.
WORDS = {
    r"\b[Mm]end(s|ed|ing)?\b": "fix",
    r"\b[Ww]ish(es|ed)?\b(?!\.json|/1)": "request, want, desired",
    r"\bfor ever\b": "forever, or without end",
    r"\b(is|are) none of\b": "is not one of, is not any of",
    r"\bis no whole number\b": "is not a whole number",
    r"\bnothing of this kind\b": "say what was looked for",
    r"\bsaid nothing\b": "the log is empty, is silent about",
    r"\b(is|are) ill\b|\bill GPUs?\b": "unhealthy",
    r"\bbeside it fits\b": "there is room for",
    r"\b(its|their) repetitions counted\b": "including retries",
    r"\bmore pods alike\b": "more pods like it",
    r"\b(his|her) (stays|own)\b|\bhe or she\b": "it, they",
    r"\bwrong words\b": "wrong usage",
    r"\bSay how\b|\bSay what\b|\bSay why\b|\bSay whether\b": "Explain, Show, Tell",
    r"\bThe least that\b|\bthe least that\b": "the lowest",
    r"(?<!/)(?<!of )\b1 (nodes|pods|GPUs|jobs|files|shares)\b": "a count and its noun agree: counted()",
}
# In texts of the programs only. "There is no pod" is right.
OF_WHAT = re.compile(r"^(Of|At most so|So much|So many) (a|an|the|one|many|long)\b")
IS_NO = re.compile(r"(?<!there )(?<!There )\b(?:is|are) no (?!longer\b|more\b|such\b|room\b|other\b|one\b|way\b|answer\b|better\b|news\b)[a-z]")
PROGRAMS = {"src", "cmd", "sim", "guard"}


def tracked():
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        out = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as why:
        print(f"skipped: no list of the files by git: {why}")
        sys.exit(77)
    return [name for name in out.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def texts_of_code(text):
    """(line, text) of each literal, those that follow one another being one; comments are left out."""
    literal = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((.*?)\)"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'', re.S)
    begun, so_far, end = 0, "", 0
    for found in literal.finditer(text):
        part = found.group(1) if found.group(1) is not None else found.group(2)
        if part is None:
            continue
        if so_far and text[end:found.start()].strip():
            yield begun, so_far
            so_far = ""
        if not so_far:
            begun = text.count("\n", 0, found.start()) + 1
        so_far += part
        end = found.end()
    if so_far:
        yield begun, so_far


def texts_of(name):
    path, text = pathlib.PurePosixPath(name), (ROOT / name).read_text(errors="replace")
    if path.suffix in {".cpp", ".h"}:
        if path.parts[0] in PROGRAMS and not path.stem.endswith(("_test", "_bench", "_scenes")) and "cases" not in path.parts:
            for line, told in texts_of_code(text):
                yield line, told.replace("\\n", " "), True
    elif name in {"README.md", "CHANGELOG.md", "quickstart"} or path.suffix == ".md" and path.parts[0] == "docs" and path.parts[1] != "decisions" \
            or path.parts[0] == "api" and path.suffix == ".yaml":
        if name != "docs/internals/words.md":
            for line, told in enumerate(text.splitlines(), 1):
                yield line, told, path.parts[0] == "api"


def breaches():
    for name in tracked():
        for line, told, of_program in texts_of(name):
            for pattern, better in WORDS.items():
                if found := re.search(pattern, told):
                    yield f"{name}:{line}: '{found.group(0)}': {better}"
            if of_program and (found := IS_NO.search(told)):
                yield f"{name}:{line}: '{found.group(0)}...': is not a"
            if of_program and (found := OF_WHAT.search(told)):
                yield f"{name}:{line}: '{found.group(0)}...': begin with the thing: Seed of the trace"


found = list(breaches())
print("\n".join(found) if found else "the words are plain")
sys.exit(1 if found else 0)
