# SPDX-License-Identifier: Apache-2.0
"""Two vision workers on one simulated A2 under aliquot up: with limits that the guard keeps, and without."""
import http.client
import pathlib
import re
import signal
import subprocess
import time

from worker import PATIENCE_S, write_model

GUARDED = """version: v1
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 2, memory: 7Gi, compute: 50}
"""
UNGUARDED = """version: v1
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 2}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: Never
  containers:
  - name: vision
    image: registry.example/vision-worker:1
    command: ["sh", "-c", "{before} exec {program} --model {model} --listen 127.0.0.1:0 --provider cuda {options}"]
    env:
    - {{name: ORT_DYLIB_PATH, value: "{library}"}}
    resources: {{limits: {{nvidia.com/gpu: 1}}}}
---
"""


class Shared:
    """One node with the pods `greedy` and `modest`; the second starts when it is let."""

    def __init__(self, folder, programs, library, config, greedy, modest, simulated):
        self.folder = pathlib.Path(folder)
        self.go = self.folder / "go"
        model = write_model(self.folder / "detector.onnx", **simulated)
        words = {"program": programs / "aliquot-vision", "model": model, "library": library}
        manifest = POD.format(name="greedy", before="", options=greedy, **words)
        manifest += POD.format(name="modest", before=f"until [ -e {self.go} ]; do sleep 0.05; done;", options=modest, **words)
        (self.folder / "pods.yaml").write_text(manifest)
        (self.folder / "config.yaml").write_text(config)
        self.state = self.folder / "state"
        self.process = subprocess.Popen(
            [programs / "aliquot", "up", "--gpu", "a2", "--config", self.folder / "config.yaml", "--state", self.state,
             "--timeout", "10m", self.folder / "pods.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def log(self, pod):
        path = self.state / "logs" / f"default_{pod}_vision.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for(self, pod, pattern):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            found = re.search(pattern, self.log(pod))
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no '{pattern}' of {pod}:\n{self.log(pod)}")

    def let_modest(self):
        self.go.touch()

    def port(self, pod):
        return int(self.wait_for(pod, r"vision\.listening port=(\d+)")[1])

    def metric(self, pod, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.port(pod), timeout=PATIENCE_S)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=PATIENCE_S)[0]
        return self.process.returncode, said
