#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""commands_test.py BIN: every command of aliquot, as people get it wrong.

Each row of ROWS is a command that works, and needs no cluster. Of each:
  - it does the same from another folder, with relative paths;
  - on a full disk it says so, with exit code 3; into a closed pipe it ends without a word;
  - wrong words and files (WRONG) are one clear line on the standard error, exit code 2 or 3, and nothing on the standard output.
A command without a row is tried with wrong words alone; a row without a command fails. """
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 120
FULL = "aliquot: cannot write the output: No space left on device"


@dataclasses.dataclass
class Row:
    words: str                 # behind the command's name; {node} is a simulated node, {api} a kubeconfig that is not there
    code: int = 0
    changes: bool = False      # what it does once it does not do again: it runs once, in the first folder
    waits: bool = False        # it would wait, serve or need a cluster: only its wrong words are tried


NODE, API = "--node-state {node}", "--kubeconfig {api}"
ROWS = {
    "config check": Row("sharing.yaml"),
    "config explain": Row(f"sharing.yaml {NODE}"),
    "lint": Row("mistakes", code=1),
    "doctor": Row("--root machine host"),
    "plan": Row("--gpu a2 --workloads services.yaml"),
    "detect": Row("task.txt"),
    "size model": Row("--model llama-3-8b --gpu a100-40"),
    "size instance": Row("--cpu 4 --memory 16Gi --gpu t4"),
    "size batch": Row("--gpu a100-80"),
    "size node": Row("g4dn.xlarge", code=1),
    "size measured": Row("runs.yaml"),
    "image check": Row("bom.json", code=1),
    "queue simulate": Row("--trace jobs.csv --gpus 8"),
    "gpu list": Row(NODE),
    "gpu show": Row(f"0 {NODE}"),
    "mig list": Row(NODE),
    "mig profiles": Row(NODE),
    "mig plan": Row("mig.yaml --select halves --gpu a100-40"),
    "mig export": Row(NODE),
    "mig assert": Row(f"--config mig.yaml --select off {NODE}"),
    "mig apply": Row(f"--config mig.yaml --select off {NODE} --state {{place}}/journal --pod-resources-socket none"),
    "gate before": Row(f"{NODE} --record gate.json"),
    "gate after": Row(f"{NODE} --record gate.json --settle 0", waits=True),
    "top": Row(f"--once {NODE}"),
    "run": Row(f"{NODE} --gpu-memory 1Gi -- true", waits=True),
    "bench": Row(f"{NODE} -- true", waits=True),
    "guard status": Row("--region regions", waits=True),
    "job submit": Row("--dry-run --gpu 1 --image a:1 -- true"),
    "job template": Row("--image trainer:1.4 --gpu 2 -- python3 train.py"),
    "job list": Row("", waits=True),
    "job show": Row("1", waits=True),
    "job explain": Row("1", waits=True),
    "job logs": Row("1", waits=True),
    "job wait": Row("1", waits=True),
    "job cancel": Row("1", waits=True),
    "job retry": Row("1", waits=True),
    "job delete": Row("1", waits=True),
    "serve": Row("", waits=True),
    "metrics-api": Row("--print-manifests --image registry.example/aliquot:0.1 --agents 127.0.0.1:9400"),
    "install": Row("--profile k3s --config sharing.yaml -o yaml"),
    "uninstall": Row(f"--dry-run {API}", waits=True),
    "verify": Row(f"{API} --timeout 5", waits=True),
    "version": Row(""),
    "completion": Row("bash"),
    "node list": Row(API, waits=True),
    "node show": Row(f"gpu-1 {API}", waits=True),
    "node label": Row(f"gpu-1 team=vision {API}", waits=True),
    "node labels": Row(f"sharing.yaml {NODE}"),
    "node config list": Row(API, waits=True),
    "node config put": Row(f"quarters sharing.yaml --dry-run {API}", waits=True),
    "node config set": Row(f"gpu-1 --clear {API}", waits=True),
    "placement status": Row(API, waits=True),
    "placement defrag": Row(API, waits=True),
    "placement release": Row(f"--all {API}", waits=True),
    "explain pod": Row(f"trainer -n ai {API}", waits=True),
    "explain placement": Row("--nodes nodes.csv --pods pods.csv --pod task-1", waits=True),
    "simulate placement": Row("--nodes nodes.csv --pods pods.csv --policy fgd"),
    "pool apply": Row(f"-f pool.yaml --dry-run {API}", waits=True),
    "pool list": Row(API, waits=True),
    "pool show": Row(f"gpu-pool {API}", waits=True),
    "pool explain": Row("-f pool.yaml --at 2026-12-01T09:00:00Z"),
    "pool scale": Row(f"gpu-pool --replicas 5 {API}", waits=True),
    "pool hold": Row(f"gpu-pool --nodes 5 {API}", waits=True),
    "pool crd": Row(""),
    "pool render": Row("pool.yaml"),
    "pool provider": Row("lab.yaml", waits=True),
    "runner values": Row("pool.yaml --url https://github.com/org/repo"),
    "runner explain": Row(f"gpu -n arc-runners {API}", waits=True),
    "runner workflow": Row(""),
    "up": Row("--gpu a2 pod.yaml --once"),
    "sim up": Row("--gpu a2 --state other", changes=True),
    "sim down": Row("--state nowhere", waits=True),
    "sim env": Row("--state {node}"),
    "sim status": Row("--state {node}"),
    "sim use": Row("--state {node} --memory 1Gi --for 0", waits=True),
    "sim fault": Row("clear --gpu all --state {node}", waits=True),
    "sim cluster": Row("--nodes 1 --gpu a2", waits=True),
}
KNOWN = set(ROWS)
# Wrong in any command; the page of a command says which of the rest it can be given.
# Commands that read a file which a person names.
READERS = [
    "config check {file}", "config explain {file}", "lint {file}", "plan --gpu a2 --workloads {file}", "price check {file}",
    "price list --prices {file}", "cost --prices {file} --store costs.sqlite", "queue apply -f {file}",
    "queue simulate --trace {file} --gpus 8", "pool explain -f {file}", "pool render {file}", "pool apply -f {file}",
    "pool provider {file}", "job submit -f {file}", "job template -f {file}", "size measured {file}", "detect {file}",
    "mig plan {file} --gpu a100-40", "image check {file}", "install --config {file} --dry-run", "up {file} --gpu a2",
]
# What was taken once, and did something else than was meant.
REFUSED = [
    ('plan --gpu a2 --workloads ""', "--workloads: is empty; expected a path"),
    ('config explain "" --node-state {node}', "FILE: is empty; expected a path"),
    ('gate after --record "" --node-state {node}', "--record: is empty; expected a path"),
    ("plan --gpu a2 --usd-per-kwh nan", "--usd-per-kwh: 'nan' is not a number"),
    ("size batch --gpu a100-80 --memory inf", "--memory: 'inf' is not a number"),
    ("queue simulate --seed 99999999999999999999", "--seed: '99999999999999999999' is too large"),
    ("size node g4dn.xlarge --driver abc", "--driver: 'abc' is not a version such as 535.183"),
    ("mig assert --config mig.yaml --select off --gpu-index 7 --node-state {node}", "there is no GPU '7' on this node"),
    ("mig apply --config mig.yaml --select off --gpu-index 7 --dry-run --node-state {node}", "there is no GPU '7' on this node"),
    ("gate before --gpu 7 --node-state {node}", "there is no GPU '7' on this node"),
    ("pool explain other -f pool.yaml", "pool.yaml: has no pool 'other'"),
    ("runner values pool.yaml --url https://github.com/org/repo --cpu=-1", "'-1' is not an amount"),
    ('up --gpu a2 ""', "manifest: is empty; expected a path"),
    ("up --gpu a2 --metrics-listen nowhere pod.yaml", "--metrics-listen: "),
    ("install --claims -o yaml", "--claims needs --dra as well: auto, whole, fixed, consumable, dynamic-mig or by-label"),
    ("install --claims-preemption --dra auto -o yaml", "--claims-preemption needs --claims as well"),
    ("install --placement-strict -o yaml", "--placement-strict needs --placement as well"),
    ("doctor --explain " + "x" * 5000, "x" * 250),
]
WRONG = ["--nonsense", "--nonsense=1", "--color blue"]
MIG = """version: v1
mig-configs:
  off: [{devices: all, mig-enabled: false}]
  halves: [{devices: all, mig-enabled: true, mig-devices: {"3g.20gb": 2}}]
