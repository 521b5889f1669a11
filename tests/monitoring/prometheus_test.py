#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every query of the dashboard, the rules and the recipes runs in a real Prometheus and returns data.

Prometheus scrapes the renderer's own cases, each as a node of its own, a little of kube-state-metrics, and a real agent
on a simulated node with pods that compute. Ends with 77 (skipped) where prometheus or promtool is not installed.

prometheus_test.py BIN    the folder of the programs
"""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import queries
import real_node
import scenes

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE_S = 60  # for a machine that is busy with other things

# What guides for GPU clusters tell people to ask, as they write it.
GUIDES = [
    "nvidia_gpu_utilization",
    "nvidia_gpu_memory_used_bytes",
    "nvidia_gpu_temperature_celsius",
    'DCGM_FI_DEV_GPU_UTIL{kubernetes_node="gpu-node-1"}',
    'DCGM_FI_DEV_FB_USED{kubernetes_node="gpu-node-1"}',
    'DCGM_FI_DEV_GPU_TEMP{kubernetes_node="gpu-node-1"}',
    'DCGM_FI_DEV_GPU_UTIL{pod=~"cat-watcher.*"}',
    'DCGM_FI_DEV_FB_USED{pod=~"cat-watcher.*"}',
    'DCGM_FI_DEV_FB_FREE{pod=~"cat-watcher.*"}',
]
# Of the dashboard 12239 that they import.
ANYWHERE = '{instance=~".*",gpu=~".*"}'
DASHBOARD_12239 = [
    f"DCGM_FI_DEV_GPU_TEMP{ANYWHERE}", f"avg(DCGM_FI_DEV_GPU_TEMP{ANYWHERE})", f"DCGM_FI_DEV_POWER_USAGE{ANYWHERE}",
    f"sum(DCGM_FI_DEV_POWER_USAGE{ANYWHERE})", f"DCGM_FI_DEV_SM_CLOCK{ANYWHERE} * 1000000", f"DCGM_FI_DEV_GPU_UTIL{ANYWHERE}",
    f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{ANYWHERE}", f"DCGM_FI_DEV_FB_USED{ANYWHERE}",
]
CASES = ["time_sliced_four", "time_sliced_four_pods", "mig_h100", "mps_two", "exclusive_a2", "degraded", "driver_lost", "gtx_1070", "mig_a100"]
# What the real agent's node has not got, with the reason.
ABSENT = {
    "gpu_retired_pages": "its GPUs remap rows", "gpu_retired_pages_pending": "its GPUs remap rows",
    "gpu_instance_busy_seconds_total": "no MIG", "gpu_instance_memory_used_bytes": "no MIG",
    "gpu_instance_memory_total_bytes": "no MIG", "gpu_mig_device_healthy": "no MIG",
    "gpu_context_switch_ratio": "the simulated H100 does not tell it",
    "aliquot_agent_nvml_errors_total": "no call has failed",
    "aliquot_agent_scrape_duration_seconds": "it is asked by its socket", "aliquot_agent_scrape_bytes": "it is asked by its socket",
}
# What the controller, vision workers and the listeners of Actions Runner Controller tell.
OTHERS = """\
aliquot_cost_total{owner="team-a",state="busy"} 3.6
aliquot_cost_gpu_seconds_total{owner="team-a",state="busy"} 3600
aliquot_placement_gated_pods 2
aliquot_placement_oldest_gated_seconds 40
aliquot_placement_waiting_gangs 1
aliquot_placement_evicted_pods_total 3
aliquot_pool_nodes{pool="lab",state="present"} 2
aliquot_pool_waiting_pods{pool="lab"} 1
vision_requests_total{namespace="team-a",pod="cat-watcher-1",code="200"} 100
vision_requests_waiting{namespace="team-a",pod="cat-watcher-1"} 3
vision_request_duration_seconds_bucket{namespace="team-a",pod="cat-watcher-1",le="0.1"} 90
vision_request_duration_seconds_bucket{namespace="team-a",pod="cat-watcher-1",le="+Inf"} 100
vision_request_duration_seconds_sum{namespace="team-a",pod="cat-watcher-1"} 5
vision_request_duration_seconds_count{namespace="team-a",pod="cat-watcher-1"} 100
vision_stage_duration_seconds_sum{namespace="team-a",pod="cat-watcher-1",stage="run"} 4
vision_batch_size_sum{namespace="team-a",pod="cat-watcher-1"} 100
vision_batch_size_count{namespace="team-a",pod="cat-watcher-1"} 25
vision_batch_limit{namespace="team-a",pod="cat-watcher-1"} 8
vision_out_of_memory_total{namespace="team-a",pod="cat-watcher-1"} 1
vision_session_rebuilds_total{namespace="team-a",pod="cat-watcher-1"} 1
gha_job_startup_duration_seconds_bucket{repository="r",job_workflow_name="test",le="10"} 9
gha_job_startup_duration_seconds_bucket{repository="r",job_workflow_name="test",le="+Inf"} 10
gha_job_execution_duration_seconds_bucket{repository="r",job_workflow_name="test",job_result="success",le="600"} 9
gha_job_execution_duration_seconds_bucket{repository="r",job_workflow_name="test",job_result="success",le="+Inf"} 10
gha_job_execution_duration_seconds_sum{repository="r",job_workflow_name="test",job_result="success"} 3000
gha_job_execution_duration_seconds_count{repository="r",job_workflow_name="test",job_result="success"} 10
"""
# No case has these; the agent itself adds them to what it renders, a GPU with GPM has the second kind.
REST = """\
aliquot_agent_scrapes_total{node="gpu-node-1"} 10
aliquot_agent_scrape_bytes{node="gpu-node-1"} 40000
aliquot_agent_scrape_duration_seconds{node="gpu-node-1"} 0.001
process_resident_memory_bytes 30000000
process_cpu_seconds_total 12.5
gpu_pcie_tx_bytes_per_second{node="gpu-node-2",gpu="0",uuid="GPU-2"} 1000
gpu_pcie_rx_bytes_per_second{node="gpu-node-2",gpu="0",uuid="GPU-2"} 1000
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """A server of its own, gone with everything it wrote when it is closed."""

    def __init__(self, targets):
        """targets: (job, address, path)"""
        self.folder = tempfile.TemporaryDirectory(prefix="aliquot-prometheus-")
        place = pathlib.Path(self.folder.name)
        rules = (queries.DEPLOY / "rules.yaml").read_text()
        # The same rules, without waiting.
        rules = re.sub(r"\n +for: .*", "", rules).replace("interval: 30s", "interval: 1s")
        (place / "rules.yaml").write_text(rules)
        config = "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [rules.yaml]\nscrape_configs:\n"
        for job, address, path in targets:
            config += (f"  - job_name: '{job}{path}'\n    honor_labels: true\n    metrics_path: {path}\n"
                       f"    static_configs:\n      - targets: ['{address}']\n"
                       f"        labels: {{job: {job}, instance: '{address}{path}'}}\n")
        (place / "prometheus.yaml").write_text(config)
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = (place / "log").open("w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={place / 'prometheus.yaml'}", f"--storage.tsdb.path={place / 'data'}",
             f"--web.listen-address={self.url[7:]}", "--log.level=warn"], stdout=self.log, stderr=self.log)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def get(self, path, **parameters):
        url = f"{self.url}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as problem:
            return json.load(problem)

    def query(self, text):
        """The result's rows; raises what Prometheus says against it."""
        answer = self.get("/api/v1/query", query=text)
        if answer["status"] != "success":
            raise ValueError(answer.get("error"))
        result = answer["data"]["result"]
        return result if isinstance(result, list) else [result]

    def wait_for(self, text):
        """Until the query has data."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.log.seek(0)
                raise RuntimeError("prometheus ended: " + self.log.read())
            try:
                if self.query(text):
                    return
            except (OSError, ValueError, KeyError):
                pass
            time.sleep(0.1)  # between two looks
        raise RuntimeError(f"no data within {PATIENCE_S} s: {text}")


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pages = {f"/{case}": scenes.Scene(case, f"gpu-node-{i + 1}", i + 1) for i, case in enumerate(CASES)}
        pages["/kube"] = lambda: scenes.KUBE_STATE
        pages["/rest"] = lambda: REST
        pages["/others"] = lambda: OTHERS
        cls.node = real_node.RealNode(BIN)
        pages["/agent"] = cls.node.metrics
        cls.server = scenes.Server(pages)
        targets = [({"/kube": "kube-state-metrics", "/others": "others"}.get(path, "aliquot-agent"), cls.server.address, path) for path in pages]
        cls.prometheus = Prometheus(targets)
        try:
            cls.node.wait_for('pod="cat-watcher-1"', PATIENCE_S)
            cls.prometheus.wait_for(f'sum(up{{job="aliquot-agent"}}) >= {len(pages) - 2}')
            # Counters have two samples, and rules that build on rules have been evaluated.
            cls.prometheus.wait_for("namespace:gpu_used_cost:per_hour")
            cls.prometheus.wait_for("gpu_pod:idle_held:rate1h")
            cls.prometheus.wait_for('ALERTS{alertstate="firing"}')
            cls.prometheus.wait_for('gpu_pod:busy:rate5m{node="real-node",pod="cat-watcher-1"} > 0.01')
        except RuntimeError:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.prometheus.close()
        cls.node.close()
        cls.server.shutdown()
        cls.server.server_close()

    def expect_data(self, all_queries):
        empty = []
        for where, query in all_queries:
            try:
                if not self.prometheus.query(query):
                    empty.append(f"{where}: no data: {query}")
            except ValueError as problem:
                empty.append(f"{where}: {problem}: {query}")
        self.assertEqual(empty, [], "\n" + "\n".join(empty))

    def test_every_target_is_scraped_without_a_word(self):
        for target in self.prometheus.get("/api/v1/targets")["data"]["activeTargets"]:
            self.assertEqual((target["health"], target["lastError"]), ("up", ""), target["scrapeUrl"])

    def test_every_query_of_the_dashboards_returns_data(self):
        self.expect_data([(where, queries.filled(query)) for where, query in queries.dashboard_queries()])

    def test_the_dashboard_of_a_real_agent_is_full(self):
        ours = json.loads((queries.DEPLOY / "dashboard.json").read_text())
        self.expect_data([(where, queries.filled(query, "real-node")) for where, query in queries.dashboard_queries(ours)
                          if "$node" in query and 'gi!=""' not in query and not queries.metrics_in(query) & set(ABSENT)])

    def test_a_real_agent_tells_the_pods_of_a_shared_gpu_apart(self):
        for query in GUIDES:
            real = query.replace("gpu-node-1", "real-node").replace('{pod', '{kubernetes_node="real-node",pod')
            rows = self.prometheus.query(real)
            self.assertTrue(rows, real)
            if "cat-watcher" in query:
                self.assertEqual({row["metric"]["pod"] for row in rows}, {"cat-watcher-0", "cat-watcher-1"}, real)
        busy = {row["metric"]["pod"]: float(row["value"][1])
                for row in self.prometheus.query('sum by (pod) (gpu_pod_busy_seconds_total{node="real-node"})')}
        self.assertGreater(busy["cat-watcher-0"], 0)
        self.assertGreater(busy["cat-watcher-1"], 0)
        self.assertEqual(busy["notebook-anna"], 0)

    def test_every_rule_is_evaluated_and_every_record_has_data(self):
        groups = self.prometheus.get("/api/v1/rules")["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual(len(rules), len(queries.records()) + len(queries.alerts()))
        for rule in rules:
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
        self.expect_data([("record", name) for name in queries.records()])

    def test_faults_fire_alerts_and_a_healthy_node_none_of_its_gpus(self):
        firing = {(row["metric"]["alertname"], row["metric"].get("node"))
                  for row in self.prometheus.query('ALERTS{alertstate="firing"}')}
        lost = f"gpu-node-{CASES.index('driver_lost') + 1}"
        degraded = f"gpu-node-{CASES.index('degraded') + 1}"
        self.assertIn(("GpuUnhealthy", lost), firing)
        self.assertIn(("GpuAttributionDegraded", degraded), firing)
        # GpuIdle looks back two hours, of which this server has seen seconds.
        healthy = {name for name, node in firing if node == f"gpu-node-{CASES.index('exclusive_a2') + 1}"} - {"GpuIdle"}
        self.assertEqual(healthy, set())

    def test_the_queries_of_guides_and_of_dashboard_12239_return_data(self):
        self.expect_data([("guide", query) for query in GUIDES] + [("12239", query) for query in DASHBOARD_12239])

    def test_the_queries_of_the_recipes_return_data(self):
        self.expect_data(queries.recipe_queries())

    def test_the_parts_of_a_shared_gpu_add_up(self):
        """Over the whole way: what the rows of pods and the rest sum to is what the GPU reports."""
        for node in self.prometheus.query("count by (node) (gpu_pod_info)"):
            name = node["metric"]["node"]
            total = self.prometheus.query(f'sum(gpu_memory_used_bytes{{node="{name}"}})')
            parts = self.prometheus.query(f'sum(gpu_pod_memory_used_bytes{{node="{name}"}}) + '
                                          f'sum(gpu_unattributed_memory_bytes{{node="{name}"}})')
            if total and parts:
                self.assertAlmostEqual(float(total[0]["value"][1]), float(parts[0]["value"][1]), 6, name)


class Promtool(unittest.TestCase):
    def run_promtool(self, *words):
        run = subprocess.run(["promtool", *words], cwd=queries.DEPLOY, capture_output=True, text=True, timeout=60,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_rules_are_well_formed(self):
        self.run_promtool("check", "rules", "rules.yaml")

    def test_the_scrape_config_is_well_formed(self):
        """But for the discovery by Kubernetes, which Debian's build leaves out."""
        text = (queries.DEPLOY / "scrape-config.yaml").read_text()
        with tempfile.TemporaryDirectory(prefix="aliquot-promtool-") as folder:
            place = pathlib.Path(folder)
            shutil.copy(queries.DEPLOY / "rules.yaml", place)
            static, count = re.subn(r" kubernetes_sd_configs:\n(      .*\n)+", " static_configs: [{targets: [a]}]\n", text)
            self.assertEqual(count, 1)
            (place / "config.yaml").write_text(static)
            self.run_promtool("check", "config", str(place / "config.yaml"))

    def test_alerts_fire_on_faults_and_not_on_a_healthy_node(self):
        self.run_promtool("test", "rules", "rules_test.yaml")

    def test_the_exposition_is_clean(self):
        for case in CASES:
            text = (scenes.CASES / f"{case}.txt").read_text()
            ours = "".join(line + "\n" for line in text.splitlines() if re.match(r"(# \w+ )?(gpu_|aliquot_)", line))
            run = subprocess.run(["promtool", "check", "metrics"], input=ours, capture_output=True, text=True, timeout=60,
                                 check=False)
            self.assertEqual(run.returncode, 0, f"{case}: {run.stdout}{run.stderr}")


if __name__ == "__main__":
    missing = [name for name in ("prometheus", "promtool") if not shutil.which(name)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed (Debian: prometheus)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
