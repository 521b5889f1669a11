# SPDX-License-Identifier: Apache-2.0
"""A server on a free loopback port that answers /NAME with an exposition, as a node's agent would."""
import http.server
import pathlib
import re
import threading
import time

CASES = pathlib.Path(__file__).resolve().parents[2] / "src" / "exposition" / "cases"
WRITTEN_AT = "1790000000"  # the moment of the cases

# What kube-state-metrics would say of the cases' pods.
KUBE_STATE = """\
kube_pod_status_phase{namespace="team-a",pod="cat-watcher-1",uid="u1",phase="Running"} 1
kube_pod_status_unschedulable{namespace="team-b",pod="waits"} 1
kube_pod_container_resource_requests{namespace="team-a",pod="cat-watcher-1",container="main",resource="nvidia_com_gpu_shared",unit="integer"} 1
"""


class Scene:
    """One of the renderer's own cases as a node of its own, with time that passes."""

    def __init__(self, case, node, number):
        text = (CASES / f"{case}.txt").read_text()
        text = text.replace('"gpu-node-1"', f'"{node}"').replace("GPU-8a6b3c1d", f"GPU-{number:08x}")
        self.lines = text.splitlines()
        self.began = time.time()

    def __call__(self):
        now = time.time()
        passed = now - self.began
        out = []
        for line in self.lines:
            grows = re.match(r"gpu_(\w+_)?(busy|held)_seconds_total\{.*\} ", line)
            if grows:
                head, value = line.rsplit(" ", 1)
                line = f"{head} {float(value) + passed * 0.1:.9f}"
            out.append(line.replace(WRITTEN_AT, f"{now:.3f}"))
        return "\n".join(out) + "\n"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages):
        """pages: path -> callable that gives the text"""
        self.pages = pages
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = self.server.pages.get(self.path)
        body = b""
        try:
            body = page().encode() if page else b""
        except OSError:
            page = None
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
