#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The most that any planner could win on a trace by moving tasks: two bounds, by linear programs.

  end     From the end of a run without moves (its --log): all that few moves (--moves, several
          possible) and the requests that were refused could add. Each GPU keeps what it has, gives
          some of it away and takes in other tasks and refused ones. CPU, memory and nodes are not
          looked at, and parts of a GPU's exchange are allowed, so no real plan wins more.
  repack  All running tasks are put together anew, free of charge, at every arrival, and an arrival
          is refused only when even then the GPUs do not suffice (CPU and memory again not looked at).

Needs glpsol (Debian: glpk-utils). Milli are rounded down to tens, which raises the bounds if anything.
"""
import argparse
import collections
import csv
import itertools
import math
import os
import subprocess
import sys
import tempfile

UNIT = 10
WHOLE = 1000 // UNIT


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def size_of(task):
    """(GPUs, units of each)"""
    gpus = int(task["num_gpu"] or 0)
    return gpus, min(1000, int(task["gpu_milli"] or 0)) // UNIT if gpus else 0


def solve(direction, objective, rows):
    """rows: name -> ({column: factor}, sense, bound). Gives (value, {name: dual})."""
    def term(factors):
        return " ".join(f"{factor:+g} x{column}" for column, factor in sorted(factors.items()))

    text = [direction, "obj: " + term(objective), "Subject To"]
    text += [f"r{i}: {term(factors)} {sense} {bound}"
             for i, (factors, sense, bound) in enumerate(rows.values())]
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = os.path.join(folder, "p"), os.path.join(folder, "a")
        with open(problem, "w") as file:
            file.write("\n".join(text + ["End", ""]))
        subprocess.run(["glpsol", "--lp", problem, "-w", answer], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        with open(answer) as file:
            words = [line.split() for line in file]
    value = next(float(word[-1]) for word in words if word and word[0] == "s")
    duals = [float(word[4]) for word in words if word and word[0] == "i"]
    return value, dict(zip(rows, duals))


def best_filling(sizes, value):
    """Per number of free units: (worth, sizes) of the best filling."""
    best = [(0.0, ())]
    for free in range(1, WHOLE + 1):
        top = best[-1]
        for size in sizes:
            if size <= free and best[free - size][0] + value(size) > top[0] + 1e-9:
                top = (best[free - size][0] + value(size), best[free - size][1] + (size,))
        best.append(top)
    return best


class End:
    """What stands on every GPU when the run is over, and what was refused."""

    def __init__(self, nodes, tasks, log):
        gpus = {node["sn"]: [[] for _ in range(int(node["gpu"]))] for node in nodes}
        self.refused = collections.Counter()
        for event in log:
            count, size = size_of(tasks[int(event["row"])])
            if event["event"] == "drop" and count:
                self.refused[size] += count
            elif event["event"] == "place":
                for device in event["devices"].split():
                    gpus[event["node"]][int(device)].append(size)
            elif event["event"] in ("move", "leave"):
                sys.exit("the log must be of a run without --migrate and --departures")
        self.states = collections.Counter(
            tuple(sorted(gpu)) for node in gpus.values() for gpu in node)
        self.running = sum(sum(state) * count for state, count in self.states.items())
        self.capacity = WHOLE * sum(self.states.values())
        self.sizes = sorted({size for state in self.states for size in state} | set(self.refused))

    def bound(self, moves):
        # A column: (state, tasks that leave, tasks that come from elsewhere, refused ones that come).
        columns = [(state, (), (), ()) for state in self.states]
        while True:
            rows = {("state", state): ({}, "<=", count) for state, count in self.states.items()}
            rows.update({("moved", size): ({}, "<=", 0) for size in self.sizes})
            rows.update({("refused", size): ({}, "<=", self.refused[size]) for size in self.sizes})
            rows["budget"] = ({}, "<=", moves)
            objective = {}
            for i, (state, out, come, new) in enumerate(columns):
                rows["state", state][0][i] = 1
                objective[i] = sum(new)
                if out:
                    rows["budget"][0][i] = len(out)
                balance = collections.Counter(out)
                balance.subtract(come)
                for size, count in balance.items():
                    if count:
                        rows["moved", size][0][i] = count
                for size, count in collections.Counter(new).items():
                    rows["refused", size][0][i] = count
            rows = {name: row for name, row in rows.items() if row[0]}
            gain, dual = solve("Maximize", objective, rows)
            added, missing = self.better(dual, columns)
            if not added or missing < 0.5:
                return gain + missing
            columns += added

    def better(self, dual, columns):
        """Columns that would pay at these prices, and by how much the optimum may be above."""
        come = {size: dual.get(("moved", size), 0) for size in self.sizes}
        new = {size: size - dual.get(("refused", size), 0) if self.refused[size] else 0
               for size in self.sizes}
        budget = dual.get("budget", 0)
        best = best_filling(self.sizes, lambda size: max(come[size], new[size]))
        known = set(columns)
        added, missing = [], 0
        for state, count in self.states.items():
            subsets = {out for n in range(len(state) + 1)
                       for out in itertools.combinations(state, n)}
            worth, out = max((best[WHOLE - sum(state) + sum(out)][0]
                              - sum(come[size] + budget for size in out), out) for out in subsets)
            more = worth - dual.get(("state", state), 0)
            if more < 1e-6:
                continue
            missing += more * count
            filling = best[WHOLE - sum(state) + sum(out)][1]
            column = (state, out, tuple(s for s in filling if come[s] > new[s]),
                      tuple(s for s in filling if come[s] <= new[s]))
            if column not in known:
                added.append(column)
        return added, missing


class Repacked:
    """How many GPUs a set of tasks needs at least."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.columns = [(size,) * (WHOLE // size) for size in sizes]

    def gpus(self, parts, whole):
        while True:
            rows = {size: ({i: column.count(size) for i, column in enumerate(self.columns)
                            if size in column}, ">=", parts[size]) for size in self.sizes}
            need, dual = solve("Minimize", {i: 1 for i in range(len(self.columns))}, rows)
            worth, filling = best_filling(self.sizes, lambda size: dual[size])[WHOLE]
            if worth <= 1 + 1e-7:
                return whole + math.ceil(need - 1e-6)
            self.columns.append(filling)


