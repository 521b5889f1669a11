#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The web page in Chromium, as people use it: aliquot up behind it, three sizes, light and dark, keys, axe-core.

page_test.py BIN SIM TESTS    the folders of the programs, of the simulated ones, of the tests. ALIQUOT_PAGE_PICTURES=DIR keeps what was on the
screen; UPDATE_GOLDEN=1 writes tests/e2e/page/pictures.json anew.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "page"))
import browser  # noqa: E402  beside this file
import worlds  # noqa: E402  likewise

BIN, SIM, TESTS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
SIZES = {"phone": (320, 640), "laptop": (1280, 800), "wall": (3840, 2160)}
VIEWS = ["gpus", "pods", "placement", "findings"]
SCENE_VIEWS = ["gpus", "pods", "jobs", "cost", "placement", "findings"]
GOLDEN = HERE / "page/pictures.json"
GRID = (24, 15)  # fields that a picture is compared by: their mean brightness, whatever the fonts
PICTURES = os.environ.get("ALIQUOT_PAGE_PICTURES")
HOSTILE = '<img src=x onerror="globalThis.hurt=1"><script>globalThis.hurt=2</script>\u202etxt'

class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.up = worlds.Up(BIN)
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.up.close()

    def opened(self, **options):
        page = self.browser.page(**options)
        self.addCleanup(page.close)
        page.open(self.up.url)
        page.wait("globalThis.aliquotPage?.state === 'live' && aliquotPage.table('shares').rows.size >= 4 && aliquotPage.table('pods').rows.size >= 6"
                  " && document.querySelectorAll('.gpu .segment').length >= 4", "four pods on GPUs")
        return page

    def go(self, page, view):
        page.value(f"location.hash = '#/{view}'")
        page.wait(f"document.querySelector('nav a[aria-current]')?.getAttribute('href') === '#/{view.split('/')[0]}' && !document.querySelector('main .waiting')")
        page.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def keep(self, page, name):
        picture = page.picture()
        if PICTURES:
            pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
            (pathlib.Path(PICTURES) / f"{name}.png").write_bytes(picture.png)
        return picture

    def test_is_whole_at_every_size_in_light_and_dark(self):
        for name, (width, height) in SIZES.items():
            for dark in (False, True):
                with self.subTest(name, dark=dark):
                    page = self.opened(width=width, height=height, dark=dark)
                    for view in VIEWS:
                        self.go(page, view)
                        over = page.value("document.documentElement.scrollWidth - innerWidth")
                        self.assertLessEqual(over, 0, f"{view} is {over} pixels too wide")
                        small = page.value("""[...document.querySelectorAll('a, button, input')].filter((e) => { const b = e.getBoundingClientRect();
                            return b.width > 2 && b.top < innerHeight && (b.right > innerWidth + 1 || b.left < -1) && !e.closest('.scroll') && !e.matches('.skip'); })
                            .map((e) => e.outerHTML.slice(0, 80))""")
                        self.assertEqual(small, [], f"{view}: out of sight")
                        self.keep(page, f"{view}-{name}-{'dark' if dark else 'light'}")
                    self.check_bars(page, dark)
                    self.assertEqual(page.complaints(), [])

    def check_bars(self, page, dark):
        """What is painted is what the bars say: fills in the pod's colour, the rest paper."""
        self.go(page, "gpus")
        page.value("aliquotPage.setPaused(true)")
        page.value("document.querySelector('.segment .fill').scrollIntoView({block: 'center'})")
        boxes = page.value("""[...document.querySelectorAll('.bar')].flatMap((bar) => [...bar.querySelectorAll('.segment')].map((s) => {
            const f = s.querySelector('.fill').getBoundingClientRect(), b = s.getBoundingClientRect();
            return {fill: [f.left, f.top, f.width, f.height], box: [b.left, b.top, b.width, b.height], shown: b.top > 0 && b.bottom < innerHeight};
        })).filter((one) => one.shown)""")
        picture = self.keep(page, f"bars-{'dark' if dark else 'light'}")
        looked = 0
        for one in boxes:
            x, y, width, height = one["fill"]
            if width < 12 or height < 12:
                continue
            row = int(y + height / 4)  # the name stands below
            filled = [picture.at(x + at, row) for at in range(3, int(width) - 3)]
            self.assertTrue(any(max(c) - min(c) > 40 for c in filled), f"no colour where {one} is filled: {filled[:4]}")
            looked += 1
        self.assertGreaterEqual(looked, 3)
        page.value("aliquotPage.setPaused(false)")

    def test_says_what_up_knows(self):
        page = self.opened()
        bars = page.value("[...document.querySelectorAll('.gpu')].map((e) => e.getAttribute('aria-label'))")
        self.assertEqual(len(bars), 4)
        self.assertRegex(bars[0], r"^GPU 0, NVIDIA A100.*% busy, .* used\. .*team/busy-")
        self.assertIn("team/cut", bars[3])
        self.assertEqual(page.value("[...document.querySelectorAll('.slice .profile')].map((e) => e.textContent).sort()"), ["1g.5gb", "1g.5gb", "3g.20gb"])
        self.go(page, "pods")
        group = page.value("document.querySelector('.group summary').innerText")
        self.assertRegex(group, r"^2 pods .*Insufficient nvidia.com/gpu")
        self.go(page, "placement")
        self.assertRegex(page.value("document.querySelector('main').innerText"), r"wholly free GPUs")
        key = page.value("[...aliquotPage.table('gpus').rows.keys()][0]")
        page.value(f"location.hash = '#/gpus/' + encodeURIComponent({json.dumps(key)})")
        page.wait("/GPU-[0-9a-f-]{36}/.test(document.querySelector('dl')?.innerText)")
        self.assertEqual(page.complaints(), [])

    def test_asks_nobody_else(self):
        page = self.opened()
        for view in VIEWS:
            self.go(page, view)
        self.assertEqual([url for url in page.requests() if not url.startswith((self.up.url, "data:", "about:"))], [])

    def test_goes_by_keyboard(self):
        page = self.opened()
        page.key("2")
        page.wait("location.hash === '#/pods' && document.activeElement.id === 'main'", "the view has the focus")
        page.key("/", code="Slash")
        page.wait("document.activeElement.id === 'filter'")
        for letter in "busy-1":
            page.key(letter)
        page.wait("document.querySelectorAll('tbody tr').length === 1")
        page.key("2")  # a character now, and no view
        page.wait("document.querySelector('#filter').value === 'busy-12'")
        page.key("Escape")
        page.wait("document.querySelector('#filter').value === ''")
        page.key("Escape")
        page.wait("document.activeElement.id === 'main'")
        page.key("1")
        page.wait("document.querySelector('.gpu')")
        page.value("document.querySelector('.gpu').focus()")
        page.key("Enter")
        page.wait("document.querySelector('#gpu-title')")
        page.key("p")
        page.wait("aliquotPage.state === 'paused'")
        before = page.value("aliquotPage.version")
        time.sleep(3)
        self.assertEqual(page.value("aliquotPage.version"), before)
        page.key("p")
        page.wait(f"aliquotPage.version > {before}")
        page.key("?", code="Slash")
        page.wait("document.querySelector('.help')")
        self.assertEqual(page.complaints(), [])

    def test_sorts_and_keeps_its_order(self):
        page = self.opened()
        self.go(page, "pods")
        page.value("[...document.querySelectorAll('th button')].find((b) => b.textContent.startsWith('busy')).click()")
        page.wait("document.querySelector('th[aria-sort=ascending]')")
        page.value("[...document.querySelectorAll('th button')].find((b) => b.textContent.startsWith('busy')).click()")
        page.wait("document.querySelector('th[aria-sort=descending]')")
        first = page.value("document.querySelector('tbody tr td').innerText")
        self.assertEqual(first, "team/busy-2")

    def test_draws_hostile_names_as_text(self):
        page = self.opened()
        page.value(f"""aliquotPage.setPaused(true), aliquotPage.take({{version: 1e9, at: Date.now(), steps: [{{about: aliquotPage.about, tables: {{
            pods: {{set: [[{json.dumps('x/' + HOSTILE)}], ["Pending"], [""], [""], [""], [{json.dumps(HOSTILE)}]], gone: []}},
            findings: {{set: [["__proto__"], ["error"], [{json.dumps(HOSTILE)}], [{json.dumps(HOSTILE)}], [""], [null]], gone: []}}}}}}]}})""")
        for view in VIEWS:
            self.go(page, view)
        self.go(page, "pods")
        page.wait("document.body.innerText.includes('<img src=x onerror=')")
        self.assertIsNone(page.value("globalThis.hurt ?? null"))
        self.assertFalse(page.value("document.body.innerText.includes('\\u202e')"))
        self.assertEqual(page.complaints(), [])

    def axe(self, page, what):
        self.assertEqual(browser.axe(page), [], what)

    def test_axe_finds_nothing_serious(self):
        for dark in (False, True):
            page = self.opened(dark=dark)
            key = page.value("encodeURIComponent([...aliquotPage.table('gpus').rows.keys()][0])")
            self.go(page, "gpus/" + key)  # the others: SceneTest
            self.axe(page, f"a GPU, dark={dark}")
            page.key("?", code="Slash")
            page.wait("document.querySelector('.help')")
            self.axe(page, f"help, dark={dark}")

    def test_shows_the_jobs_of_a_machine_on_a_time_line(self):
        home = tempfile.TemporaryDirectory(prefix="aliquot-jobs-page-")
        self.addCleanup(home.cleanup)
        socket = f"unix:{home.name}/jobs.sock"
        serve = subprocess.Popen([str(BIN / "aliquot"), "serve", "--gpu", "a2:2", "--state", f"{home.name}/state", "--socket", socket, "--page", "127.0.0.1:0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(serve.communicate)
        self.addCleanup(serve.terminate)
        url = re.search(r"page at (\S+)", serve.stdout.readline())[1]
        serve.stdout.readline()
        job = [str(BIN / "aliquot"), "job"]
        for number in range(5):
            subprocess.run([*job, "submit", "--server", socket, "--name", f"train-{number}", "--gpu", "1", "--", "sleep", "600"], check=True, capture_output=True, timeout=60)
        self.addCleanup(lambda: [subprocess.run([*job, "cancel", "--server", socket, str(n)], check=False, capture_output=True, timeout=60) for n in range(1, 6)])
        page = self.browser.page()
        self.addCleanup(page.close)
        page.open(url)
        page.wait("document.querySelectorAll('.job-row').length === 5 && document.querySelectorAll('.piece.ran').length === 2", "two that run and three that wait")
        titles = page.value("[...document.querySelectorAll('nav a')].map((a) => a.firstChild.textContent)")
        self.assertEqual(titles, ["Jobs", "Cost", "Findings"], "findings are of doctor, which may take a while")
        self.assertEqual(page.value("document.querySelector('h2').innerText"), "2 jobs on GPUs, 3 waiting")
        names = page.value("[...document.querySelectorAll('.lane')].map((e) => e.getAttribute('aria-label'))")
        self.assertRegex(names[0], r"^1 train-0: (running|starting) for")
        self.assertRegex(names[2], r"^3 train-2: number 1: likely to start in .*, nearly surely in")
        self.assertEqual(page.value("document.querySelectorAll('.piece.band').length"), 3)
        self.keep(page, "jobs")
        self.axe(page, "jobs")
        subprocess.run([*job, "cancel", "--server", socket, "1"], check=True, capture_output=True, timeout=60)
        page.wait("[...document.querySelectorAll('.lane')].some((e) => e.getAttribute('aria-label').startsWith('1 train-0: cancelled'))", "live")
        self.assertEqual(page.complaints(), [])

    def test_shows_the_cluster_to_who_may_list_its_pods(self):
        cluster = worlds.Cluster(BIN, SIM)
        self.addCleanup(cluster.close)
        page = self.browser.page()
        self.addCleanup(page.close)
        page.open(cluster.url)
        for token, answer in (("wrong", "the server asks who you are"), ("bob-token", "all of this page is for who may list nodes and the pods of all namespaces")):
            page.wait("document.querySelector('#token')", "the form")
            self.axe(page, "sign in")
            page.value(f"document.querySelector('#token').value = '{token}', document.querySelector('.sign-in button').click()")
            page.wait(f"document.querySelector('.sign-in')?.innerText.includes({json.dumps(answer)})", token)
        self.assertFalse(page.value("document.querySelector('.gpu')"))
        page.value("document.querySelector('#token').value = 'alice-token', document.querySelector('.sign-in button').click()")
        page.wait("document.querySelectorAll('.gpu').length === 2", "the GPUs of the node")
        page.value("location.hash = '#/pods'")
        page.wait("/^1 pod 0\\/3 nodes are available/.test(document.querySelector('.group summary')?.innerText)", "the pod that waits")
        self.assertRegex(page.value("document.querySelector('.group li').innerText"), "^team/train Pending, nvidia.com/gpu: 4$")
        self.assertEqual(page.value("document.querySelector('h1').innerText"), "Cluster")
        self.keep(page, "cluster")
        # A namespace: only what is in it, also for who may see all, and for who may see no more than that.
        other = self.browser.page()
        self.addCleanup(other.close)
        other.open(cluster.url)
        other.wait("document.querySelector('#token')", "the form")
        sign_in = "document.querySelector('#token').value = 'carol-token', document.querySelector('#namespace').value = '{}', document.querySelector('.sign-in button').click()"
        other.value(sign_in.format("elsewhere"))
        other.wait("document.querySelector('.sign-in')?.innerText.includes('who may list the pods of this namespace')")
        other.value(sign_in.format("team"))
        other.wait("document.querySelectorAll('.gpu').length === 1", "the GPU that a pod of the namespace is on")
        self.assertEqual(other.value("document.querySelector('h1').innerText"), "Cluster namespace team")
        other.value("location.hash = '#/pods'")
        other.wait("/^1 pod 0\\/3 nodes are available/.test(document.querySelector('.group summary')?.innerText)", "the pod that waits")
        self.assertEqual([c for c in other.complaints() if "401" not in c and "403" not in c], [])
        stored = page.value("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        self.assertNotIn("alice-token", stored)
        self.assertEqual([c for c in page.complaints() if "401" not in c and "403" not in c], [])

    def test_z_says_when_the_server_is_gone(self):
        other = worlds.Up(BIN)
        try:
            page = self.browser.page()
            self.addCleanup(page.close)
            page.open(other.url)
            page.wait("globalThis.aliquotPage?.state === 'live'")
        finally:
            other.close()
        page.wait("document.querySelector('.notice')?.innerText.includes('No connection to the server')")
        self.axe(page, "without a server")


class SceneTest(unittest.TestCase):
    """Every view of a cluster in which nothing changes (page/scene.cpp)."""

    @classmethod
    def setUpClass(cls):
        cls.scene = subprocess.Popen([TESTS / "page_scene"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.url = f"http://127.0.0.1:{int(cls.scene.stdout.readline())}/"
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.scene.communicate("\n", timeout=60)

    def opened(self, **options):
        page = self.browser.page(**options)
        self.addCleanup(page.close)
        page.open(self.url)
        page.wait("globalThis.aliquotPage?.state === 'live' && document.querySelectorAll('.gpu .segment').length >= 7")
        page.value("aliquotPage.setPaused(true)")  # nothing but our steps moves now
        page.wait("aliquotPage.state === 'paused'")
        return page

    def go(self, page, view):
        page.value(f"location.hash = '#/{view}'")
        page.wait(f"document.querySelector('nav a[aria-current]')?.getAttribute('href') === '#/{view}' && !document.querySelector('main .waiting')")
        page.value("scrollTo(0, 0), new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def test_looks_as_it_did(self):
        golden = {} if os.environ.get("UPDATE_GOLDEN") else json.loads(GOLDEN.read_text())
        seen = {}
        for name, (width, height) in SIZES.items():
            for dark in (False, True):
                page = self.opened(width=width, height=height, dark=dark)
                for view in SCENE_VIEWS:
                    self.go(page, view)
                    key = f"{view} {name} {'dark' if dark else 'light'}"
                    # The history grows with the time that the test takes.
                    page.value("document.querySelectorAll('.chart').forEach((one) => (one.style.display = 'none'))")
                    picture = page.picture()
                    if PICTURES:
                        pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
                        (pathlib.Path(PICTURES) / f"scene-{key.replace(' ', '-')}.png").write_bytes(picture.png)
                    seen[key] = page.brightness(*GRID)
                    # On a busy machine a picture may be taken before all of it is drawn: the last one counts.
                    for _ in range(20):
                        if key not in golden or not browser.differences(seen[key], golden[key]):
                            break
                        time.sleep(0.5)
                        page.picture()
                        seen[key] = page.brightness(*GRID)
                self.assertEqual(page.complaints(), [])
        if os.environ.get("UPDATE_GOLDEN"):
            GOLDEN.write_text("{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(''.join(f'{one:02x}' for one in seen[key]))}" for key in sorted(seen)) + "\n}\n")
            return
        self.assertEqual(sorted(seen), sorted(golden))
        for key, fields in seen.items():
            with self.subTest(key):
                self.assertEqual(browser.differences(fields, golden[key]), [])

    def test_says_what_it_costs(self):
        page = self.opened()
        self.go(page, "cost")
        text = page.value("document.querySelector('main').innerText")
        self.assertRegex(text, r"the bill\s+730.00 USD")
        self.assertRegex(text, r"held, not used\s+120.00\s+16 %")
        self.assertRegex(text, r"an hour of it now\s+9.60")
        self.assertIn("What the GPUs cost 10-04 to 10-10", text)
        self.assertEqual(page.value("[...document.querySelectorAll('.trend .amount')].map((e) => e.textContent)")[::6], ["100.00", "106.00"])
        self.assertRegex(page.value("[...document.querySelectorAll('tbody')].at(-1).innerText"), r"nobody's: free\s+5.40\s+56 %")
        rows = page.value("[...document.querySelectorAll('tbody')][0].innerText")
        self.assertRegex(rows, r"vision\s+410.00\s+56 %")
        self.assertRegex(rows, r"nobody's: free\s+200.00")
        self.assertEqual(page.value("document.querySelectorAll('.trend .step').length"), 7)
        self.assertEqual(page.complaints(), [])

    def test_says_who_has_what_others_wait_for(self):
        page = self.opened()
        self.go(page, "pods")
        self.assertRegex(page.value("document.querySelector('.holders').innerText"), r"7 pods have what they wait for:\s*search/rank idle 45 min")

    def test_begins_with_what_is_free_and_what_is_not_well(self):
        page = self.opened()
        tiles = page.value("document.querySelector('.tiles').innerText")
        self.assertRegex(tiles, r"GPUs\s+4\s+1 not well\s+wholly free\s+1\s+6 of 12 shares free")
        self.assertRegex(page.value("document.querySelector('.not-well').innerText"), r"gpu-1 GPU 3 Unhealthy Xid 79: the GPU has fallen off the bus → drain")
        self.assertEqual(page.value("[...document.querySelectorAll('.node h3')].at(-1).innerText"), "gpu-2 ✕ no answer")
        self.go(page, "findings")
        self.assertRegex(page.value("document.querySelector('tbody').innerText"), r"fallen off the bus\s+drain the node and restart it")
        self.go(page, "placement")
        self.assertRegex(page.value("document.querySelector('.tiles').innerText"), r"free shares\s+6 of 12")
        self.assertEqual(page.value("[...document.querySelectorAll('tbody .square')].map((e) => e.className)"), ["square begun", "square full", "square whole", "square out"])

    def test_draws_hostile_words_as_text_in_every_view(self):
        page = self.opened()
        # Every word of every table that is not a name by which rows are found.
        page.value(f"""(() => {{
            const hostile = {json.dumps(HOSTILE)}, steps = {{}}, kept = new Set(["phase", "health", "state", "kind", "gpu", "part", "severity"]);
            for (const [name, table] of aliquotPage.tables)
                steps[name] = {{gone: [], set: table.columns.map((column, i) => [...table.rows.values()].map((row) => typeof row[i] !== "string" || i === 0 || kept.has(column) ? row[i] : row[i] + hostile))}};
            aliquotPage.take({{version: 1e9, at: Date.now(), steps: [{{about: {{...aliquotPage.about, title: hostile, only: hostile}}, tables: steps}}]}});
        }})()""")
        key = page.value("encodeURIComponent([...aliquotPage.table('gpus').rows.keys()][0])")
        for view in SCENE_VIEWS:
            self.go(page, view)
            self.assertIn("<img src=x onerror=", page.value("document.body.innerText"), view)
            self.assertNotIn("\u202e", page.value("document.body.outerHTML"), view)
        page.value(f"location.hash = '#/gpus/{key}'")
        page.wait("document.querySelector('#gpu-title') && document.body.innerText.includes('<img src=x onerror=')")
        self.assertNotIn("\u202e", page.value("document.body.outerHTML"))
        self.assertEqual(page.value("document.querySelectorAll('img, script:not([src]), iframe, object').length"), 0)
        self.assertIsNone(page.value("globalThis.hurt ?? null"))
        self.assertEqual(page.complaints(), [])

    def test_axe_finds_nothing_serious(self):
        for dark in (False, True):
            page = self.opened(dark=dark)
            for view in SCENE_VIEWS:
                self.go(page, view)
                self.assertEqual(browser.axe(page), [], f"{view}, dark={dark}")


if __name__ == "__main__":
    if browser.find() is None:
        print("skipped: no chromium on this machine")
        sys.exit(77)
    unittest.main()
