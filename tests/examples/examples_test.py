#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples_test.py BIN: the files of an example agree with each other and with what our commands print.

The same taint stands in Terraform, in the pool, in the chart's values and in the runners' pods, and a cluster where one of them
differs has nodes on which nothing runs. `aliquot lint` and `aliquot up` have tests of their own (lint_own_documents, console_*)."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema
import yaml

ALIQUOT = pathlib.Path(sys.argv.pop(1)).resolve() / "aliquot"
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
USES = ("a100-vision", "a2-tts-stt", "gtx1070-two-detectors", "t4-ci-runner", "v100-a100-job")
RUNNERS = EXAMPLES / "t4-ci-runner"


def aliquot(*words):
    done = subprocess.run([ALIQUOT, *words], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"aliquot {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def terraform_map(text, name):
    """The entries of `name = { "key" = "value" ... }`, of one line each."""
    body = re.search(rf"^ *{name} += {{$(.*?)^ *}}$", text, re.S | re.M)
    assert body, f"no map {name}"
    return dict(re.findall(r'^ *"?([\w./-]+)"? += "(.*?)"', body.group(1), re.M))


class Values(unittest.TestCase):
    def test_the_chart_takes_them(self):
        schema = json.loads((ROOT / "deploy/helm/aliquot/values.schema.json").read_text())
        for use in USES:
            with self.subTest(use):
                jsonschema.validate(yaml.safe_load((EXAMPLES / use / "cluster/values.yaml").read_text()), schema)

    def test_they_share_gpus_as_the_configuration_does_that_aliquot_up_is_given(self):
        for use in USES:
            with self.subTest(use):
                values = yaml.safe_load((EXAMPLES / use / "cluster/values.yaml").read_text())
                self.assertEqual(yaml.safe_load(values["config"]["default"]), yaml.safe_load((EXAMPLES / use / "config.yaml").read_text()))

    def test_every_configuration_in_them_is_taken(self):
        for use in USES:
            values = yaml.safe_load((EXAMPLES / use / "cluster/values.yaml").read_text())
            for key, text in values["config"].items():
                with self.subTest(f"{use} {key}"):
                    done = subprocess.run([ALIQUOT, "config", "check", "-"], input=text, capture_output=True, text=True, timeout=120, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Runners(unittest.TestCase):
    """Terraform's nodes are what the jobs' pods ask for, and what the autoscaler is told of."""

    @classmethod
    def setUpClass(cls):
        cls.terraform = (RUNNERS / "terraform/main.tf").read_text()
        cls.pool = RUNNERS / "cluster/pool.yaml"
        objects = aliquot("runner", "values", cls.pool, "--url", "https://github.com/org/repo", "--objects")
        cls.pod = yaml.safe_load(next(yaml.safe_load_all(objects))["data"]["job.yaml"])["spec"]

    def test_nodes_have_the_labels_that_a_job_selects(self):
        labels = terraform_map(self.terraform, "labels")
        self.assertTrue(self.pod["nodeSelector"])
        self.assertLessEqual(self.pod["nodeSelector"].items(), labels.items())

    def test_a_job_tolerates_the_taint_of_the_nodes(self):
        taint = {**terraform_map(self.terraform, "taint"), "operator": "Equal", "effect": "NoSchedule"}
        self.assertIn(taint, self.pod["tolerations"])
        self.assertRegex(self.terraform, r'effect = "NO_SCHEDULE"')

    def test_the_agent_goes_to_these_nodes(self):
        values = yaml.safe_load((RUNNERS / "cluster/values.yaml").read_text())
        self.assertLessEqual(values["agent"]["nodeSelector"].items(), terraform_map(self.terraform, "labels").items())
        taint = terraform_map(self.terraform, "taint")
        self.assertEqual(values["taint"], f"{taint['key']}={taint['value']}:NoSchedule")

    # R87.
    def test_the_image_of_a_node_has_persistence_mode_on(self):
        text = (RUNNERS / "packer/gpu-node.pkr.hcl").read_text()
        self.assertIn("systemctl enable --now nvidia-persistenced", text)
        self.assertIn("--query-gpu=persistence_mode", text)
        self.assertIn("amazon-eks-node-al2023-x86_64-nvidia", text)

    def test_tags_are_those_of_the_pool(self):
        tags = yaml.safe_load(aliquot("pool", "render", self.pool, "--tags"))
        self.assertEqual(terraform_map(self.terraform, "autoscaler_tags"), {key: str(value) for key, value in tags.items()})

    def test_groups_have_the_machines_and_the_limits_of_the_pool(self):
        pool = yaml.safe_load(self.pool.read_text())["spec"]
        self.assertEqual(json.loads(re.search(r"instance_types += (\[.*?\])", self.terraform).group(1)), pool["instances"])
        self.assertEqual(int(re.search(r"max_size += (\d+)", self.terraform).group(1)), pool["max"])
        self.assertEqual(int(re.search(r"min_size += (\d+)", self.terraform).group(1)), pool["min"])


class Autoscalers(unittest.TestCase):
    # R85.
    def test_both_have_the_bounds_of_the_service(self):
        for name, metric in (("autoscaler", ("Pods", "gpu_share_utilization", {"type": "AverageValue", "averageValue": "70"})),
                             ("autoscaler-cpu", ("Resource", "cpu", {"type": "Utilization", "averageUtilization": 60}))):
            spec = yaml.safe_load((EXAMPLES / f"a100-vision/cluster/{name}.yaml").read_text())["spec"]
            self.assertEqual((spec["minReplicas"], spec["maxReplicas"]), (2, 6))
            (told,) = spec["metrics"]
            source = told[told["type"].lower()]
            self.assertEqual((told["type"], source.get("name") or source["metric"]["name"], source["target"]), metric)


class Scripts(unittest.TestCase):
    def test_a_shell_takes_them_and_they_can_be_run(self):
        scripts = sorted(EXAMPLES.rglob("host/*.sh"))
        self.assertEqual(len(scripts), 4)
        for script in scripts:
            with self.subTest(script.parent.parent.name):
                done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(script.stat().st_mode & 0o100)
                self.assertIn("set -eu", script.read_text())


class Pages(unittest.TestCase):
    def test_every_use_has_its_tutorial_and_stands_in_the_tables(self):
        pages = "".join(page.read_text() for page in (ROOT / "docs/tutorial").glob("*.md"))
        table = (EXAMPLES / "README.md").read_text()
        for use in USES:
            self.assertIn(f"examples/{use})", pages, use)
            self.assertIn(f"({use})", table, use)

    def test_every_file_of_a_use_is_told_of(self):
        told = "".join(page.read_text() for page in [*(ROOT / "docs/tutorial").glob("*.md"), EXAMPLES / "README.md"])
        for use in USES:
            for file in sorted((EXAMPLES / use).rglob("*")):
                inner = file.relative_to(EXAMPLES / use)
                if file.is_file() and str(inner.parent) != ".":
                    folder = f"{inner.parts[0]}/"
                    self.assertTrue(str(inner) in told or f"{use}/{inner.parts[0]}" in told, f"{use}: nothing tells of {folder}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
