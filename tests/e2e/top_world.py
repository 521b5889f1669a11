# SPDX-License-Identifier: Apache-2.0
"""What the tests of aliquot top share: agents and an API server that answer, hang or refuse, a simulated node, a terminal."""
import base64
import fcntl
import http.server
import json
import os
import pathlib
import pty
import re
import select
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()  # the test programs are started with it
ALIQUOT = str(BIN / "aliquot")
PATIENCE_S = 60  # for a machine that is busy with other things
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "NO_COLOR", "CLICOLOR"))},
               "TERM": "xterm-256color", "LANG": "C.UTF-8"}


class Agent(http.server.BaseHTTPRequestHandler):
    """Answers /api/v1/state with server.state; with server.password only who knows it."""

    def do_GET(self):
        server = self.server
        if server.password and self.headers.get("Authorization") != "Basic " + base64.b64encode(
                server.password.encode()).decode():
            return self.send_error(401)
        if self.path != "/api/v1/state":
            return self.send_error(404)
        body = server.state.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        server.asked.set()
        return None

    def address_string(self):
        return "somebody"

    def log_message(self, *_):
        pass


class ApiServer(http.server.BaseHTTPRequestHandler):
    """As much of an API server as `aliquot top` asks: the agents' pods, a way to them, logs, deletion."""

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.server.requests.append(f"GET {self.path}")
        if path == "/api/v1/pods":
            pods = [{"metadata": {"name": f"agent-{i}", "namespace": "gpu", "uid": f"u{i}"}, "spec": {"nodeName": f"gpu-node-{i}"},
                     "status": {"phase": "Running"}} for i in self.server.states]
            body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": pods}
            return self.answer(200, json.dumps(body).encode())
        agent = re.fullmatch(r"/api/v1/namespaces/gpu/pods/agent-(\d):9400/proxy/api/v1/state", path)
        if agent and self.server.states[int(agent[1])]:
            return self.answer(200, self.server.states[int(agent[1])].encode())
        if path == "/api/v1/namespaces/team-a/pods/cat-watcher-0/log":
            return self.answer(200, b"first line\nsaw a cat \x1b[2J\n")
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message":
                  'pods "agent-2:9400" is forbidden: User "ada" cannot get resource "pods/proxy" in API group "" in the namespace "gpu"'}
        return self.answer(403, json.dumps(status).encode())

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(f"DELETE {self.path}")
        self.answer(200, b'{"kind": "Status", "apiVersion": "v1", "status": "Success"}')

    def log_message(self, *_):
        pass


