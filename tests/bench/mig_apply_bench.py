#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long programs take that cut GPUs: ours and another, in turn on the same simulated node.

Each --program is NAME=COMMAND; in COMMAND {layout} stands for a configuration's name. Every round
lets each program go from one layout to the other and back (two full applies), apply what is there
already (nothing to do), and, with --export NAME=COMMAND, write down what is there. Prints medians
in milliseconds and the ratio to the first program.
"""
import argparse
import shlex
import statistics
import subprocess
import sys
import time


def timed(command):
    begin = time.perf_counter()
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=120)
    spent = (time.perf_counter() - begin) * 1000
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return spent


def named(words):
    pairs = [word.split("=", 1) for word in words]
    if any(len(pair) != 2 for pair in pairs):
        sys.exit("expected NAME=COMMAND")
    return dict(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--export", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--layouts", nargs=2, default=["all-1g.5gb", "all-balanced"])
    parser.add_argument("--rounds", type=int, default=7)
    words = parser.parse_args()
    programs, exports = named(words.program), named(words.export)
    times = {}
    first, second = words.layouts
    for _ in range(words.rounds):
        for name, command in programs.items():
            timed(command.replace("{layout}", first))
            for layout in (second, first):
                times.setdefault(("full apply", name), []).append(
                    timed(command.replace("{layout}", layout)))
            times.setdefault(("nothing to do", name), []).append(
                timed(command.replace("{layout}", first)))
        for name, command in exports.items():
            times.setdefault(("export", name), []).append(timed(command))
    base = next(iter(programs))
    for (what, name), spent in sorted(times.items()):
        median = statistics.median(spent)
        ratio = median / statistics.median(times.get((what, base), spent))
        print(f"{what:14} {name:12} {median:9.1f} ms   x{ratio:.1f}   ({len(spent)} runs)")


if __name__ == "__main__":
    main()
