#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""answers_test.py BIN: what every command of aliquot answers to programs.

Each row of ANSWERS is a command with -o json, found by its manual page, so that none can be forgotten. Of each:
  - the answer has the envelope, and api/answers.schema.json holds of it;
  - its keys are in camelCase, at least beside an older spelling;
  - -o yaml is the same value.
And every command has an example in its help. """
import base64
import dataclasses
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import jsonschema
import yaml

BIN = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LIMIT_S = 120
SCHEMA = json.loads((ROOT / "api/answers.schema.json").read_text())
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if not name.startswith(("ALIQUOT_", "KUBE", "NVIDIA_", "CUDA_"))},
               "HOME": "/nowhere", "NO_COLOR": "1"}


@dataclasses.dataclass
class Row:
    kind: str                # empty: a document of others, such as an object of Kubernetes
    words: str = ""          # {node}: a simulated node; {place}: files of the test; {examples}
    code: int = 0
    moves: bool = False      # it measures: two runs differ in their values


NODE = "--node-state {node}"
ANSWERS = {
    "bench": [Row("BenchReport", f"{NODE} --runs 1 --no-cpu -- true", code=1, moves=True)],
    "config check": [Row("FindingList", "{place}/wrong.yaml", code=1), Row("FindingList", "{examples}/a2-tts-stt/config.yaml")],
    "config explain": [Row("SharingOffer", f"{{examples}}/a2-tts-stt/config.yaml {NODE}"),
                       Row("ClaimOffer", f"{{examples}}/a2-tts-stt/config.yaml {NODE} --dra whole")],
    "cost": [Row("CostReport", "--store {jobs}/cost.sqlite --by job", moves=True)],
    "detect": [Row("DetectionList", "{place}/task.txt")],
    "doctor": [Row("DoctorReport", "--root {place}/machine host", code=1), Row("Rule", "--explain DRV003")],
    "explain placement": [Row("PlacementExplanation", "--nodes {examples}/placement/nodes.csv --pods {examples}/placement/pods.csv --pod 3")],
    "explain pod": [Row("PodPlacement", "waits", code=1), Row("PodPlacement", "runs")],
    "gate after": [Row("GateVerdict", f"{NODE} --record {{place}}/gate.json --settle 0", moves=True)],
    "gate before": [Row("GateVerdict", f"{NODE} --record {{place}}/gate.json")],
    "gpu list": [Row("GpuList", NODE)],
    "gpu show": [Row("Gpu", f"0 {NODE}")],
    "guard status": [Row("GuardStatus")],
    "image check": [Row("ImageCheck", "{place}/bom.json", code=1)],
    "install": [Row("InstallReport", "--profile kubeadm --image a:1 --no-wait"), Row("", "--dry-run --image a:1")],
    "job explain": [Row("JobExplanation", "{job}", moves=True)],
    "job forecast": [Row("JobForecast", "--gpu 1 --time 1h -- true", moves=True)],
    "job list": [Row("JobList", "--all", moves=True)],
    "job show": [Row("Job", "{job}", moves=True)],
    "job submit": [Row("SubmittedJobs", "--gpu 1 --idempotency-key answers -- true", moves=True),
                   Row("", "--dry-run --gpu 1 --image a:1 -- true")],
    "job template": [Row("", "--image trainer:1.4 --gpu 2 -- python3 train.py")],
    "lint": [Row("FindingList", "{examples}/mistakes", code=1), Row("RuleList", "--rules")],
    "mig apply": [Row("MigReport", f"--want 3g.20gb*2 --gpu-index 1 {NODE} --state {{place}}/mig --pod-resources-socket none --dry-run")],
    "mig export": [Row("", NODE)],
    "mig list": [Row("MigList", NODE)],
    "mig plan": [Row("MigPlan", f"--want 3g.20gb*2 --gpu-index 1 {NODE}"), Row("MigPlan", "--gpu a100-40 --want 3g.20gb*3", code=1),
                 Row("MigPlan", "--gpu a100-40 --want 3g.20gb")],
    "mig profiles": [Row("MigProfileList", "--gpu a100-40")],
    "node config list": [Row("NodeConfigList")],
    "node labels": [Row("NodeLabels", f"{{examples}}/a2-tts-stt/config.yaml {NODE}", moves=True)],
    "node list": [Row("GpuNodeList")],
    "node show": [Row("GpuNode", "node-1")],
    "placement defrag": [Row("DefragPlan")],
    "placement status": [Row("PlacementStatus")],
    "plan": [Row("SharingPlan", "--gpu a2 --workloads {examples}/plan/services.yaml"),
             Row("SharingPlan", "--gpu a2 --workloads {examples}/plan/services.yaml --what-if add=3xwhisper")],
    "pool explain": [Row("PoolExplanation", "-f {examples}/pools/gpu-pool.yaml --at 2026-12-01T09:00:00Z"),
                     Row("PoolExplanationList", "-f {place}/pools.yaml --at 2026-12-01T09:00:00Z")],
    "pool list": [Row("PoolList")],
    "pool show": [Row("", "gpu-pool")],
    "pool spot": [Row("SpotAdvice", "p5.48xlarge --hours 20 --checkpoint 30m --spot-price 17.63")],
    "price list": [Row("PriceList", "--gpu t4", moves=True)],
    "queue list": [Row("QueueList")],
    "queue pending": [Row("PendingJobList", moves=True)],
    "queue show": [Row("Queue", "default")],
    "queue simulate": [Row("QueueSimulation", "--trace {place}/jobs.csv --gpus 8")],
    "sim status": [Row("SimulatedNode", "--state {node}")],
    "simulate placement": [Row("PlacementSimulation", "--nodes {examples}/placement/nodes.csv --pods {examples}/placement/pods.csv", moves=True),
                           Row("PlacementSimulation", "--nodes {examples}/placement/nodes.csv --pods {examples}/placement/pods.csv --compare fgd,best-fit",
                               moves=True)],
    "size batch": [Row("BatchAdvice", "--gpu a100-80"), Row("BatchAdvice", "--failed-at 16")],
    "size instance": [Row("InstanceChoice", "--cpu 4 --memory 16Gi --gpu t4")],
    "size measured": [Row("RightSizeList", "{examples}/plan/runs.yaml")],
    "size model": [Row("ModelSize", "--model llama-3-8b --gpu a100-40")],
    "size node": [Row("NodeCheck", "g4dn.xlarge", code=1)],
    "top": [Row("NodeState", f"--once {NODE}", moves=True)],
    "uninstall": [Row("UninstallReport", "--dry-run")],
    "up": [Row("SimulatedPods", "--gpu a2 {place}/pod.yaml --once", moves=True)],
    "verify": [Row("VerifyReport", "--timeout 5 --image a:1", code=1, moves=True)],
    "version": [Row("Version")],
}
# Keys below these are data: labels, variables, resources, profiles, loads in percent.
DATA = {"labels", "env", "devices", "fits", "granted", "allocationPercent", "fragmentationPercent", "allocation_percent",
        "fragmentation_percent", "podLimits", "capacity", "throttledNs"}
FILES = {
    "wrong.yaml": "sharing:\n  timeSlicing:\n    replicas: 2\n",
    "task.txt": "Fine-tune a 7B model on two A100 80GB\n",
    "jobs.csv": "submit,duration,gpus\n0,60,1\n10,600,4\n",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  restartPolicy: Never\n  containers:\n"
                "  - {name: c, image: a:1, command: [\"true\"], resources: {limits: {nvidia.com/gpu: 1}}}\n",
    "bom.json": json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [{"type": "library", "name": "cmake", "version": "3.22.1"}]}),
    "machine/proc/modules": "",
    "machine/etc/os-release": "ID=debian\n",
    "prices.yaml": "apiVersion: aliquot.dev/v1alpha1\nkind: Prices\nversion: '1'\ncurrency: EUR\nprices:\n- {gpu: a2, perHour: 3600}\n",
}


def run(words, cwd, **more):
    done = subprocess.run([BIN / "aliquot", *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, env={**ENVIRONMENT, **more})
    return done.returncode, done.stdout, done.stderr


def soon(holds, what):
    end = time.monotonic() + 60
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)


def keys_of(value, inside=""):
    """Each key with the keys beside it."""
    if isinstance(value, list):
        for one in value:
            yield from keys_of(one, inside)
    elif isinstance(value, dict):
        for key, one in value.items():
            if inside not in DATA:
                yield key, value
            if "_" not in key or inside in DATA:  # below an old name are old names
                yield from keys_of(one, key)


def shape(value):
    """What two runs have in common: the keys and the kinds of the values; lists may grow."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def camel_case(key):
    return re.sub(r"_([a-z0-9])", lambda found: found.group(1).upper(), key)


