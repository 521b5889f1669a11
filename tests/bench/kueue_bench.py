#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a real Kueue admits jobs of one pod: by quota alone, beside our controller, and with our admission check.

kueue_bench.py --programs BIN_DIR [--jobs 500] [--rounds 2] [--modes quota,beside,checked]
Needs what tests/e2e/peers/kueue_world.py says. All jobs are there before the queue opens; its quota and the GPUs of the
light nodes are enough for all of them. One mode after the other, each `--rounds` times in turn.
"""
import argparse
import http.client
import json
import os
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "peers"))
import kueue_world  # noqa: E402
from cluster import MERGE, Api, until  # noqa: E402
from kueue_world import GROUP, JOBS, WORKLOADS, KueueWorld  # noqa: E402


class Bench(KueueWorld):
    """Its programs; no test."""
    GPUS = 16
    wants_controller = False

    def runTest(self):
        """Nothing: one_round() is called by main()."""

    @classmethod
    def start_controller(cls, *words):
        if cls.wants_controller:
            super().start_controller(*words)


class Admissions:
    """When each Workload was first seen admitted."""

    def __init__(self, api):
        self.at = {}
        version = api("GET", WORKLOADS + "?limit=1")["metadata"]["resourceVersion"]
        self.connection = http.client.HTTPSConnection(api.host, context=api.context, timeout=900)
        self.connection.request("GET", f"{WORKLOADS}?watch=1&resourceVersion={version}")
        threading.Thread(target=self.read, args=[self.connection.getresponse()], daemon=True).start()

    def read(self, answer):
        try:
            for line in answer:
                now = time.monotonic()
                one = json.loads(line)["object"]
                for condition in one.get("status", {}).get("conditions", []):
                    if condition["type"] == "Admitted" and condition["status"] == "True":
                        self.at.setdefault(one["metadata"]["name"], now)
        except (AttributeError, OSError, ValueError, KeyError, http.client.HTTPException):
            pass  # the API server ended it


def job(number):
    amounts = {"cpu": "100m", "nvidia.com/gpu": "1"}
    return {"metadata": {"name": f"job-{number:05}", "labels": {"kueue.x-k8s.io/queue-name": "bench"}},
            "spec": {"suspend": True, "backoffLimit": 0, "activeDeadlineSeconds": 3600, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "main", "image": "none.invalid/c:1", "resources": {
                    "limits": amounts, "requests": amounts}}]}}}}


def create(count):
    def some(first):
        api = Api()
        for number in range(first, count, 4):
            api("POST", JOBS, job(number))

    threads = [threading.Thread(target=some, args=[first]) for first in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def one_round(bench, mode, options):
    bench.clear()
    Bench.wants_controller = mode != "quota"
    if "controller" in bench.programs:
        bench.kill("controller")
    bench.start_controller()
    checked = "true" if mode == "checked" else "false"
    bench.apply(f"queues: [{{name: bench, namespaces: [@], gpus: {{any: {options.jobs}}}, check-placement: {checked}}}]")
    queue = f"{GROUP}/clusterqueues/bench"
    bench.api("PATCH", queue, {"spec": {"stopPolicy": "Hold"}}, MERGE)
    create(options.jobs)
    until(lambda: bench.api("GET", queue)["status"].get("pendingWorkloads") == options.jobs, 600, 1)
    time.sleep(options.rest)
    seen = Admissions(bench.api)
    begin = time.monotonic()
    bench.api("PATCH", queue, {"spec": {"stopPolicy": "None"}}, MERGE)
    until(lambda: len(seen.at) >= options.jobs, options.patience, 0.2)
    at = sorted(one - begin for one in seen.at.values())
    middle = at[len(at) // 10:len(at) * 9 // 10]
    found = {"mode": mode, "admitted": len(at), "all_s": round(at[-1], 1), "per_s": round(len(at) / at[-1], 1),
             "middle_per_s": round(len(middle) / (middle[-1] - middle[0]), 1), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(found), flush=True)
    if options.log and "controller" in bench.programs:
        print(bench.said("controller")[-3000:])
    return found


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    words.add_argument("--programs", required=True)
    words.add_argument("--jobs", type=int, default=500)
    words.add_argument("--rounds", type=int, default=2)
    words.add_argument("--modes", default="quota,beside,checked")
    words.add_argument("--rest", type=float, default=10, help="seconds before the queue opens")
    words.add_argument("--patience", type=float, default=900, help="seconds for all admissions of a round")
    words.add_argument("--log", action="store_true", help="show the controller's words")
    options = words.parse_args()
    kueue_world.PROGRAMS = options.programs
    Bench.NODES = -(-options.jobs // Bench.GPUS)
    Bench.setUpClass()
    try:
        found = [one_round(Bench(), mode, options) for _ in range(options.rounds) for mode in options.modes.split(",")]
    finally:
        Bench.tearDownClass()
    for mode in options.modes.split(","):
        rates = [one["per_s"] for one in found if one["mode"] == mode]
        print(f"{mode}: {statistics.median(rates)} admissions per second, median of {len(rates)}")


if __name__ == "__main__":
    main()
