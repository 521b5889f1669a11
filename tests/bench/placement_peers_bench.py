#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast pods get their nodes by Kubernetes' own scheduler: plain, with our gate, with strict placement.

placement_peers_bench.py --programs BIN_DIR [--nodes 1000] [--pods 5000] [--modes plain,gated,strict] [--qps 50]
Needs what tests/e2e/peers/cluster.py says. The nodes are those of `aliquot sim cluster`, 8 H100 of 4 shares each; pods
ask for 1 or 2 shares. One mode after the other, each `--rounds` times in turn.
"""
import argparse
import http.client
import json
import os
import statistics
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "peers"))
from cluster import KUBECONFIG, Api, Controller, Program, Scheduler, until  # noqa: E402

SPACE = "aliquot-bench"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SHARES = """version: v1
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.shared, replicas: 4}]}}
"""


class Watch:
    """When each pod was first seen without our gate, with a node and running."""

    def __init__(self, api):
        self.released, self.bound, self.running = {}, {}, {}
        version = api("GET", PODS + "?limit=1")["metadata"]["resourceVersion"]
        self.connection = http.client.HTTPSConnection(api.host, context=api.context, timeout=600)
        self.connection.request("GET", f"{PODS}?watch=1&resourceVersion={version}")
        threading.Thread(target=self.read, args=[self.connection.getresponse()], daemon=True).start()

    def read(self, answer):
        try:
            for line in answer:
                now = time.monotonic()
                pod = json.loads(line)["object"]
                name = pod["metadata"]["name"]
                if not pod["spec"].get("schedulingGates"):
                    self.released.setdefault(name, now)
                if pod["spec"].get("nodeName"):
                    self.bound.setdefault(name, now)
                if pod.get("status", {}).get("phase") == "Running":
                    self.running.setdefault(name, now)
        except (AttributeError, OSError, ValueError, KeyError, http.client.HTTPException):
            pass  # the API server ended it


def pod(number, gated):
    shares = {"limits": {"nvidia.com/gpu.shared": str(1 + number % 2)}, "requests": {"cpu": "100m"}}
    spec = {"containers": [{"name": "main", "image": "none.invalid/c:1", "resources": shares}]}
    if gated:
        spec["schedulingGates"] = [{"name": "aliquot.dev/placement"}]
    return {"metadata": {"name": f"p{number}"}, "spec": spec}


def create(count, gated, rate):
    """At `rate` pods a second over four connections."""
    begin = time.monotonic()

    def some(first):
        api = Api()
        for number in range(first, count, 4):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            api("POST", PODS, pod(number, gated))

    threads = [threading.Thread(target=some, args=[first]) for first in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return begin


def configure_strict(api, port):
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/binding"]}
    hook = {"name": "binding.aliquot.dev", "clientConfig": {"url": f"https://127.0.0.1:{port}/bind/pods"},
            "rules": [rule], "failurePolicy": "Ignore", "timeoutSeconds": 1, "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"]}
    api("POST", HOOKS, {"metadata": {"name": "bench"}, "webhooks": [hook]})
    until(lambda: api("GET", f"{HOOKS}/bench")["webhooks"][0]["clientConfig"].get("caBundle"))
    time.sleep(3)


def metrics_of(controller):
    port = controller.number_behind("health_port=")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return [line for line in answer.read().decode().splitlines()
                if line.startswith(("aliquot_placement_release_seconds", "aliquot_placement_binding"))]


def clear(api):
    api("DELETE", f"{HOOKS}/bench")
    api("DELETE", "/apis/coordination.k8s.io/v1/namespaces/aliquot-system/leases/aliquot-controller")
    while api("GET", PODS + "?limit=1").get("items"):
        api("DELETE", PODS + "?gracePeriodSeconds=0")
        time.sleep(1)


def one_round(options, mode, api):
    clear(api)
    controller = None
    if mode != "plain":
        words = ["--placement", *(["--placement-strict"] if "strict" in mode else [])]
        controller = Controller(options.programs, words, configuration="bench")
        until(lambda: "kube.leading" in controller.said())
        if "strict" in mode:
            configure_strict(api, controller.webhook_port())
    scheduler = Scheduler(qps=options.qps)
    time.sleep(5)
    watch = Watch(api)
    begin = create(options.pods, "gated" in mode, options.rate)
    until(lambda: len(watch.bound) >= options.pods or scheduler.process.poll() is not None, options.patience, 0.2)
    bound = sorted(at - begin for at in watch.bound.values())
    middle = bound[len(bound) // 10:len(bound) * 9 // 10]
    found = {"mode": mode, "bound": len(bound), "all_bound_s": round(bound[-1], 1),
             "binds_per_s": round(len(middle) / (middle[-1] - middle[0]), 1)}
    if "gated" in mode:
        found["all_released_s"] = round(max(watch.released.values()) - begin, 1)
    print(json.dumps(found), flush=True)
    if controller and options.metrics:
        print("\n".join(metrics_of(controller)))
    scheduler.end()
    if controller:
        controller.end(15)
    return found


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    words.add_argument("--programs", required=True)
    words.add_argument("--nodes", type=int, default=1000)
    words.add_argument("--pods", type=int, default=5000)
    words.add_argument("--modes", default="plain,gated,strict")
    words.add_argument("--qps", type=int, default=50, help="of kube-scheduler; stock is 50")
    words.add_argument("--rate", type=float, default=125, help="pods created a second")
    words.add_argument("--rounds", type=int, default=1)
    words.add_argument("--patience", type=float, default=600, help="seconds for all binds of a round")
    words.add_argument("--metrics", action="store_true", help="show the controller's own")
    options = words.parse_args()
    api = Api()
    for space in SPACE, "aliquot-system":
        api.add_namespace(space)
    clear(api)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(SHARES)
        config.flush()
        api("DELETE", "/api/v1/nodes")
        cluster = Program([f"{options.programs}/aliquot", "sim", "cluster", "--nodes", str(options.nodes), "--gpu", "h100-80:8",
                           "--config", config.name, "--kubeconfig", KUBECONFIG, "--no-scheduler"])
        until(lambda: "is up" in cluster.said() or cluster.process.poll() is not None, 600)
        print(cluster.said().split("\n")[0], "load", os.getloadavg()[0], flush=True)
        try:
            found = [one_round(options, mode, api) for _ in range(options.rounds) for mode in options.modes.split(",")]
        finally:
            cluster.end(15)
            clear(api)
            api("DELETE", "/api/v1/nodes")
    for mode in options.modes.split(","):
        rates = [one["binds_per_s"] for one in found if one["mode"] == mode]
        print(f"{mode}: {statistics.median(rates)} binds per second, median of {len(rates)}; load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()
