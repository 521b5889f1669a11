#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/monitoring keeps its promises: names are in the catalogue, the dashboard is well-formed, alerts are explained."""
import json
import re
import subprocess
import sys
import unittest

import queries


class Files(unittest.TestCase):
    def test_generated_files_are_what_the_generator_writes(self):
        run = subprocess.run([sys.executable, queries.DEPLOY / "generate.py", "--check"], capture_output=True, text=True,
                             timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_the_scanner_knows_names_from_words(self):
        text = 'sum by (node) (rate(a_total{b="c d"}[5m])) / on (x) group_left () e:f:g * 3.6e6 or vector(0) and h offset 5m'
        self.assertEqual(queries.metrics_in(text), {"a_total", "e:f:g", "h"})

    def test_every_metric_in_every_query_is_in_the_catalogue(self):
        known = (queries.catalogue() - queries.by_choice()) | queries.records() | queries.FOREIGN | queries.controller() | queries.vision_worker()
        everything = list(queries.dashboard_queries()) + list(queries.rule_queries()) + list(queries.recipe_queries())
        self.assertGreater(len(everything), 100)
        for where, query in everything:
            names = queries.metrics_in(query)
            self.assertTrue(names, f"{where}: no metric in {query}")
            self.assertLessEqual(names, known, f"{where}: not in api/metrics.yaml: {names - known}: {query}")

    def test_every_record_is_used_in_the_dashboard(self):
        ours = json.loads((queries.DEPLOY / "dashboard.json").read_text())
        used = set().union(*(queries.metrics_in(q) for _, q in queries.dashboard_queries(ours)),
                           *(queries.metrics_in(q) for _, q in queries.rule_queries()))
        self.assertLessEqual(queries.records(), used)

    def test_dashboards_can_be_imported(self):
        boards = queries.dashboards()
        self.assertEqual(len(boards), 6, "one for the GPUs, and one for each use")
        self.assertEqual(len({board["uid"] for board in boards.values()}), len(boards))
        for path, board in boards.items():
            with self.subTest(path):
                self.check_import(board)

    def check_import(self, board):
        self.assertEqual(board["schemaVersion"], 39)
        self.assertIsNone(board["id"])
        self.assertLessEqual(len(board["uid"]), 40, "Grafana's limit")
        self.assertNotIn("__inputs", board)
        ids = [panel["id"] for panel in queries.panels(board)]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in queries.panels(board):
            if panel["type"] == "row":
                continue
            self.assertEqual(panel["datasource"]["uid"], "${datasource}", panel["title"])
            for target in panel["targets"]:
                self.assertEqual(target["datasource"]["uid"], "${datasource}", panel["title"])
            refs = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(refs), len(set(refs)), panel["title"])
        names = {variable["name"] for variable in board["templating"]["list"]}
        self.assertLessEqual({"datasource", "node", "gpu", "namespace", "pod"}, names)

    def test_panels_do_not_overlap(self):
        groups = []
        for board in queries.dashboards().values():
            groups += [board["panels"]] + [p["panels"] for p in board["panels"] if p.get("panels")]
        for group in groups:
            taken = {}
            for panel in group:
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
                for x in range(place["x"], place["x"] + place["w"]):
                    for y in range(place["y"], place["y"] + place["h"]):
                        self.assertNotIn((x, y), taken, f"{panel['title']} lies on {taken.get((x, y))}")
                        taken[x, y] = panel["title"]

    def test_every_alert_has_its_section_and_its_link(self):
        page = (queries.ROOT / "docs" / "guide" / "alerts.md").read_text()
        sections = re.findall(r"^## (Gpu\w+)$", page, re.M)
        self.assertEqual(sorted(sections), sorted(queries.alerts()))
        rules = (queries.DEPLOY / "rules.yaml").read_text()
        for block in re.split(r"\n +- alert: ", rules)[1:]:
            name = block.split("\n", 1)[0]
            self.assertIn(f"docs/guide/alerts.md#{name.lower()}\n", block + "\n", name)
            self.assertRegex(block, r"severity: (critical|warning|info)", name)

    def test_every_alert_is_tried_by_promtool(self):
        tried = set(re.findall(r"^ +alertname: (\w+)$", (queries.DEPLOY / "rules_test.yaml").read_text(), re.M))
        self.assertEqual(tried, set(queries.alerts()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
