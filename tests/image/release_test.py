#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The release workflow: what it may do, whose code it runs, and that its steps fit this tree. It is not run here."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / ".github/workflows/release.yaml").read_text()
WORKFLOW = yaml.safe_load(TEXT)


def steps(job):
    return WORKFLOW["jobs"][job]["steps"]


class Release(unittest.TestCase):
    def test_actions_are_named_by_commit(self):
        for job in WORKFLOW["jobs"]:
            for step in steps(job):
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$")

    def test_no_secret_is_used_and_rights_are_those_of_each_job(self):
        self.assertNotIn("secrets.", TEXT)
        self.assertEqual(WORKFLOW["permissions"], {})
        self.assertEqual(WORKFLOW["jobs"]["check"]["permissions"], {"contents": "read"})
        self.assertEqual(
            WORKFLOW["jobs"]["image"]["permissions"],
            {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        )
        for job in WORKFLOW["jobs"].values():
            self.assertIn("timeout-minutes", job)

    def test_names_that_strangers_choose_never_enter_a_shell_by_expansion(self):
        for job in WORKFLOW["jobs"]:
            for step in steps(job):
                self.assertNotIn("${{", step.get("run", ""))

    def test_what_is_signed_and_attested_is_the_digest_that_was_pushed(self):
        image = steps("image")
        digest = "${{ steps.push.outputs.digest }}"
        pushed = next(i for i, step in enumerate(image) if step.get("id") == "push")
        signed = next(i for i, step in enumerate(image) if "cosign sign" in step.get("run", ""))
        told = next(i for i, step in enumerate(image) if "attest-build-provenance" in step.get("uses", ""))
        self.assertLess(pushed, signed)
        self.assertLess(pushed, told)
        self.assertEqual(image[signed]["env"]["DIGEST"], digest)
        self.assertNotRegex(image[signed]["run"], r"cosign (sign|attest)[^\n]*:v?[0-9$]")  # never a tag
        self.assertEqual(image[told]["with"]["subject-digest"], digest)
        self.assertEqual(WORKFLOW["jobs"]["image"]["needs"], "check")

    def test_the_step_that_compares_the_tag_knows_the_version(self):
        run = next(s["run"] for s in steps("image") if s.get("name") == "the tag is the version")
        version = re.search(r"project\(aliquot VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        for tag, code in (("v" + version, 0), ("v9.9.9", 1)):
            environment = dict(os.environ, GITHUB_REF_NAME=tag)
            done = subprocess.run(["sh", "-c", run], cwd=ROOT, env=environment, check=False)
            self.assertEqual(done.returncode, code, tag)

    def test_files_that_its_steps_name_are_made_by_this_tree(self):
        made = (ROOT / "cmake/aliquot_image.cmake").read_text()
        self.assertIn("aliquot-image.tar", made)
        self.assertIn("ALIQUOT_IMAGE_REFERENCE", made)
        self.assertTrue((ROOT / "check").exists())
        self.assertIn("sbom.spdx.json", (ROOT / "deploy/image/assemble.py").read_text())


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