"""


def run(words, cwd, out=subprocess.PIPE):
    done = subprocess.run([BIN / "aliquot", *words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=LIMIT_S, check=False, env=ENVIRONMENT)
    return done.returncode, done.stdout or "", done.stderr


class Commands(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="aliquot-commands-")))
        cls.here, cls.there = cls.place / "here", cls.place / "elsewhere" / "deep"
        cls.here.mkdir()
        cls.there.mkdir(parents=True)
        examples = ROOT / "examples"
        for name, source in (("sharing.yaml", "a2-tts-stt/config.yaml"), ("mistakes", "mistakes"), ("services.yaml", "plan/services.yaml"),
                             ("runs.yaml", "plan/runs.yaml"), ("nodes.csv", "placement/nodes.csv"), ("pods.csv", "placement/pods.csv"),
                             ("pool.yaml", "pools/gpu-pool.yaml"), ("lab.yaml", "pools/lab.yaml")):
            (shutil.copytree if (examples / source).is_dir() else shutil.copy)(examples / source, cls.here / name)
        for name, text in (("mig.yaml", MIG), ("task.txt", "Fine-tune a 7B model on two A100 80GB\n"),
                           ("jobs.csv", "submit,duration,gpus\n0,60,1\n10,600,4\n"),
                           ("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  restartPolicy: Never\n  containers:\n"
                                        "  - {name: c, image: a:1, command: [\"true\"], resources: {limits: {nvidia.com/gpu: 1}}}\n"),
                           ("bom.json", json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5",
                                                    "components": [{"type": "library", "name": "cmake", "version": "3.22.1"}]}))):
            (cls.here / name).write_text(text)
        for name, text in (("proc/driver/nvidia/version", ""), ("proc/modules", ""), ("etc/os-release", "ID=debian\n")):
            (cls.here / "machine" / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.here / "machine" / name).write_text(text)
        cls.node = cls.place / "node"
        run(["sim", "up", "--gpu", "a100-40:2", "--state", str(cls.node)], cls.place)
        cls.pages = cls.place / "pages"
        cls.pages.mkdir()
        for program in ("aliquot", "aliquot-placement", "aliquot-fleet"):
            subprocess.run([BIN / program, "man", cls.pages], check=program == "aliquot", capture_output=True)

    def words(self, name, cwd):
        """The command with its row's words, files named as they are seen from `cwd`."""
        words = []
        for word in ROWS[name].words.split():
            word = word.format(node=self.node, api=self.place / "api/kubeconfig", place=self.place)
            if (self.here / word).exists() or word in ("gate.json", "other"):
                word = os.path.relpath(self.here / word, cwd)
            words.append(word)
        return name.split() + words

    def with_option(self, name, *option):
        words = self.words(name, self.here)
        at = words.index("--") if "--" in words else len(words)
        if "-o" in words:
            del words[words.index("-o"):words.index("-o") + 2]
            at = len(words)
        return words[:at] + list(option) + words[at:]

    def each(self, check, rows):
        """check(name) for all rows, several at once; each that fails is told with its command."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            for name, done in [(name, pool.submit(check, name)) for name in rows]:
                with self.subTest(command=name):
                    done.result()

    def leaves(self):
        """Each command that holds no others, by its page's name: "config-check"."""
        return {page.stem.removeprefix("aliquot-") for page in self.pages.glob("aliquot-*.1") if ".SH COMMANDS" not in page.read_text()}

    def test_every_row_is_a_command(self):
        self.assertLessEqual({name.replace(" ", "-") for name in ROWS}, self.leaves())

    def test_another_folder_a_full_disk_and_a_closed_pipe(self):
        def check(name):
            row = ROWS[name]
            code, out, err = run(self.words(name, self.here), self.here)
            self.assertEqual(code, row.code, err)
            self.assertTrue(out, "it printed nothing")
            if row.changes:
                return
            moved = run(self.words(name, self.there), self.there)
            self.assertEqual((moved[0], bool(moved[1])), (row.code, True), "from another folder: " + moved[2])
            with open("/dev/full", "w") as full:
                code, _, err = run(self.words(name, self.here), self.here, full)
            self.assertEqual((code, err.splitlines()[-1:]), (3, [FULL]), "on a full disk")
            reader, writer = os.pipe()
            os.close(reader)
            code, _, closed = run(self.words(name, self.here), self.here, writer)
            os.close(writer)
            self.assertEqual((code, "cannot write" in closed), (row.code, False), "into a closed pipe: " + closed)
        self.each(check, [name for name, row in ROWS.items() if not row.waits])

    def test_a_file_that_is_not_there_is_wrong_usage(self):
        absent = self.here / "no-such" / "file.yaml"

        def check(words):
            code, out, err = run([part.format(file=absent) for part in words.split()], self.here)
            self.assertEqual((code, out), (2, ""), f"aliquot {words}: {err}")
            self.assertRegex(err, rf"^aliquot: {re.escape(str(absent))}: .*No such file or directory\n$", words)
        self.each(check, READERS)

    def test_what_was_once_taken_is_refused(self):
        def check(row):
            words, told = row
            code, out, err = run([word.format(node=self.node) for word in shlex.split(words)], self.here)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), f"aliquot {words[:200]}: {err[:600]}")
            self.assertIn(told, err)
            self.assertLess(len(err), 700, words[:200])
        self.each(check, REFUSED)

    def test_a_guard_that_cannot_be_preloaded_is_no_run_without_limits(self):
        code, out, err = run(["run", "--node-state", str(self.node), "--gpu-memory", "1Gi", "--guard-library", "task.txt", "--", "true"], self.here)
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        self.assertIn("task.txt: expected a shared library, libaliquot-guard.so", err)

    def test_a_record_goes_into_a_device_and_does_not_replace_it(self):
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        code, _, err = run(["gate", "before", "--node-state", str(self.node), "--record", str(pipe)], self.here)
        self.assertEqual((code, pipe.is_fifo(), os.read(reader, 1)), (0, True, b"{"), err)
        os.close(reader)

    def wrong_words(self, name):
        """Words that this command cannot take, by what its page says of it."""
        page = self.pages / ("aliquot-" + name.replace(" ", "-") + ".1")
        text = page.read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
        wrong = [self.with_option(name, *one.split()) for one in WRONG]
        if name not in KNOWN:
            return wrong  # of a command without a row, what else it takes is not known
        options = re.findall(r"^\.TP\n((?:-\w, )?--[\w-]+)(?:, [^ \n]*)* ?(.*)$", text, re.M)
        for names, shown in options:
            option = names.split(", ")[-1]
            if option in ("--help", "--color", "--version") or not shown:
                continue
            if re.match(r"(N|NUMBER|SECONDS|PERCENT|GIB|HOURS|COUNT|TOKENS|MIB|DAYS|MS)\b", shown):
                wrong.append(self.with_option(name, option, "banana"))
                wrong.append(self.with_option(name, option, "-7"))
            if "FORMAT" in shown:
                wrong.append(self.with_option(name, option, "nonsense"))
        words = self.words(name, self.here)
        for i, word in enumerate(words):
            if (self.here / word).is_file() and "." in word and not name.startswith("gate"):
                wrong += [words[:i] + [other] + words[i + 1:] for other in ("no-such-file.yaml", "machine")]
        return wrong[:20]

    def test_no_gpu_is_not_the_usual_one(self):
        code, out, err = run(["job", "template", "--gpu", "0", "--image", "trainer:1.4", "--", "true"], self.here)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("'0' is not a number from 1 to 16", err)

    def test_wrong_words_are_one_clear_line(self):
        def check(name):
            for words in self.wrong_words(name):
                code, out, err = run(words, self.here)
                told = f"aliquot {' '.join(words)}: exit code {code}\n{out[:300]}{err[:600]}"
                self.assertIn(code, (2, 3), told)
                self.assertEqual((out, err.count("\n"), err[:9]), ("", 1, "aliquot: "), told)
                self.assertLess(len(err), 500, told)
        for leaf in self.leaves() - {name.replace(" ", "-") for name in ROWS}:
            page = (self.pages / f"aliquot-{leaf}.1").read_text().replace("\\-", "-")
            name = re.search(r"^aliquot ((?:[a-z_-]+ ?)+)", page[page.index(".SH SYNOPSIS"):], re.M)
            ROWS[name.group(1).strip() if name else leaf.replace("-", " ")] = Row("", waits=True)
        self.each(check, ROWS)


ENVIRONMENT = {**{name: value for name, value in os.environ.items() if not name.startswith(("ALIQUOT_", "KUBE", "NVIDIA_", "CUDA_"))},
               "HOME": "/nowhere", "NO_COLOR": "1"}

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
