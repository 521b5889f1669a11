#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""console_test.py BUILD PAGE.md [--update]: runs every console block of a page and compares what it prints with what the
page says; --update writes what it prints into the page instead. BUILD 'installed' stands for the programs of the packages, run
by whoever runs this.

A block is run in a shell that all blocks of the page share, in a folder that has clients/, deploy/, docs/ and examples/ and nothing else, with
our programs on the PATH and a /tmp, /run and /var/lib of its own (77: not possible here). In front of a block a comment can say

  <!-- not run: REASON -->     it needs something that a machine of the tests has not
  <!-- run: figures -->        numbers differ from run to run: any number stands for any other, and any user for root
  <!-- before: COMMANDS -->    runs these first; they are what a reader of the page has done already. Not in a tutorial, which shows all
  <!-- wait: COMMANDS -->      runs these first; they wait for what a reader, being slower, finds done

In a block, '...' stands for any text, and alone on a line for any lines. """
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 120
NUMBER = re.compile(r"\d[\d.,:]*(?:[eE][-+]?\d+)?")


class Block:
    def __init__(self, page, line, comments, text):
        self.page, self.line, self.text = page, line, text
        self.reason, self.figures, self.before = None, False, []
        for kind, rest in comments:
            if kind == "not run":
                self.reason = rest
                if len(rest) < 8:
                    sys.exit(f"{page}:{line}: 'not run:' wants a reason")
            elif kind == "before" and page.parent.name == "tutorial":
                sys.exit(f"{page}:{line}: 'before:' hides from the reader what has to be typed; show it, or 'wait:'")
            elif kind in ("before", "wait"):
                self.before.append(rest)
            elif rest == "figures":
                self.figures = True
            else:
                sys.exit(f"{page}:{line}: 'run: {rest}' is not known; expected figures")

    def commands(self):
        """(line, command, lines that it prints) for each line that begins with a prompt."""
        found, lines = [], self.text.splitlines()
        for number, text in enumerate(lines, self.line + 1):
            if text.startswith("$ ") or (text.startswith("# ") and not found):
                found.append((number, text[2:], []))
            elif not found:
                sys.exit(f"{self.page}:{number}: a console block begins with a command: '$ ...'")
            elif found[-1][1].endswith("\\") and not found[-1][2]:
                found[-1] = (found[-1][0], found[-1][1] + "\n" + text, [])
            else:
                found[-1][2].append(text)
        return found


def blocks_of(page):
    text = page.read_text()
    found = []
    for match in re.finditer(r"((?:^ *<!-- (?:not run|run|before|wait): (?:(?!-->).)*-->\n)*)^( *)```console\n(.*?)^ *```", text, re.S | re.M):
        comments = [(kind, rest.strip()) for kind, rest in re.findall(r"<!-- (not run|run|before|wait): (.*?)-->", match.group(1), re.S)]
        indent = match.group(2)
        inner = re.sub(f"^{indent}", "", match.group(3), flags=re.M)
        line = text.count("\n", 0, match.start(3))
        found.append(Block(page.relative_to(ROOT), line, comments, inner))
    return found


class Shell:
    """One bash for a page."""

    def __init__(self, folder, environment):
        self.end = "end-of-command-7c1e"
        self.errors = pathlib.Path(folder).parent / "errors"  # a file for each command: one in the background keeps its own
        self.errors.mkdir()
        self.count = 0
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, command):
        """(exit code, lines of the standard output, lines of the standard error)"""
        self.count += 1
        errors = self.errors / str(self.count)
        # The command's own standard input is empty: it must not read ours.
        self.process.stdin.write(f"{{ {command}\n}} </dev/null 2>{errors}\nprintf '\\n%s %s\\n' {self.end} $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line.startswith(self.end + " "):
                code = int(line.split()[1])
                if lines and lines[-1] == "":
                    lines.pop()
                return code, lines, errors.read_text(errors='replace').splitlines()
            lines.append(line)
        return -1, lines, []

    def close(self):
        try:
            os.killpg(self.process.pid, 15)
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.wait(timeout=30)


def pattern_of(line, figures):
    parts = []
    for piece in line.rstrip().split("..."):
        if figures:
            piece = NUMBER.sub("\0", piece)
            piece = re.sub(r"\s+", "\1", re.sub(r"\broot\b", "\2", piece))
        parts.append(re.escape(piece).replace("\0", r"\d[\d.,:]*(?:[eE][-+]?\d+)?").replace("\1", r"\s+").replace("\2", r"\w+"))
    return re.compile(".*".join(parts) + r"\s*$")


def matches(expected, actual, figures):
    """Do the lines match, where '...' alone on a line stands for any?"""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[i:], figures) for i in range(len(actual) + 1))
    return bool(actual) and bool(pattern_of(expected[0], figures).match(actual[0])) and matches(expected[1:], actual[1:], figures)


def write_output(page, number, old, new):
    """Replaces the `old` lines after line `number`; the line numbers behind them stay wrong."""
    lines = page.read_text().splitlines(keepends=True)
    lines[number:number + len(old)] = [line + "\n" for line in new]
    page.write_text("".join(lines))


def run_page(page, blocks, folder, build, update):
    programs = f"{build}/bin:{build}/sim:" if build else ""
    environment = {"PATH": f"{programs}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder / "home"),
                   "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp"}
    work = folder / "work"
    (folder / "home").mkdir()
    work.mkdir()
    for name in ("clients", "deploy", "docs", "examples"):
        (work / name).symlink_to(ROOT / name)
    shell = Shell(work, environment)
    wrong = 0
    changes = []
    for block in blocks:
        if block.reason:
            continue
        for command in block.before:
            code, actual, errors = shell.run(command)
            if code != 0:
                wrong += 1
                print(f"{block.page}:{block.line}: before: {command}\n  exit code {code}: {actual} {errors}")
        for number, command, expected in block.commands():
            code, actual, errors = shell.run(command)
            if command.endswith("&") and expected:  # it goes on, and speaks when it gets to it
                until = time.monotonic() + LIMIT_S
                while not matches(expected, actual, block.figures) and time.monotonic() < until:
                    time.sleep(0.1)
                    actual += shell.run("true")[1]
            given = list(expected)
            while expected and not expected[-1].strip():
                expected.pop()
            # A page shows both or the result alone.
            seen = (actual, errors + actual, actual + errors)
            if any(matches(expected, one, block.figures) for one in seen) if expected else code == 0:
                continue
            if update and expected:
                changes.append((number + command.count("\n"), given, (actual or errors) + [""] * (len(given) - len(expected))))
                continue
            wrong += 1
            print(f"{block.page}:{number}: $ {command}\n  exit code {code}; the page says")
            print("".join(f"    {line}\n" for line in expected) or "    (nothing, and success)\n", end="")
            print("  and it is\n" + "".join(f"    {line}\n" for line in errors + actual))
    shell.close()
    for change in reversed(changes):
        write_output(page, *change)
    return wrong


def main():
    build, page = (pathlib.Path(sys.argv[1]).resolve() if sys.argv[1] != "installed" else None), pathlib.Path(sys.argv[2]).resolve()
    blocks = blocks_of(page)
    if len(blocks) != len(re.findall(r"^ *```console$", page.read_text(), re.M)):
        sys.exit(f"{page}: a console block without its end, or a comment that is not directly in front of one")
    if build and "ALIQUOT_CONSOLE_INSIDE" not in os.environ:
        # /tmp/node of one page must not be that of another.
        script = 'mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mount --bind "$1" /tmp && shift && exec "$@"'
        if subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", "/tmp", "true"], capture_output=True, check=False).returncode != 0:
            print("skipped: no mounts of its own can be made here")
            sys.exit(77)
        with tempfile.TemporaryDirectory(prefix="aliquot-docs-") as private:
            done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", private, sys.executable, *sys.argv], check=False,
                                  env={**os.environ, "ALIQUOT_CONSOLE_INSIDE": "yes"}, timeout=900)
            sys.exit(done.returncode)
    with tempfile.TemporaryDirectory(prefix="aliquot-docs-") as folder:
        wrong = run_page(page, blocks, pathlib.Path(folder), build, "--update" in sys.argv)
    left_out = [block for block in blocks if block.reason]
    print(f"{page.relative_to(ROOT)}: {len(blocks) - len(left_out)} blocks run, {len(left_out)} have a reason why not")
    sys.exit(1 if wrong else 0)


main()
