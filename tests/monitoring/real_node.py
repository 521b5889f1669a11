# SPDX-License-Identifier: Apache-2.0
"""A simulated node with our own agent and pods that compute: `aliquot up`."""
import os
import pathlib
import select
import socket
import subprocess
import tempfile
import time

CONFIG = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
      memory: 3Gi
      compute: 25
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  containers:
  - name: main
    image: none
    command: [{command}]
    resources: {{limits: {{nvidia.com/gpu: 1}}}}
---
"""
BUSY = '"aliquot-cuda-sample", "--memory", "1Gi", "--kernels", "100000000", "--for", "300"'
IDLE = '"aliquot-cuda-sample", "--memory", "512Mi", "--for", "300"'


class RealNode:
    """Ends all that it started when it is closed."""

    def __init__(self, programs, shared_rows="pods"):
        """shared_rows: what a shared GPU has under NVIDIA's names, pods or device"""
        self.folder = tempfile.TemporaryDirectory(prefix="aliquot-mon-")
        place = pathlib.Path(self.folder.name)
        (place / "t").mkdir()
        (place / "config.yaml").write_text(CONFIG)
        (place / "pods.yaml").write_text(
            POD.format(name="cat-watcher-0", namespace="team-a", command=BUSY) +
            POD.format(name="cat-watcher-1", namespace="team-a", command=BUSY) +
            POD.format(name="notebook-anna", namespace="team-b", command=IDLE))
        self.socket = place / "agent.sock"
        self.log = (place / "log").open("w+")
        self.process = subprocess.Popen(
            [str(pathlib.Path(programs) / "aliquot"), "up", "--gpu", "a2", "--gpu", "h100-80", "--config",
             str(place / "config.yaml"), "--state", str(place), "--timeout", "250s", str(place / "pods.yaml")],
            stdout=self.log, stderr=self.log, cwd=place,
            env={**os.environ, "TMPDIR": str(place / "t"), "ALIQUOT_GPU_PRICE_PER_HOUR": "2.5",
                 "ALIQUOT_METRICS_SHARED_ROWS": shared_rows, "NODE_NAME": "real-node"})

    def metrics(self):
        """What the agent answers on /metrics; OSError while it does not."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            link.connect(str(self.socket.resolve()))
            link.sendall(b"GET /metrics HTTP/1.0\r\nHost: node\r\n\r\n")
            answer = b""
            while chunk := link.recv(65536):
                answer += chunk
        head, _, body = answer.partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise OSError(head.decode(errors="replace"))
        return body.decode()

    def wait_for(self, text, seconds):
        """Until the metrics have the text."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                if text in self.metrics():
                    return
            except OSError:
                pass
            select.select([], [], [], 0.1)
        self.log.seek(0)
        raise RuntimeError(f"'{text}' is not in /metrics: {self.log.read()}")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()
