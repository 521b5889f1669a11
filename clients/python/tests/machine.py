# SPDX-License-Identifier: Apache-2.0
"""`aliquot serve` with simulated GPUs in a directory of its own, for a test."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

PATIENCE = 60.0


class Machine:
    def __init__(self, program, *words):
        self._program, self._words = program, words

    def __enter__(self):
        self._directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._directory.name)
        self.socket = self.path / "jobs.sock"
        self.server = f"unix:{self.socket}"
        self._log = open(self.path / "log", "wb")
        self._process = subprocess.Popen(
            [self._program, "serve", "--gpu", "a2:2", "--state", self.path / "state", "--socket", self.server,
             "--grace", "1", *([] if "--container" in self._words else ["--container", "none"]), *self._words], stdout=self._log, stderr=subprocess.STDOUT)
        end = time.monotonic() + PATIENCE
        while b"serving jobs" not in (self.path / "log").read_bytes():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.path / "log").read_text())
            time.sleep(0.01)
        return self

    def alive(self):
        return self._process.poll() is None

    def pid(self):
        return self._process.pid

    def kill(self):
        """The server, and what runs, at once: for a queue that is too long to be cancelled."""
        self._process.kill()
        self._process.wait(PATIENCE)
        for mark in (self.path / "state/jobs").glob("*/started"):
            runner = int(mark.read_text().split()[1])
            command = pathlib.Path(f"/proc/{runner}/cmdline")
            try:
                if str(mark.parent).encode() in command.read_bytes():
                    os.kill(runner, signal.SIGKILL)
            except OSError:
                continue  # it has ended

    def _job(self, *words):
        return subprocess.run([self._program, "job", words[0], "--server", self.server, *words[1:]],
                              capture_output=True, text=True, check=False).stdout

    def _living(self):
        return [row.split()[0] for row in self._job("list", "--limit", "10000").split("\n")[1:] if row]

    def __exit__(self, *_):
        if not self.alive():
            self._log.close()
            self._directory.cleanup()
            return
        # What runs outlives the server: it ends before the directory goes.
        if numbers := self._living():
            self._job("cancel", *numbers)
        end = time.monotonic() + PATIENCE
        while self._living() and time.monotonic() < end:
            time.sleep(0.02)
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._log.close()
        self._directory.cleanup()
