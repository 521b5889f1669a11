#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the web page of a large cluster costs a browser, the wire and the server.

page_bench.py TESTS [--nodes 1000] [--gpus 8] [--pods 32] [--viewers 200] [--seconds 40]    TESTS: the folder of page_bench
"""
import argparse
import asyncio
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e/page"))
import browser  # noqa: E402  of the tests in a browser

FIRST_BAR = """new MutationObserver((_, observer) => { if (document.querySelector('.gpu .segment')) { observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.firstBar = performance.now(); })); } }).observe(document, {subtree: true, childList: true});"""


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


VISITS = 7


def thread_times(page):
    """Seconds of the tab's own thread since it began: all of them, those of its scripts."""
    metrics = {m["name"]: m["value"] for m in page.ask("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"], metrics["ScriptDuration"]


def visit(one, url):
    """Somebody who comes the first time: nothing is in the cache. The page, when its first bars were painted, bytes until then, the thread's time."""
    page = one.page(width=1920, height=1080)
    page.ask("Performance.enable", timeDomain="threadTicks")  # of the tab's own thread: neighbours do not count
    page.ask("Page.addScriptToEvaluateOnNewDocument", source=FIRST_BAR)
    page.open(url)
    page.wait("globalThis.firstBar")
    spent = thread_times(page)[0]
    time.sleep(1)
    return page, page.value("firstBar"), sum(page.received_bytes().values()), spent


def in_browser(url, seconds):
    one = browser.Browser()
    try:
        page, first, received, _ = visit(one, url)
        print(f"first bars painted after {first:.0f} ms by a browser that has only just started; {received / 1000:.0f} KB over the wire until then")
        visits = []
        for _ in range(VISITS):
            page.close()
            page, first, _, spent = visit(one, url)
            visits.append((first, 1000 * spent))
        times, threads = (sorted(column) for column in zip(*visits))
        print(f"by one that runs: {statistics.median(times):.0f} ms ({times[0]:.0f} to {times[-1]:.0f}), of them {statistics.median(threads):.0f} of the tab's thread; "
              f"{VISITS} first visits, load {os.getloadavg()[0]:.1f}")
        time.sleep(2)
        version, (task, script) = page.value("aliquotPage.version"), thread_times(page)
        time.sleep(seconds)
        updates, (task_after, script_after) = page.value("aliquotPage.version") - version, thread_times(page)
        if updates == 0:
            print(f"no update came in {seconds} s: this machine is too busy, nothing of it is told")
            return
        print(f"an update: {1000 * (task_after - task) / updates:.0f} ms of the tab's thread ({1000 * (script_after - script) / updates:.0f} ms script), {updates} updates; "
              f"{page.value('document.querySelectorAll(`*`).length')} elements, heap {page.value('performance.memory.usedJSHeapSize') / 1e6:.0f} MB")
    finally:
        one.close()


async def get(reader, writer, path):
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length"))
    return head, await reader.readexactly(length)


async def view(port, counts):
    """A viewer: the snapshot, then the events, and what they call for."""
    import gzip
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    head, body = await get(reader, writer, "/snapshot.json")
    text = (gzip.decompress(body) if "gzip" in head else body)[:200].decode()
    epoch, version = text.split('"epoch":"')[1].split('"')[0], int(text.split('"version":')[1].split(",")[0])
    events, events_writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    events_writer.write(f"GET /events?since={version}&epoch={epoch} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    counts["viewers"] += 1
    while True:
        line = (await events.readline()).decode()
        if not line:
            return
        if line.startswith("data: "):
            newest = json.loads(line[6:])["version"]
            _, body = await get(reader, writer, f"/changes.json?since={version}&epoch={epoch}")
            version = newest
            counts["updates"] += 1
            counts["bytes"] += len(body)


async def many(port, pid, viewers, seconds):
    counts = {"viewers": 0, "updates": 0, "bytes": 0}
    tasks = [asyncio.create_task(view(port, counts)) for _ in range(viewers)]
    await asyncio.sleep(10)
    begun, before, updates = time.monotonic(), cpu_seconds(pid), counts["updates"]
    await asyncio.sleep(seconds)
    spent = cpu_seconds(pid) - before
    took, updates = time.monotonic() - begun, counts["updates"] - updates
    memory = next(line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    print(f"{counts['viewers']:4} viewers: {100 * spent / took:5.1f} % of a core, {updates} updates in {took:.0f} s, "
          f"{counts['bytes'] / max(1, counts['updates']) / 1000:.0f} KB each, {int(memory) // 1024} MiB resident")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", type=pathlib.Path)
    for name, usual in (("nodes", 1000), ("gpus", 8), ("pods", 32), ("viewers", 200), ("seconds", 40)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    words = parser.parse_args()
    server = subprocess.Popen([words.tests / "page_bench", *(f"--{n}={getattr(words, n)}" for n in ("nodes", "gpus", "pods"))], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline())
        print(f"{words.nodes} nodes x {words.gpus} GPUs x {words.pods} pods on each, all change at each look; load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")
        in_browser(f"http://localhost:{port}/", words.seconds)
        for viewers in (1, words.viewers):
            asyncio.run(many(port, server.pid, viewers, words.seconds))
    finally:
        server.stdin.close()
        server.wait(60)


if __name__ == "__main__":
    main()
