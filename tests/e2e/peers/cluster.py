# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own API server and kube-scheduler beside our controller, for tests that nothing simulated will do for.

ALIQUOT_TEST_KUBECONFIG names an administrator of an API server that is there for tests alone and reaches 127.0.0.1,
ALIQUOT_TEST_KUBE_SCHEDULER the program. Without them a test is skipped.
"""
import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

KUBECONFIG = os.environ.get("ALIQUOT_TEST_KUBECONFIG", "")
SCHEDULER = os.environ.get("ALIQUOT_TEST_KUBE_SCHEDULER", "")
GATES = os.environ.get("ALIQUOT_TEST_FEATURE_GATES", "")
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def until(holds, seconds=90, every=0.05):
    """What `holds` returns once it is true; its last answer when that takes too long."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found or time.monotonic() > end:
            return found
        time.sleep(every)


class Api:
    """One administrator's connection; not for several threads."""

    def __init__(self, kubeconfig=KUBECONFIG):
        with open(kubeconfig, encoding="utf-8") as file:
            text = file.read()
        place = tempfile.mkdtemp()
        self.context = ssl.create_default_context(cadata=self._part(text, "certificate-authority-data").decode())
        for name in "certificate", "key":
            with open(os.path.join(place, name), "wb") as file:
                file.write(self._part(text, f"client-{name}-data"))
        self.context.load_cert_chain(os.path.join(place, "certificate"), os.path.join(place, "key"))
        self.host = urllib.parse.urlparse(re.search(r'server:\s*"?([^\s",}]+)', text)[1]).netloc
        self.connection = None
        self.status = 0

    @staticmethod
    def _part(text, name):
        return base64.b64decode(re.search(name + r':\s*"?([A-Za-z0-9+/=]+)', text)[1])

    def __call__(self, method, path, body=None, kind="application/json"):
        for last in False, True:
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(self.host, context=self.context, timeout=60)
                self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
                answer = self.connection.getresponse()
                text = answer.read()
                self.status = answer.status
                return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()
            except (OSError, http.client.HTTPException):
                self.connection = None
                if last:
                    raise
        return None

    def remove_all(self, path):
        for one in self("GET", path).get("items", []):
            self("DELETE", f"{path}/{one['metadata']['name']}?gracePeriodSeconds=0")

    def add_namespace(self, name, labels=None):
        self("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels or {}}})
        self("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels or {}}}, MERGE)
        self("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})

    def add_node(self, name, **amounts):
        """A Node that is ready; nobody runs on it."""
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "100", **amounts}
        ready = {"type": "Ready", "status": "True", "reason": "Ready"}
        self("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        self("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, MERGE)
        self("PATCH", f"/api/v1/nodes/{name}/status",
             {"status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}}, STRATEGIC)


class Program:
    """A process whose output is kept; ends with end()."""

    def __init__(self, words):
        self.output = tempfile.NamedTemporaryFile("r", prefix="aliquot-peer-")
        with open(self.output.name, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def said(self):
        with open(self.output.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def number_behind(self, mark):
        return int(until(lambda: re.search(re.escape(mark) + r"(\d+)", self.said()))[1])

    def end(self, signal=9):
        if self.process.poll() is None:
            self.process.send_signal(signal)
        self.process.wait(60)


class Controller(Program):
    def __init__(self, programs, words, space="aliquot-system", configuration="none", lease="5s"):
        super().__init__([
            f"{programs}/aliquot-controller", "--kubeconfig", KUBECONFIG, "--namespace", space,
            "--webhook-configuration", configuration, "--certificate-names", "IP:127.0.0.1", "--webhook-listen",
            "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--lease-duration", lease, "--drain", "0s", *words])

    def webhook_port(self):
        return self.number_behind("webhook_port=")


class Scheduler(Program):
    def __init__(self, more="", qps=50):
        self.config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.config.write("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                          "leaderElection: {leaderElect: false}\npodMaxBackoffSeconds: 2\n"
                          f"clientConnection: {{kubeconfig: {KUBECONFIG}, qps: {qps}, burst: {2 * qps}}}\n" + more)
        self.config.flush()
        super().__init__([SCHEDULER, "--config", self.config.name, "--secure-port", "0", "-v", "2",
                          *(["--feature-gates", GATES] if GATES else [])])


def main():
    """unittest's, or 77 with what is missing. The first argument is the folder of our programs."""
    if not KUBECONFIG or not SCHEDULER:
        print("skipped: ALIQUOT_TEST_KUBECONFIG and ALIQUOT_TEST_KUBE_SCHEDULER name no Kubernetes programs")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
