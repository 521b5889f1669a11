#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast `aliquot serve` is, and what it takes: from submit to a running program on an idle machine, a submit beside
10,000 jobs that wait, explaining and listing those, memory, CPU. By hand: job_server_bench.py PROGRAM [jobs]."""
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "clients/python/tests")]
from aliquot import Jobs  # noqa: E402
from machine import Machine  # noqa: E402


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def own_mib(pid):
    """What it would give back: not what it shares with others of its program."""
    rows = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) / 1024


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(act):
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


def told(name, times):
    times = sorted(times)
    print(f"{name}: p50 {times[len(times) // 2]:.2f} ms, p99 {times[len(times) * 99 // 100]:.2f} ms, max {times[-1]:.2f} ms")


def until_running(jobs):
    job = jobs.submit({"name": "idle", "command": ["true"]})[0]["id"]
    while jobs.get(job)["state"] not in ("Running", "Succeeded"):
        pass
    return job


def main():
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with Machine(program, "--most-jobs", str(2 * count + 100)) as machine:
        jobs, pid = Jobs(machine.server), machine.pid()
        times = []
        for _ in range(50):
            times.append(timed(lambda: until_running(jobs)))
            while next(jobs.list(), None) is not None:
                time.sleep(0.01)
        told("submit to running, idle", times)
        holder = jobs.submit({"name": "holder", "command": ["sleep", "100000"], "gpu_count": 2})[0]["id"]
        while jobs.get(holder)["state"] != "Running":
            time.sleep(0.01)
        runner = int((machine.path / f"state/jobs/{holder}.1/started").read_text().split()[1])
        print(f"a runner: {resident_mib(runner):.1f} MiB, {own_mib(runner):.1f} MiB of its own")

        def submit(i):
            jobs.submit({"name": f"j{i % 50}", "command": ["true"], "gpu_count": 1 + i % 2, "deadline_seconds": 3600})
        told(f"submit, from 0 to {count} that wait", [timed(lambda i=i: submit(i)) for i in range(count)])
        print(f"server beside {count} that wait: {resident_mib(pid):.1f} MiB")
        told(f"submit beside {count}", [timed(lambda i=i: submit(i)) for i in range(500)])
        told(f"explain beside {count}", [timed(lambda i=i: jobs.explain(holder + 1 + i)) for i in range(100)])
        print(f"list of {count}: {timed(lambda: list(jobs.list())):.0f} ms, server then {resident_mib(pid):.1f} MiB")
        before = cpu_seconds(pid)
        time.sleep(10)
        print(f"server beside {count} that wait, nobody asks: {10 * (cpu_seconds(pid) - before):.1f} % of a core")
        machine.kill()


if __name__ == "__main__":
    main()