def repack(gpus, arrivals):
    sizes = sorted({size for count, size in arrivals if count == 1 and size < WHOLE})
    packing = Repacked(sizes)

    def with_one(parts, whole, arrival):
        count, size = arrival
        if size == WHOLE:
            return parts, whole + count
        return parts + collections.Counter({size: count}), whole

    low, high = 0, len(arrivals)
    while low < high:  # the first arrivals that are all taken
        middle = (low + high + 1) // 2
        parts = collections.Counter(s for c, s in arrivals[:middle] if c and s < WHOLE)
        whole = sum(c for c, s in arrivals[:middle] if c and s == WHOLE)
        low, high = (middle, high) if packing.gpus(parts, whole) <= gpus else (low, middle - 1)
    parts = collections.Counter(s for c, s in arrivals[:low] if c and s < WHOLE)
    whole = sum(c for c, s in arrivals[:low] if c and s == WHOLE)
    hopeless = set()
    for arrival in arrivals[low:]:
        if arrival[0] == 0 or arrival in hopeless:
            continue
        more = with_one(parts, whole, arrival)
        if packing.gpus(*more) <= gpus:
            parts, whole = more
        else:
            hopeless.add(arrival)
    return WHOLE * whole + sum(size * count for size, count in parts.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("nodes", "pods", "order", "log"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--moves", type=int, nargs="+", default=[0, 108, 100000])
    words = parser.parse_args()
    nodes, tasks = rows_of(words.nodes), rows_of(words.pods)
    end = End(nodes, tasks, rows_of(words.log))
    print(f"without moves: {100 * end.running / end.capacity:.2f} %")
    for moves in words.moves:
        most = end.running + end.bound(moves)
        print(f"end, {moves} moves: at most {100 * most / end.capacity:.2f} %")
    with open(words.order) as file:
        arrivals = [size_of(tasks[int(line.split(",")[1])]) for line in file if line[0] == "P"]
    running = repack(end.capacity // WHOLE, arrivals)
    print(f"repack at every arrival: {100 * running / end.capacity:.2f} %")


if __name__ == "__main__":
    main()
