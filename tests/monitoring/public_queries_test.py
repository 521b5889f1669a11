#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every query of public_queries.txt answers on shared GPUs what it would on whole ones.

Two Prometheus servers have the same three hours. One has the pages of a real agent whose GPUs are shared and of the
renderer's own cases, as they are told by default; the other has one row per GPU and family, made here of what the
GPU itself reports (gpu_*), with the labels of NVIDIA's exporter. Ends with 77 (skipped) where prometheus or promtool is
not installed.

public_queries_test.py BIN    the folder of the programs
"""
import json
import math
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

import real_node
import scenes

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
QUERIES = pathlib.Path(__file__).with_name("public_queries.txt")
PATIENCE_S = 60  # for a machine that is busy with other things
CASES = ["time_sliced_four", "mps_two", "exclusive_a2", "gtx_1070"]
BEGIN_S = 1_790_000_000
STEP_S = 60
STEPS = 180
WITH_DATA = 200  # the least number of queries that find something

# family of NVIDIA's exporter -> ours, its labels, factor; whole numbers are rounded down
TRUTH = {
    "DCGM_FI_DEV_SM_CLOCK": ("gpu_clock_hertz", {"clock": "sm"}, 1e-6),
    "DCGM_FI_DEV_MEM_CLOCK": ("gpu_clock_hertz", {"clock": "memory"}, 1e-6),
    "DCGM_FI_DEV_MEMORY_TEMP": ("gpu_temperature_celsius", {"sensor": "memory"}, 1),
    "DCGM_FI_DEV_GPU_TEMP": ("gpu_temperature_celsius", {"sensor": "gpu"}, 1),
    "DCGM_FI_DEV_POWER_USAGE": ("gpu_power_watts", {}, 1),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("gpu_energy_joules_total", {}, 1000),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": ("gpu_pcie_replays_total", {}, 1),
    "DCGM_FI_DEV_GPU_UTIL": ("gpu_utilization_ratio", {}, 100),
    "DCGM_FI_DEV_MEM_COPY_UTIL": ("gpu_memory_busy_ratio", {}, 100),
    "DCGM_FI_DEV_ENC_UTIL": ("gpu_encoder_utilization_ratio", {}, 100),
    "DCGM_FI_DEV_DEC_UTIL": ("gpu_decoder_utilization_ratio", {}, 100),
    "DCGM_FI_DEV_FB_FREE": ("gpu_memory_free_bytes", {}, 2**-20),
    "DCGM_FI_DEV_FB_USED": ("gpu_memory_used_bytes", {}, 2**-20),
    "DCGM_FI_DEV_FB_RESERVED": ("gpu_memory_reserved_bytes", {}, 2**-20),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": ("gpu_remapped_rows", {"cause": "uncorrected"}, 1),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": ("gpu_remapped_rows", {"cause": "corrected"}, 1),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("gpu_row_remap_failure", {}, 1),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("gpu_prof_graphics_active_ratio", {}, 1),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("gpu_prof_tensor_active_ratio", {}, 1),
    "DCGM_FI_PROF_DRAM_ACTIVE": ("gpu_prof_dram_active_ratio", {}, 1),
    "DCGM_FI_PROF_PCIE_TX_BYTES": ("gpu_pcie_tx_bytes_per_second", {}, 1),
    "DCGM_FI_PROF_PCIE_RX_BYTES": ("gpu_pcie_rx_bytes_per_second", {}, 1),
}
WHOLE = {"gpu_memory_free_bytes", "gpu_memory_used_bytes", "gpu_memory_reserved_bytes"}
COUNTERS = {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 150_000, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": 0.05}  # a second


def rows(text):
    """(family, labels, value) of an exposition."""
    for line in text.splitlines():
        if found := re.fullmatch(r"(\w+)\{(.*)\} (\S+)(?: \d+)?", line):
            labels = dict(re.findall(r'(\w+)="((?:\\.|[^"\\])*)"', found.group(2)))
            yield found.group(1), labels, float(found.group(3))


def truth_of(text):
    """One row for each GPU and family, from what the GPU reports."""
    own = list(rows(text))
    gpus = {labels["gpu"]: labels for family, labels, _ in own if family == "gpu_info"}
    for gpu, info in gpus.items():
        head = {"gpu": gpu, "UUID": info["uuid"], "pci_bus_id": info["pci_bus_id"], "device": "nvidia" + info["minor"],
                "modelName": info["model"], "Hostname": info["node"], "kubernetes_node": info["node"],
                "DCGM_FI_DRIVER_VERSION": info["driver_version"]}
        xids = [(value, labels["xid"]) for ours, labels, value in own
                if ours == "gpu_xid_last_timestamp_seconds" and labels["gpu"] == gpu]
        last = max(xids)[1] if xids else "0"
        yield "DCGM_FI_DEV_XID_ERRORS", {**head, "err_code": last}, float(last)
        yield "DCGM_FI_DEV_VGPU_LICENSE_STATUS", head, 0.0
        for family, (name, want, factor) in TRUTH.items():
            values = [value for ours, labels, value in own
                      if ours == name and labels["gpu"] == gpu and want.items() <= labels.items()]
            if not values and family == "DCGM_FI_PROF_GR_ENGINE_ACTIVE":  # before Hopper it is the utilization
                values = [value for ours, labels, value in own if ours == "gpu_utilization_ratio" and labels["gpu"] == gpu]
            for value in values:
                yield family, head, math.floor(value * factor) if name in WHOLE else value * factor


def at(family, labels, value, passed):
    """The value some seconds later: counters grow, all else swings, each GPU in its own way. Linear in the value."""
    number = sum(map(ord, labels["UUID"])) % 7 + 1
    if family in COUNTERS:
        return value + passed * COUNTERS[family] * number
    if family.startswith("DCGM_FI_DEV_FB_") or family == "DCGM_FI_DEV_XID_ERRORS":
        return value
    return value * (1 + 0.3 * math.sin(passed / 600 + number))


def history(series):
    """OpenMetrics of three hours."""
    out = []
    for family in sorted({name for name, _, _ in series}):
        out.append(f"# TYPE {family} unknown")
        for name, labels, value in series:
            if name != family:
                continue
            labels = {**labels, "instance": labels["Hostname"] + ":9400"}
            text = ",".join(f'{key}="{word}"' for key, word in labels.items())
            for step in range(STEPS):
                passed = step * STEP_S
                out.append(f"{family}{{{text}}} {at(family, labels, value, passed):.9g} {BEGIN_S + passed}")
    return "\n".join(out) + "\n# EOF\n"


class Past:
    """A Prometheus server that has three hours and scrapes nothing."""

    def __init__(self, series):
        self.folder = tempfile.TemporaryDirectory(prefix="aliquot-past-")
        place = pathlib.Path(self.folder.name)
        (place / "past").write_text(history(series))
        (place / "prometheus.yaml").write_text("global: {scrape_interval: 1h}\n")
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", str(place / "past"), str(place / "data")],
                       check=True, capture_output=True, timeout=PATIENCE_S * 3)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self.log = (place / "log").open("w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={place / 'prometheus.yaml'}", f"--storage.tsdb.path={place / 'data'}",
             "--storage.tsdb.retention.time=100y", f"--web.listen-address={self.url[7:]}", "--log.level=warn"],
            stdout=self.log, stderr=self.log)
        end = time.monotonic() + PATIENCE_S
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                text = self.log.read()
                self.close()
                raise RuntimeError("prometheus does not answer: " + text)
            time.sleep(0.1)  # between two looks

    def ready(self):
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=20) as answer:
                return answer.status == 200
        except OSError:
            return False

    def query(self, text):
        """Rows as (labels, value), in order; raises what Prometheus says against it."""
        asked = urllib.parse.urlencode({"query": text, "time": BEGIN_S + (STEPS - 1) * STEP_S})
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?{asked}", timeout=60) as answer:
                data = json.load(answer)["data"]
        except urllib.error.HTTPError as problem:
            raise ValueError(json.load(problem).get("error")) from None
        if data["resultType"] == "scalar":
            return [((), float(data["result"][1]))]
        return sorted((tuple(sorted(row["metric"].items())), float(row["value"][1])) for row in data["result"])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()


def public_queries():
    return [line for line in QUERIES.read_text().splitlines() if line and not line.startswith("#")]


def alike(found, truth):
    return len(found) == len(truth) and all(
        ours[0] == theirs[0] and math.isclose(ours[1], theirs[1], rel_tol=1e-4, abs_tol=1e-3)
        for ours, theirs in zip(found, truth))


class PublicQueries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        node = real_node.RealNode(BIN, "device")
        try:
            node.wait_for('pod="cat-watcher-1"', PATIENCE_S)
            pages = [node.metrics()]
        finally:
            node.close()
        pages += [scenes.Scene(case, f"gpu-node-{i + 1}", i + 1)() for i, case in enumerate(CASES)]
        found = [row for page in pages for row in rows(page) if row[0].startswith("DCGM_FI_")]
        # A GPU that is not shared tells its pod in the same row, as NVIDIA's exporter does; the words for an Xid are ours.
        apart = {"pod", "namespace", "container", "err_msg"}
        cls.found = [(family, {key: word for key, word in labels.items() if key not in apart}, value)
                     for family, labels, value in found]
        cls.truth = [row for page in pages for row in truth_of(page)]

    def test_are_at_least_275_and_each_once(self):
        all_queries = public_queries()
        self.assertGreaterEqual(len(all_queries), 275)
        self.assertEqual(len(set(all_queries)), len(all_queries))

    def test_answer_on_shared_gpus_what_they_do_on_whole_ones(self):
        shared, whole = Past(self.found), None
        try:
            whole = Past([row for row in self.truth if row[0] in {name for name, _, _ in self.found}])
            wrong, with_data = [], 0
            for query in public_queries():
                ours, theirs = shared.query(query), whole.query(query)
                with_data += bool(theirs)
                if not alike(ours, theirs):
                    wrong.append(f"{query}\n  shared {ours}\n  whole  {theirs}")
            print(f"{len(public_queries())} queries, {with_data} with data, {len(wrong)} wrong")
            self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
            self.assertGreaterEqual(with_data, WITH_DATA)
        finally:
            shared.close()
            if whole:
                whole.close()

    def test_every_family_of_the_truth_is_told(self):
        self.assertEqual({row[0] for row in self.truth} - {row[0] for row in self.found}, set())


if __name__ == "__main__":
    missing = [name for name in ("prometheus", "promtool") if not shutil.which(name)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed (Debian: prometheus)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
