#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load.py URL [--clients 8] [--seconds 5] [--image FILE]: pictures to a vision worker, by so many clients at once.

Each client sends one picture after the other on one connection. Prints one JSON object: answers by status, pictures a second,
times in milliseconds, the mean batch. Ends with 1 when nothing was answered 200.
"""
import argparse
import http.client
import json
import struct
import threading
import time
import urllib.parse
import zlib


def png(side=64):
    """A picture that needs no file."""
    rows = b"".join(b"\0" + bytes((x * 4 & 255, y * 4 & 255, 60) [c] for x in range(side) for c in range(3)) for y in range(side))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Client(threading.Thread):
    def __init__(self, address, path, body, until):
        super().__init__(daemon=True)
        self.address, self.path, self.body, self.until = address, path, body, until
        self.times, self.batches, self.statuses, self.errors = [], [], {}, {}

    def run(self):
        connection = None
        while time.monotonic() < self.until:
            began = time.monotonic()
            try:
                if connection is None:
                    connection = http.client.HTTPConnection(self.address, timeout=30)
                connection.request("POST", self.path, self.body, {"Content-Type": "image/png"})
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as why:
                name = type(why).__name__
                self.errors[name] = self.errors.get(name, 0) + 1
                connection.close()
                connection = None
                time.sleep(0.01)
                continue
            self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
            if answer.status == 200:
                self.times.append(time.monotonic() - began)
                self.batches.append(json.loads(content)["images"][0]["batch"])
            else:
                time.sleep(0.05)  # as Retry-After asks for, but sooner
        if connection:
            connection.close()


def total(dictionaries):
    summed = {}
    for one in dictionaries:
        for key, value in one.items():
            summed[key] = summed.get(key, 0) + value
    return summed


def load(url, clients, seconds, body):
    parts = urllib.parse.urlsplit(url)
    until = time.monotonic() + seconds
    began = time.monotonic()
    threads = [Client(parts.netloc, parts.path or "/v1/infer", body, until) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    times = sorted(one * 1000 for thread in threads for one in thread.times)
    batches = [one for thread in threads for one in thread.batches]
    at = lambda part: round(times[int((len(times) - 1) * part)], 2) if times else None
    return {"statuses": total(thread.statuses for thread in threads), "connectionErrors": total(thread.errors for thread in threads),
            "picturesPerSecond": round(len(times) / took, 2), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99),
            "meanBatch": round(sum(batches) / len(batches), 2) if batches else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--image")
    asked = parser.parse_args()
    body = open(asked.image, "rb").read() if asked.image else png()
    result = load(asked.url, asked.clients, asked.seconds, body)
    print(json.dumps(result))
    return 0 if result["statuses"].get(200) else 1


if __name__ == "__main__":
    raise SystemExit(main())
