#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that leave their GPUs idle: told, then ended, beside Kueue or without a queue. What an agent would measure is told here."""
import http.server
import json
import threading
import time

from cluster import until
from kueue_world import PODS, KueueWorld, main

MINUTE = 60_000_000_000
VISION = "queues: [{name: vision, namespaces: [@], gpus: {any: 8}, check-placement: true}]"


class Agent:
    """GET /api/v1/state, with a GPU for each pod."""

    def __init__(self):
        self.pods = {}  # by name: uid, namespace, minutes without use
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(agent.state()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def state(self):
        now = int(1000 * time.time())
        return {"apiVersion": "aliquot.dev/v1", "kind": "NodeState", "node": "node-0", "atMs": now, "gpus": [
            {"uuid": f"GPU-{name}", "index": number, "readAtMs": now, "parts": [{"tenants": [
                {"namespace": pod["namespace"], "pod": name, "podUid": pod["uid"], "container": "worker", "resource": "nvidia.com/gpu",
                 "ids": [f"GPU-{name}"], "source": "whole", "entitlementPpm": 1_000_000, "heldNs": 120 * MINUTE,
                 "idleNs": int(pod["minutes"] * MINUTE)}]}]}
            for number, (name, pod) in enumerate(sorted(self.pods.items()))]}


class Idle(KueueWorld):
    def setUp(self):
        super().setUp()
        self.agent = Agent()
        self.addCleanup(self.agent.server.shutdown)
        self.kill("controller")
        self.start_controller("--page-agents", f"127.0.0.1:{self.agent.server.server_port}", "--jobs-idle-after", "30m",
                              "--jobs-idle-action", "end", "--jobs-idle-grace", "20s")
        self.apply(VISION)

    def measure(self, job, minutes):
        for pod in self.pods(job):
            self.agent.pods[pod["metadata"]["name"]] = {
                "uid": pod["metadata"]["uid"], "namespace": pod["metadata"]["namespace"], "minutes": minutes}

    # R74.
    def test_a_job_that_is_idle_is_told_then_ended_and_one_that_is_used_again_goes_on(self):
        for name, queue in ("idle", True), ("again", True), ("plain", False), ("unknown", False):
            self.job("submit", "--name", name, *(["--queue", "vision"] if queue else []), "--gpu", "1", "--gpu-type", "any",
                     "--image", "none.invalid/c:1", "--cpu", "1", "--memory", "4Gi", "--", "true")
            self.is_state(name, "Running")
            if name != "unknown":
                self.measure(name, 40)
        for name in "idle", "again", "plain":
            self.assertTrue(until(lambda name=name: self.annotation(name, "aliquot.dev/idle")), name + self.said())
            self.assertIn("idle since", self.show(name)["reason"])
        events = self.api("GET", PODS.replace("/api/v1", "/apis/events.k8s.io/v1").replace("pods", "events"))["items"]
        told = {one["regarding"]["name"] for one in events if one["reason"] == "GpusIdle"}
        self.assertEqual(told, {"idle", "again", "plain"})
        self.measure("again", 0)
        for name in "idle", "plain":
            self.is_state(name, "Cancelled", seconds=90)
            shown = self.show(name)
            self.assertEqual(shown["cause"], "idle")
            self.assertIn("its GPUs were idle for 40m", shown["reason"])
            self.assertTrue(until(lambda name=name: not self.pods(name)), self.pods(name))
        self.assertTrue(until(lambda: not self.annotation("again", "aliquot.dev/idle")), self.said())
        for name in "again", "unknown":
            self.stays(name, "Running")


if __name__ == "__main__":
    main()
