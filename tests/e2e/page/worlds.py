#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is behind the page in its tests: aliquot up with pods, and a cluster with an API server, an agent and a controller."""
import json
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

POD = """apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: team}}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: none
    command: ["sh", "-c", "{command}"]
    resources: {{limits: {{{resource}: {amount}}}}}
---
"""
CONFIG = """version: v1
flags: {migStrategy: mixed}
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 4}
"""


class Up:
    """aliquot up with four GPUs, one of them in MIG mode, pods that compute and pods that wait."""

    def __init__(self, programs, seconds=280):
        self.home = tempfile.TemporaryDirectory(prefix="aliquot-page-")
        home = pathlib.Path(self.home.name)
        pods = "".join(POD.format(name=f"busy-{n}", command=f"exec aliquot sim use --memory 4Gi --sm {20 + 20 * n}", resource="nvidia.com/gpu", amount=1)
                       for n in range(3))
        pods += POD.format(name="cut", command="exec aliquot sim use --memory 2Gi --sm 50", resource="nvidia.com/mig-3g.20gb", amount=1)
        pods += "".join(POD.format(name=f"large-{n}", command="sleep 1000", resource="nvidia.com/gpu", amount=64) for n in range(2))
        (home / "config.yaml").write_text(CONFIG)
        (home / "pods.yaml").write_text(pods)
        self.process = subprocess.Popen(
            [str(programs / "aliquot"), "up", "--gpu", "a100-40:4", "--mig", "3=3g.20gb,1g.5gb*2", "--config", str(home / "config.yaml"), "--page", "127.0.0.1:0",
             "--timeout", f"{seconds}s", str(home / "pods.yaml")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=home)
        self.said = ""
        while True:
            line = self.process.stdout.readline()
            self.said += line
            found = re.search(r"page at (\S+)", line)
            if found:
                self.url = found[1]
                return
            if not line:
                raise RuntimeError(f"aliquot up has ended: {self.said}")

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.home.cleanup()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """An API server with roles, an agent with two GPUs, a pod that waits, and a controller with the page. alice may list pods and nodes, carol
    the pods of one namespace, bob nothing."""

    def __init__(self, programs, simulated):
        self.home = tempfile.TemporaryDirectory(prefix="aliquot-cluster-page-")
        home = pathlib.Path(self.home.name)
        self.processes = []
        server = self.start([simulated / "kube-apiserver-sim", "--directory", home / "api", "--rbac", "--token", "alice-token=alice", "--token", "bob-token=bob", "--token", "carol-token=carol"])
        self.api = re.search(r"http=(\S+)", server.stdout.readline())[1]
        self.admin = (home / "api/admin.token").read_text().strip()
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        self.post(f"{rbac}/clusterroles", {"kind": "ClusterRole", "metadata": {"name": "looks"}, "rules": [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]}]})
        self.post(f"{rbac}/clusterrolebindings", {"kind": "ClusterRoleBinding", "metadata": {"name": "alice-looks"}, "subjects": [{"kind": "User", "name": "alice"}],
                                                  "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks"}})
        for name in ("team", "aliquot-system"):
            self.post("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": name}})
        self.post(f"{rbac}/namespaces/team/roles", {"kind": "Role", "metadata": {"name": "looks"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]})
        self.post(f"{rbac}/namespaces/team/rolebindings", {"kind": "RoleBinding", "metadata": {"name": "carol-looks"}, "subjects": [{"kind": "User", "name": "carol"}],
                                                           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "looks"}})
        self.post("/api/v1/namespaces/team/pods", {"kind": "Pod", "metadata": {"name": "train"}, "spec": {"containers": [
            {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}}]}})
        why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}
        self.send("PATCH", "/api/v1/namespaces/team/pods/train/status", {"status": {"phase": "Pending", "conditions": [why]}}, "application/merge-patch+json")
        agent = free_port()
        (home / "pods.yaml").write_text(POD.format(name="busy", command="exec aliquot sim use --memory 4Gi --sm 50", resource="nvidia.com/gpu", amount=1))
        self.start([programs / "aliquot", "up", "--gpu", "a2:2", "--metrics-listen", f"127.0.0.1:{agent}", "--timeout", "280s", home / "pods.yaml"])
        page = free_port()
        self.start([programs / "aliquot-controller", "--kubeconfig", home / "api/kubeconfig", "--webhook-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0",
                    "--page-listen", f"127.0.0.1:{page}", "--page-agents", f"127.0.0.1:{agent}"])
        self.url = f"http://127.0.0.1:{page}/"
        until = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=5).close()
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def start(self, words):
        log = open(pathlib.Path(self.home.name) / f"log{len(self.processes)}", "w")
        one = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE if not self.processes else log, stderr=log, text=True)
        log.close()
        self.processes.append(one)
        return one

    def post(self, path, body):
        self.send("POST", path, body, "application/json")

    def send(self, method, path, body, kind):
        group = path.split("/")
        version = group[2] if group[1] == "api" else f"{group[2]}/{group[3]}"
        request = urllib.request.Request(self.api + path, json.dumps({"apiVersion": version, **body}).encode(), method=method,
                                         headers={"Content-Type": kind, "Authorization": f"Bearer {self.admin}"})
        try:
            urllib.request.urlopen(request, timeout=20).close()
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{method} {path}: {refused.read().decode()}") from refused

    def close(self):
        for one in reversed(self.processes):
            one.terminate()
        for one in self.processes:
            one.wait(60)
            if one.stdout:
                one.stdout.close()
        self.home.cleanup()
