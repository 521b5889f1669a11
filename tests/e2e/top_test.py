#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aliquot top as a user runs it: a simulated node, agents that answer, hang or refuse, a terminal.

top_test.py BIN    the folder of the programs
"""
import base64
import csv
import fcntl
import http.server
import io
import json
import os
import pathlib
import pty
import re
import select
import signal
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

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
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

    def silent(self):
        """Takes connections and says nothing."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def nobody(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return f"127.0.0.1:{listener.getsockname()[1]}"


class Once(Scene):
    def test_json_is_what_the_agent_says(self):
        for server in (self.agent(), self.agent(path=self.place / "a.sock")):
            answer = run("--once", "-o", "json", "--agent", server.address)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            self.assertEqual(answer.stdout, self.states[0] + "\n")

    def test_json_of_several_is_a_list_that_names_who_is_missing(self):
        silent = self.silent()
        answer = run("--once", "-o", "json", "--timeout", "1", "--agent", f"{self.agent(1).address},{silent}",
                     "--agent", self.agent(2).address)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        items = json.loads(answer.stdout)["items"]
        self.assertEqual([item.get("state", {}).get("node") for item in items], ["gpu-node-1", None, "gpu-node-2"])
        self.assertEqual(items[1], {"agent": silent, "problem": "no answer within 1 s"})
        self.assertIn(silent, answer.stderr)

    def test_yaml_says_the_same(self):
        answer = run("--once", "-o", "yaml", "--agent", self.agent().address)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("\nnode: gpu-node-1\n", answer.stdout)

    def test_one_that_is_silent_is_a_line(self):
        nobody = self.nobody()
        answer = run("--once", "--view", "nodes", "--agent", f"{self.agent().address},{nobody}")
        self.assertEqual(answer.returncode, 0)
        self.assertRegex(answer.stdout, rf"(?m)^{nobody} .*nobody listens there$")

    def test_exit_code_3_only_when_nobody_answers(self):
        answer = run("--once", "--agent", f"{self.nobody()},unix:{self.place}/none.sock")
        self.assertEqual((answer.returncode, answer.stdout), (3, ""))
        self.assertEqual(answer.stderr.count("nobody listens there"), 2)

    def test_nonsense_is_refused_with_a_word(self):
        for words, expected in ((["--agent", "::::"], "not an agent address"), (["--filter", "pood=x"], "did you mean 'pod'"),
                                (["-o", "json", "--filter", "x"], "--filter"), (["--sort", "beauty"], "beauty")):
            answer = run("--once", *words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertIn(expected, answer.stderr)

    def test_a_body_that_is_no_state_is_a_problem(self):
        server = self.agent()
        for body in ("", "{}", "[1]", '{"node":', "<html>"):
            server.state = body
            answer = run("--once", "--agent", server.address)
            self.assertEqual(answer.returncode, 3, body)
            self.assertIn("not of this version", answer.stderr)

    def test_a_password_is_read_from_a_file(self):
        server = self.agent(password="anna:secret")
        answer = run("--once", "--agent", server.address)
        self.assertEqual(answer.returncode, 3)
        self.assertIn("--credentials", answer.stderr)
        secret = self.place / "secret"
        secret.write_text("anna:secret\n")
        self.assertEqual(run("--once", "--agent", server.address, "--credentials", str(secret)).returncode, 0)

    def test_csv_can_be_read_and_filtered(self):
        answer = run("--once", "-o", "csv", "--filter", "ns=team-a", "--agent",
                     f"{self.agent(1).address},{self.agent(2).address}")
        rows = list(csv.DictReader(io.StringIO(answer.stdout)))
        self.assertEqual([row["node"] for row in rows], ["gpu-node-1", "gpu-node-2"])
        self.assertEqual((rows[0]["pod"], rows[0]["share_utilization_percent"]), ("cat-watcher-0", "160"))

    def test_a_pipe_gets_it_once_without_escapes(self):
        for view in ("nodes", "gpus", "pods", "processes", "tree", "waste", "errors"):
            answer = run("--view", view, "--agent", self.agent().address)
            self.assertEqual(answer.returncode, 0, view)
            self.assertNotIn("\x1b", answer.stdout, view)

    def test_the_simulated_node_needs_no_agent(self):
        holder = subprocess.Popen([ALIQUOT, "sim", "use", "--memory", "2Gi", "--state", self.node], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        try:
            holder.stdout.readline()
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                answer = run("--once", "--view", "processes", "--node-state", self.node)
                if re.search(rf"(?m)^ *{holder.pid} ", answer.stdout):
                    break
            self.assertRegex(answer.stdout, rf"(?m)^ *{holder.pid} ")
        finally:
            holder.terminate()
            holder.wait(PATIENCE_S)
            holder.stdout.close()

    def test_an_agent_of_up_is_found_by_its_folder(self):
        self.agent(path=self.place / "agent.sock")
        answer = run("--once", "-o", "json", "--node-state", self.node)
        (self.place / "agent.sock").unlink()
        self.assertEqual(json.loads(answer.stdout)["node"], "gpu-node-1")


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
        frames = re.findall(rb"\x1b\[H((?:(?!\x1b\[H).)*?)\x1b\[J", self.written, re.S)
        if not frames:
            return []
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frames[-1].decode())
        return re.split(r"\r+\n", text)  # the terminal adds one itself

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


class Live(Scene):
    def start(self, *words, **more):
        server = self.agent()
        terminal = Terminal("--agent", server.address, "--interval", "0.2", *words, **more)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("cat-watcher-0")
        terminal.server = server
        return terminal

    def test_keys_lead_through_the_views(self):
        terminal = self.start()
        terminal.wait_for_text("^gpu-node-1")
        terminal.press("g")
        terminal.wait_for_text(r"gpus \(2\)")
        terminal.press("\x1b[B\r")
        terminal.wait_for_text(r"pods of GPU 1 \(0\)")
        terminal.press("\x1b")  # alone: the key
        terminal.wait_for_text(r"gpus \(2\)")
        terminal.press("g/note\r")
        terminal.wait_for_text(r"pods \(1\).*filter note")
        terminal.press("/\x1b")
        terminal.wait_for_text(r"pods \(2\)")
        terminal.press("s")
        terminal.wait_for_text("sort share-util")
        terminal.press("\x1b[H\r")
        terminal.wait_for_text(r"evil\?\[2J")
        terminal.press("?")
        terminal.wait_for_text("any key: back")
        terminal.press("xw")
        terminal.wait_for_text(r"waste \(\d\).*GPU-h held idle")
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)
        self.assertTrue(terminal.is_restored())

    def test_a_resize_is_followed(self):
        terminal = self.start()
        for rows, columns in ((40, 120), (15, 60), (24, 80)):
            terminal.resize(rows, columns)
            terminal.wait_for(lambda r=rows: len(terminal.screen()) == r, f"{rows} lines")
            self.assertLessEqual(max(map(len, terminal.screen())), columns)

    def test_what_changes_is_shown_and_held_by_space(self):
        terminal = self.start()
        terminal.server.state = self.states[1]
        terminal.wait_for_text("(?m)^gpu-node-2")
        terminal.press(" ")
        terminal.wait_for_text("PAUSED")
        terminal.server.state = self.states[0]
        terminal.server.asked.clear()
        self.assertTrue(terminal.server.asked.wait(PATIENCE_S))
        terminal.press("r")
        terminal.wait_for_text("sort util (↑|\\+)")
        self.assertRegex("\n".join(terminal.screen()), "(?m)^gpu-node-2")

    def test_an_agent_that_goes_away_keeps_its_figures_and_gets_a_line(self):
        terminal = self.start()
        terminal.server.state = "gone"
        terminal.wait_for_text("(?m)^! gpu-node-1: its state is not of this version")
        terminal.wait_for_text("cat-watcher-0")

    def test_whatever_ends_it_the_terminal_is_restored(self):
        for end, status in (("\x03", 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP),
                            (signal.SIGABRT, -signal.SIGABRT), (signal.SIGSEGV, -signal.SIGSEGV)):
            terminal = self.start()
            self.assertFalse(terminal.is_restored())
            if isinstance(end, str):
                terminal.press(end)
            else:
                terminal.process.send_signal(end)
            outcome = terminal.wait()
            # Sanitizers make exit codes of crashes.
            self.assertTrue(outcome == status or (outcome or 0) > 0 and end in (signal.SIGABRT, signal.SIGSEGV), (end, outcome))
            if end not in (signal.SIGABRT, signal.SIGSEGV):
                self.assertTrue(terminal.is_restored(), end)
            self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before, end)
            self.assertIn(b"\x1b[?1049l", terminal.written)

    def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(self):
        terminal = self.start()
        terminal.press("\x1a")
        stopped = os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT)
        self.assertEqual(stopped.si_code, os.CLD_STOPPED)
        terminal.wait_for(terminal.is_restored, "the restored terminal")
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for(lambda: terminal.written.count(b"\x1b[?1049h") == 2, "the second frame")
        terminal.press("g")
        terminal.wait_for_text(r"gpus \(2\)")
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)

    def test_no_colour_and_no_utf8_where_they_are_not_wanted(self):
        terminal = self.start(env={"NO_COLOR": "1", "LANG": "C"})
        terminal.press("gtwx")
        terminal.wait_for_text(r"errors \(")
        self.assertNotRegex(terminal.written, rb"\x1b\[[0-9;]*m")
        self.assertTrue(all(byte < 0x80 for byte in terminal.written))
        coloured = self.start()
        self.assertRegex(coloured.written, rb"\x1b\[7m")


if __name__ == "__main__":
    unittest.main()
