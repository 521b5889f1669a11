# SPDX-License-Identifier: Apache-2.0
"""A vision worker as a process, pictures for it, and many clients at once."""
import asyncio
import http.client
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/vision-worker"
PATIENCE_S = 60
sys.path.insert(0, str(EXAMPLE))
sys.dont_write_bytecode = True
import load  # noqa: E402
import make_model  # noqa: E402


def real_library():
    found = sorted((ROOT / "build/onnxruntime/onnxruntime/capi").glob("libonnxruntime.so*"))
    return str(found[0]) if found else None


def write_model(path, side=64, convolutions=0, **simulated):
    metadata = {"task": "detect", "names": "{0: 'cat', 1: 'dog'}"}
    metadata.update({f"simulated.{key}": value for key, value in simulated.items()})
    path.write_bytes(make_model.model(side, convolutions, metadata))
    return path


def png_bomb(width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


class Worker:
    """aliquot-vision on a port of its own; its words are kept."""

    def __init__(self, program, model, *options, library=None, environment=None):
        words = [str(program), "--model", str(model), "--listen", "127.0.0.1:0", *options]
        if library:
            words += ["--onnxruntime", str(library)]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        self.said, self.news = [], threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self.news:
                self.said.append(line)
                self.news.notify_all()
        with self.news:
            self.said.append("")
            self.news.notify_all()

    def words(self):
        with self.news:
            return "".join(self.said)

    def wait_for(self, pattern):
        """The match of the first line that has it."""
        until = time.monotonic() + PATIENCE_S
        with self.news:
            while True:
                found = re.search(pattern, "".join(self.said))
                if found:
                    return found
                if self.said and self.said[-1] == "" or not self.news.wait(until - time.monotonic()):
                    raise AssertionError(f"no '{pattern}' in:\n{''.join(self.said)}")

    @property
    def port(self):
        return int(self.wait_for(r"vision\.listening port=(\d+)")[1])

    def ready(self):
        self.wait_for(r"vision\.ready")
        return self

    def ask(self, method, path, body=None, content_type="image/png"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, body, {"Content-Type": content_type} if body is not None else {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def infer(self, body, content_type="image/png"):
        return self.ask("POST", "/v1/infer", body, content_type)

    def metric(self, name):
        text = self.ask("GET", "/metrics")[1]
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=PATIENCE_S)
        self.reader.join(timeout=PATIENCE_S)
        self.process.stderr.close()
        return code


async def _one(port, request):
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body.decode()
    except (OSError, IndexError, ValueError, asyncio.TimeoutError) as why:
        return 0, f"{type(why).__name__}: {why}"


def many(port, clients, body):
    """So many connections at once, a picture each: [(status, body)]."""
    head = f"POST /v1/infer HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: image/png\r\nContent-Length: {len(body)}\r\n\r\n"

    async def run():
        return await asyncio.gather(*(_one(port, head.encode() + body) for _ in range(clients)))

    return asyncio.run(run())


def detections(text):
    return json.loads(text)["images"][0]["detections"]