class Tcp(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def serve(state, path=None, password=None):
    server = Unix(str(path), Agent) if path else Tcp(("127.0.0.1", 0), Agent)
    server.state, server.password, server.asked = state, password, threading.Event()
    server.address = f"unix:{path}" if path else f"127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run(*words, **more):
    return subprocess.run([ALIQUOT, "top", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env={**ENVIRONMENT, **more.pop("env", {})}, **more)


class Scene(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="aliquot-top-")
        cls.place = pathlib.Path(cls.folder.name)
        cls.node = str(cls.place / "n")
        subprocess.run([ALIQUOT, "sim", "up", "--gpu", "a2:2", "--state", cls.node], check=True, capture_output=True,
                       timeout=PATIENCE_S)
        answer = run("--once", "-o", "json", "--node-state", cls.node)
        assert answer.returncode == 0, answer.stderr
        state = json.loads(answer.stdout)
        gpu = state["gpus"][0]
        gpu["parts"][0]["tenants"] = [
            {"namespace": "team-a", "pod": "cat-watcher-0", "container": "main", "podUid": "u1", "resource": "nvidia.com/gpu.shared",
             "ids": ["x"], "source": "driver", "entitlementPpm": 250000, "amounts": {"utilizationPpm": 400000, "memoryBytes": 1 << 30},
             "shareUtilizationPpm": 1600000, "heldNs": 5000000000, "idleNs": 0,
             "processes": [{"pid": 4711, "command": "evil\u001b[2J", "memoryBytes": 1 << 30}]},
            {"namespace": "team-b", "pod": "notebook-1", "container": "lab", "podUid": "u2", "resource": "nvidia.com/gpu.shared",
             "ids": ["y"], "source": "driver", "entitlementPpm": 250000, "amounts": {"utilizationPpm": 0, "memoryBytes": 1 << 29},
             "shareUtilizationPpm": 0, "heldNs": 9000000000000, "idleNs": 8000000000000, "idleHeldNs": 8000000000000,
             "processes": []}]
        cls.states = []
        for number in (1, 2):
            state["node"] = f"gpu-node-{number}"
            cls.states.append(json.dumps(state))

    @classmethod
    def tearDownClass(cls):
        subprocess.run([ALIQUOT, "sim", "down", "--state", cls.node], check=False, capture_output=True, timeout=PATIENCE_S)
        cls.folder.cleanup()

    def agent(self, number=1, **more):
        server = serve(self.states[number - 1], **more)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def cluster(self, states):
        """An API server with an agent for each state; the kubeconfig that leads there."""
        server = Tcp(("127.0.0.1", 0), ApiServer)
        server.states, server.requests = states, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        server.kubeconfig = self.place / f"kubeconfig-{server.server_address[1]}"
        server.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
            "users": [{"name": "ada", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "ada"}}]}))
        return server

    def silent(self):
        """Takes connections and says nothing."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def nobody(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return f"127.0.0.1:{listener.getsockname()[1]}"


class Terminal:
    """A terminal with the program in it; keeps all that was written."""
    def __init__(self, *words, size=(24, 80), env=None):
        try:
            self.master, slave = pty.openpty()
        except OSError as problem:  # a chroot without devpts
            raise unittest.SkipTest("needs a pseudo-terminal in /dev/pts") from problem
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen([ALIQUOT, "top", *words], stdin=slave, stdout=slave, stderr=slave,
                                        env={**ENVIRONMENT, **(env or {})}, preexec_fn=self.own)
        self.written = b""

    @staticmethod
    def own():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, timeout):
        if select.select([self.master], [], [], timeout)[0]:
            try:
                self.written += os.read(self.master, 65536)
            except OSError:
                return False
        return True

    def screen(self):
        """The lines of the last frame that is complete."""
        frames = re.findall(rb"\x1b\[H((?:(?!\x1b\[H).)+)(?=\x1b\[H)", self.written, re.S)
        return [self.shown(line) for line in re.split(r"\r+\n", frames[-1].decode())] if frames else []  # the terminal adds one \r itself

    def shown(self, line):
        """What a terminal shows of a line: behind the last column the cursor stays on it, and clearing takes it away."""
        columns = struct.unpack("HHHH", fcntl.ioctl(self.master, termios.TIOCGWINSZ, b"\0" * 8))[1]
        cells = ""
        for escape, text in re.findall(r"(\x1b\[[0-9;?]*[A-Za-z])|([^\x1b]+)", line):
            cells += text
            if escape.endswith(("K", "J")):
                cells = cells[:columns - 1]
        return cells

    def wait_for(self, holds, what):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if holds():
                return
            if not self.read(0.2):
                break
        raise AssertionError(f"{what} did not come; the screen is:\n" + "\n".join(self.screen()))

    def wait_for_text(self, pattern):
        self.wait_for(lambda: re.search(pattern, "\n".join(self.screen())), pattern)

    def wait(self):
        """Until it has ended; the exit status as Popen has it."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        while select.select([self.master], [], [], 0)[0] and self.read(0):
            if b"\x1b[?1049l" in self.written:
                break
        return self.process.poll()

    def is_restored(self):
        return self.written.rstrip().endswith(b"\x1b[?1049l") and termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)
