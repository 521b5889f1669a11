#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chromium over its DevTools protocol, by two pipes: no port, no library."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

PATIENCE_S = 60  # for a machine that is busy with other things
PIPES_AT_3_AND_4 = "import os, sys; [os.dup2(int(fd), at) for fd, at in zip(sys.argv[1:3], (3, 4))]; os.execvp(sys.argv[3], sys.argv[3:])"


def find():
    return shutil.which("chromium")


class Browser:
    """One headless browser with a profile of its own."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory(prefix="aliquot-browser-", ignore_cleanup_errors=True)
        from_us, self.to_it = os.pipe()
        self.from_it, to_us = os.pipe()
        ends = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (from_us, to_us)]
        words = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-extensions", "--disable-sync", "--mute-audio", "--hide-scrollbars",
                 "--force-color-profile=srgb", "--lang=en-US", "--remote-debugging-pipe", f"--user-data-dir={self.home.name}", "about:blank"]
        self.log = open(os.path.join(self.home.name, "log"), "wb")
        self.process = subprocess.Popen([sys.executable, "-c", PIPES_AT_3_AND_4, *map(str, ends), *words], pass_fds=ends, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, env={**os.environ, "HOME": self.home.name, "TZ": "UTC"})
        for one in (from_us, to_us, *ends):
            os.close(one)
        self.rest, self.number, self.events = b"", 0, []

    def _read(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.from_it], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.from_it, 1 << 20)
            if not part:
                raise ConnectionError("the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, session=None, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if session:
            question["sessionId"] = session
        data = json.dumps(question).encode() + b"\0"
        while data:
            data = data[os.write(self.to_it, data):]
        until = time.monotonic() + PATIENCE_S
        while True:
            message = self._read(until)
            if message.get("id") != self.number:
                self.events.append(message)
                continue
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            return message["result"]

    def page(self, **options):
        return Page(self, **options)

    def close(self):
        try:
            self.ask("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_it)
        os.close(self.from_it)
        self.log.close()
        self.home.cleanup()


class Page:
    """A tab of a size and a colour scheme."""

    def __init__(self, browser, width=1280, height=800, dark=False):
        self.browser, self.seen = browser, []
        context = browser.ask("Target.createBrowserContext")["browserContextId"]
        self.target = browser.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Page", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.ask("Page.addScriptToEvaluateOnNewDocument", source="""
            globalThis.violations = [];
            document.addEventListener('securitypolicyviolation', (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));""")

    def ask(self, method, **parameters):
        return self.browser.ask(method, session=self.session, **parameters)

    def open(self, url):
        self.ask("Page.navigate", url=url)

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression[:200]}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait(self, expression, what=""):
        until = time.monotonic() + PATIENCE_S
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > until:
                raise TimeoutError(f"{what or expression}: not in {PATIENCE_S} s; the page says: {self.value('document.body.innerText')[:2000]}")
            time.sleep(0.05)

    def key(self, key, code=None, text=None):
        number = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, ord(key[0].upper()))
        text = text if text is not None else ("\r" if key == "Enter" else key if len(key) == 1 else "")
        more = {"text": text} if text else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, windowsVirtualKeyCode=number, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, windowsVirtualKeyCode=number)

    def brightness(self, across, down):
        """The window as so many fields, by rows: the mean brightness of each, 0 to 255."""
        size = self.value("[innerWidth, innerHeight]")
        small = (4 * across) / size[0]  # the browser makes it smaller, which no Python could in time
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": small}
        picture = Picture(base64.b64decode(self.ask("Page.captureScreenshot", format="png", clip=clip)["data"]))
        fields = []
        for row in range(down):
            for column in range(across):
                xs = range(column * picture.width // across, max((column + 1) * picture.width // across, column * picture.width // across + 1))
                ys = range(row * picture.height // down, max((row + 1) * picture.height // down, row * picture.height // down + 1))
                dots = [picture.at(x, y) for y in ys for x in xs]
                fields.append(round(sum(0.299 * r + 0.587 * g + 0.114 * b for r, g, b in dots) / len(dots)))
        return fields

    def picture(self):
        return Picture(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _events(self, *names):
        self.value("0")
        return [e for e in self.browser.events if e.get("sessionId") == self.session and e["method"] in names]

    def complaints(self):
        """Console errors, exceptions, violations of the content security policy."""
        found = [json.dumps(e["params"])[:600] for e in self._events("Runtime.exceptionThrown")]
        found += [json.dumps(e["params"]["args"])[:600] for e in self._events("Runtime.consoleAPICalled") if e["params"]["type"] in ("error", "assert")]
        found += [e["params"]["entry"]["text"] + " " + e["params"]["entry"].get("url", "") for e in self._events("Log.entryAdded")
                  if e["params"]["entry"]["level"] == "error"]
        return found + self.value("violations")

    def requests(self):
        return [e["params"]["request"]["url"] for e in self._events("Network.requestWillBeSent")]

    def received_bytes(self):
        """Over the wire, heads included, by request."""
        return {e["params"]["requestId"]: e["params"]["encodedDataLength"] for e in self._events("Network.loadingFinished")}

    def close(self):
        self.browser.ask("Target.closeTarget", targetId=self.target)
        self.browser.events = [e for e in self.browser.events if e.get("sessionId") != self.session]


class Picture:
    """A PNG of 8 bits a channel, as browsers write it. source: PNG (third edition), 9.2 and 11.2"""

    def __init__(self, png):
        self.png, data, at = png, b"", 8
        while at < len(png):
            size, kind = struct.unpack(">I4s", png[at:at + 8])
            body = png[at + 8:at + 8 + size]
            if kind == b"IHDR":
                self.width, self.height, _, colour = struct.unpack(">IIBB", body[:10])
                self.channels = {2: 3, 6: 4}[colour]
            if kind == b"IDAT":
                data += body
            at += 12 + size
        self.data, self.rows = zlib.decompress(data), [None] * self.height
        self.stride = self.width * self.channels
        self.done, self.before = 0, bytearray(self.stride)

    def _row(self, y):
        while self.done <= y:
            at = self.done * (self.stride + 1)
            kind, row = self.data[at], bytearray(self.data[at + 1:at + 1 + self.stride])
            before, n = self.before, self.channels
            if kind == 1:
                for i in range(n, self.stride):
                    row[i] = (row[i] + row[i - n]) & 255
            elif kind == 2:
                row = bytearray((a + b) & 255 for a, b in zip(row, before))
            elif kind == 3:
                for i in range(self.stride):
                    row[i] = (row[i] + ((row[i - n] if i >= n else 0) + before[i]) // 2) & 255
            elif kind == 4:
                for i in range(self.stride):
                    a, b, c = (row[i - n] if i >= n else 0), before[i], (before[i - n] if i >= n else 0)
                    pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                    row[i] = (row[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
            self.rows[self.done], self.before = row, row
            self.done += 1
        return self.rows[y]

    def at(self, x, y):
        row = self._row(int(y))
        return tuple(row[int(x) * self.channels:int(x) * self.channels + 3])


def differences(fields, golden):
    """Between Page.brightness() and one that was kept, in words; empty: it looks as it did."""
    apart = [abs(a - b) for a, b in zip(fields, bytes.fromhex(golden))]
    # Another font moves some fields a little; a view that is missing, moved or of another colour moves many or one by much.
    mean, moved = sum(apart) / len(apart), sum(one > 48 for one in apart)
    told = []
    if mean >= 8:
        told.append(f"the picture as a whole is {mean:.1f} apart, less than 8 is the same")
    if moved > len(apart) // 20:
        told.append(f"{moved} of {len(apart)} fields have changed, {len(apart) // 20} may")
    return told


def axe(page):
    """What axe-core finds that is serious or worse."""
    page.value((pathlib.Path(__file__).resolve().parent / "axe.min.js").read_text() + ";0")
    return page.value("""axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
        .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | ')}`))""")