class Answers(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="aliquot-answers-")))
        for name, text in FILES.items():
            (cls.place / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.place / name).write_text(text)
        pool = (EXAMPLES / "pools/gpu-pool.yaml").read_text()
        (cls.place / "pools.yaml").write_text(pool + "\n---\n" + pool.replace("gpu-pool", "other-pool"))
        cls.pages = cls.place / "pages"
        cls.pages.mkdir()
        for program in ("aliquot", "aliquot-placement", "aliquot-fleet"):
            subprocess.run([BIN / program, "man", cls.pages], check=program == "aliquot", capture_output=True)
        cls.node, cls.cluster, cls.jobs = cls.place / "node", cls.place / "cluster", cls.place / "jobs"
        run(["sim", "up", "--gpu", "a100-40:2", "--mig", "0=3g.20gb,1g.5gb", "--state", str(cls.node)], cls.place)
        cls.start(["sim", "cluster", "--nodes", "2", "--gpu", "a100-40:2", "--state", str(cls.cluster)])
        cls.kubeconfig = cls.cluster / "kubeconfig"
        soon(cls.kubeconfig.exists, "the simulated cluster")
        cls.socket = f"unix:{cls.place}/jobs.sock"
        cls.start(["serve", "--state", str(cls.jobs), "--socket", cls.socket, "--prices", str(cls.place / "prices.yaml"), "--gpu", "a2:2"])
        soon(lambda: run(["job", "list"], cls.place, ALIQUOT_JOBS=cls.socket)[0] == 0, "the server of jobs")
        cls.job = run(["job", "submit", "--gpu", "1", "--", "sleep", "600"], cls.place, ALIQUOT_JOBS=cls.socket)[1].strip()
        cls.fill_cluster()

    @classmethod
    def start(cls, words):
        process = subprocess.Popen([BIN / "aliquot", *words], cwd=cls.place, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                   stderr=(cls.place / (words[0] + ".log")).open("w"))
        cls.addClassCleanup(process.wait, 30)
        cls.addClassCleanup(process.send_signal, signal.SIGTERM)

    @classmethod
    def fill_cluster(cls):
        """A pool, a pod that runs and one that waits for a place."""
        config = yaml.safe_load(cls.kubeconfig.read_text())
        user, server = config["users"][0]["user"], config["clusters"][0]["cluster"]
        pair = cls.place / "admin.pem"
        pair.write_bytes(b"".join(base64.b64decode(user[one]) for one in ("client-certificate-data", "client-key-data")))
        context = ssl.create_default_context(cadata=base64.b64decode(server["certificate-authority-data"]).decode())
        context.load_cert_chain(pair)

        def make(path, body):
            request = urllib.request.Request(server["server"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=30, context=context).read()

        for name, gated in (("runs", False), ("waits", True)):
            limits = {"limits": {"nvidia.com/gpu": "2" if gated else "1"}}
            make("/api/v1/namespaces/default/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"containers": [{"name": "c", "image": "a:1", "resources": limits}],
                         **({"schedulingGates": [{"name": "aliquot.dev/placement"}]} if gated else {})}})
        soon(lambda: "running" in run(["explain", "pod", "runs"], cls.place, KUBECONFIG=str(cls.kubeconfig))[1], "a pod that runs")
        definition = run(["pool", "crd"], cls.place)[1]
        make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(definition))
        soon(lambda: run(["pool", "apply", "-f", str(EXAMPLES / "pools/gpu-pool.yaml")], cls.place, KUBECONFIG=str(cls.kubeconfig))[0] == 0, "a pool")

    def words(self, name, row):
        places = {"node": self.node, "place": self.place, "examples": EXAMPLES, "jobs": self.jobs, "job": self.job}
        return name.split() + row.words.format(**places).split()

    def answer(self, name, row, form):
        words = self.words(name, row)
        at = words.index("--") if "--" in words else len(words)
        code, out, err = run(words[:at] + ["-o", form] + words[at:], self.place, KUBECONFIG=str(self.kubeconfig), ALIQUOT_JOBS=self.socket)
        self.assertEqual(code, row.code, f"aliquot {' '.join(words)} -o {form}: {out[:500]}{err[:500]}")
        return json.loads(out) if form == "json" else list(yaml.load_all(out, Loader=yaml.CSafeLoader))

    def leaves(self):
        for page in sorted(self.pages.glob("aliquot-*.1")):
            text = page.read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
            if ".SH COMMANDS" not in text:
                name = re.search(r"^aliquot ((?:[a-z-]+ ?)+)", text[text.index(".SH SYNOPSIS"):], re.M)
                yield name.group(1).strip(), text

    def test_every_command_has_an_example_and_none_is_without_an_answer(self):
        for name, text in self.leaves():
            with self.subTest(command=name):
                self.assertIn(".SH EXAMPLES\n", text)
                form = re.search(r"^-o, --output FORMAT.*\((.*)\)$|^--output, -o .*\((.*)\)$", text, re.M)
                forms = (form.group(1) or form.group(2)).split(", ") if form else []
                self.assertEqual("json" in forms, name in ANSWERS, f"a row of ANSWERS for it: {forms}")
                self.assertEqual("json" in forms, "yaml" in forms, forms)

    def test_each_answer_is_as_its_schema_says_and_the_same_as_yaml(self):
        for name, rows in ANSWERS.items():
            for row in rows:
                with self.subTest(command=name, words=row.words):
                    told = self.answer(name, row, "json")
                    if os.environ.get("ANSWERS_DUMP"):
                        with open(os.environ["ANSWERS_DUMP"], "a") as dump:
                            dump.write(json.dumps([name, row.kind, told]) + "\n")
                    documents = self.answer(name, row, "yaml") if name != "install" else [told]
                    self.assertEqual(len(documents), 1)
                    if row.moves:
                        self.assertEqual(shape(documents[0]), shape(told))
                    else:
                        self.assertEqual(documents[0], told)
                    if not row.kind:
                        continue
                    self.assertEqual((told["apiVersion"], told["kind"]), ("aliquot.dev/v1", row.kind))
                    jsonschema.validate(told, {**SCHEMA, "oneOf": [{"$ref": "#/$defs/" + row.kind}]})
                    for key, beside in keys_of(told):
                        self.assertTrue("_" not in key or camel_case(key) in beside, f"{key} has no name in camelCase")

    def test_the_schema_is_one_and_each_kind_of_it_is_some_answer(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        kinds = {row.kind for rows in ANSWERS.values() for row in rows if row.kind}
        listed = {one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]}
        self.assertEqual(listed, kinds | {"NodeStateList"})
        for kind in listed:
            self.assertEqual(SCHEMA["$defs"][kind]["properties"]["kind"], {"const": kind})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
