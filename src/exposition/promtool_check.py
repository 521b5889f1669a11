#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""promtool finds nothing wrong with our names, and with NVIDIA's only what is listed here.

usage: promtool_check.py CASES...   what render() wrote, in the text format. 77: there is no promtool.
"""
import shutil
import subprocess
import sys

NO_TOTAL = 'counter metrics should have "_total" suffix'
CAMEL_CASE = "label names should be written in 'snake_case' not 'camelCase'"  # modelName
# NVIDIA's counters, as its exporter types them.
COUNTERS = {
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
    "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "DCGM_FI_DEV_PCIE_REPLAY_TOTAL",
    "DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL",
    "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
}


def is_agreed(line):
    name, _, warning = line.partition(" ")
    if warning == CAMEL_CASE:
        return name.startswith(("DCGM_", "dcgm_"))
    if warning == NO_TOTAL:
        return name in COUNTERS
    return line == "DCGM_FI_DEV_PCIE_REPLAY_COUNTER metric name should not include type 'counter'"


def complaints(path):
    with open(path, "rb") as text:
        done = subprocess.run(["promtool", "check", "metrics"], stdin=text, capture_output=True, timeout=60)
    lines = (done.stdout + done.stderr).decode().splitlines()
    found = [line for line in lines if line and not is_agreed(line)]
    if done.returncode not in (0, 3):  # 3: it has something to say about style
        found.append(f"promtool ended with {done.returncode}")
    return found


if shutil.which("promtool") is None:
    print("skipped: there is no promtool")
    sys.exit(77)
wrong = [f"{path}: {line}" for path in sys.argv[1:] for line in complaints(path)]
print("\n".join(wrong) if wrong else f"{len(sys.argv) - 1} texts are well")
sys.exit(1 if wrong or len(sys.argv) < 2 else 0)
