#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dashboard.json and prometheus-rule.yaml beside this file and the dashboards of examples/; with --check only says
whether they are as it would."""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import uses  # noqa: E402  beside this file
from panels import AT, GPU, GUARD, NODE, OWNER, POD, by, dashboard, graph, stat, table, timeline  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"

RED_ABOVE_0 = ((None, "green"), (1, "red"))
OWNERS = ["namespace", "pod", "container", "node", "gpu", "profile"]

OVERVIEW = [
    stat("GPUs", f"count(gpu_info{{{GPU}}})"),
    stat("Busy", f"avg(gpu:busy:rate5m{{{GPU}}})", "percentunit", decimals=0,
         help_text="Mean of all GPUs over five minutes; under MIG of the instances by their size."),
    stat("Memory in use", f"sum(gpu_memory_used_bytes{{{GPU}}}) / sum(gpu_memory_total_bytes{{{GPU}}})", "percentunit",
         decimals=0),
    stat("Slots free", f"sum(gpu_slots{{{GPU}}}) - sum(gpu_slots_allocated{{{GPU}}})",
         help_text="Devices that are offered and that no pod holds, replicas counted."),
    stat("Pods on GPUs", f"count(count by (namespace, pod) (gpu_pod_info{{{POD}}}))"),
    stat("Power", f"sum(gpu_power_watts{{{GPU}}})", "watt", decimals=0),
    stat("Not healthy", f"sum(1 - gpu_healthy{{{GPU}}})", steps=RED_ABOVE_0),
    stat("Cost per hour", f"sum(gpu_price_per_hour{{{GPU}}})", "none", decimals=2,
         help_text="Of all GPUs, where the agents know a price (--gpu-price-per-hour)."),
]

SHARED = [
    graph("Busy", (f"gpu:busy:rate5m{{{GPU}}}", AT), "percentunit", most=1,
          help_text="Share of time in which something ran on the GPU: exact, from a counter."),
    graph("Who uses the GPUs",
          [(by(["namespace", "pod"], f"gpu_pod:busy:rate5m{{{POD}}}"), OWNER),
           (f"sum(rate(gpu_unattributed_busy_seconds_total{{{GPU}}}[$__rate_interval]))", "nobody known")],
          "short", stack=True, help_text="In whole GPUs. The parts of all pods and the rest add up to the GPUs' time."),
    graph("Memory in use", [(f"gpu_memory_used_bytes{{{GPU}}}", AT), (f"gpu_memory_total_bytes{{{GPU}}}", AT + " total")],
          "bytes"),
    graph("Whose memory",
          [(by(["namespace", "pod"], f"gpu_pod_memory_used_bytes{{{POD}}}"), OWNER),
           (f"sum(gpu_unattributed_memory_bytes{{{GPU}}})", "nobody known")], "bytes", stack=True),
    graph("Slots held", [(by(["node", "resource"], f"gpu_slots_allocated{{{GPU}}}"), "{{node}} {{resource}}"),
                         (by(["node", "resource"], f"gpu_slots{{{GPU}}}"), "{{node}} {{resource}} offered")]),
    table("GPUs", [("Busy", "percentunit", by(["node", "gpu", "uuid"], f"gpu:busy:rate5m{{{GPU}}}")),
                   ("Memory", "bytes", by(["node", "gpu", "uuid"], f"gpu_memory_used_bytes{{{GPU}}}")),
                   ("Total", "bytes", by(["node", "gpu", "uuid"], f"gpu_memory_total_bytes{{{GPU}}}")),
                   ("Power", "watt", by(["node", "gpu", "uuid"], f"gpu_power_watts{{{GPU}}}")),
                   ("Held", "none", by(["node", "gpu", "uuid"], f"gpu_slots_allocated{{{GPU}}}")),
                   ("Slots", "none", by(["node", "gpu", "uuid"], f"gpu_slots{{{GPU}}}"))],
          ["node", "gpu", "uuid"], "Busy", width=12),
]

PODS = [
    graph("Use of its share", (f"gpu_pod_share_utilization_ratio{{{POD}}}", OWNER + " {{container}}"), "percentunit",
          help_text="Of what the pod may use when all want it; above 100 % it uses what others leave."),
    graph("Memory of its limit",
          (f"gpu_pod_memory_used_bytes{{{POD}}} / (gpu_pod_memory_limit_bytes{{{POD}}} > 0)", OWNER + " {{container}}"),
          "percentunit"),
    graph("Held back by its limit",
          (f"rate(gpu_pod_throttled_seconds_total{{{POD}}}[$__rate_interval])", OWNER + " {{container}}"), "percentunit",
          help_text="Share of time in which its work waited because of its limit or weight."),
    graph("Refused memory",
          (f"increase(gpu_pod_memory_limit_hits_total{{{POD}}}[$__rate_interval])", OWNER + " {{container}}")),
    graph("Power", [(by(["namespace", "pod"], f"rate(gpu_pod_energy_joules_total{{{POD}}}[$__rate_interval])"), OWNER),
                    (f'sum(rate(gpu_unattributed_energy_joules_total{{{GPU},reason="unknown"}}[$__rate_interval]))',
                     "nobody known")], "watt", stack=True),
    graph("Energy of a day", (f"{by(['namespace', 'pod'], f'increase(gpu_pod_energy_joules_total{{{POD}}}[24h])')} / 3.6e6",
                              OWNER), "kwatth"),
    table("Pods", [("GPU", "percentunit", by(OWNERS, f"gpu_pod_utilization_ratio{{{POD}}}")),
                   ("Of its share", "percentunit", by(OWNERS, f"gpu_pod_share_utilization_ratio{{{POD}}}")),
                   ("Memory", "bytes", by(OWNERS, f"gpu_pod_memory_used_bytes{{{POD}}}")),
                   ("Limit", "bytes", by(OWNERS, f"gpu_pod_memory_limit_bytes{{{POD}}}")),
                   ("Peak", "bytes", by(OWNERS, f"gpu_pod_memory_peak_bytes{{{POD}}}")),
                   ("Idle for", "s", by(OWNERS, f"gpu_pod_idle_seconds{{{POD}}}")),
                   ("Processes", "none", by(OWNERS, f"gpu_pod_processes{{{POD}}}"))], OWNERS, "GPU"),
]

WASTE = [
    stat("Held and idle now", f"sum(gpu_pod:held:ratio{{{POD}}} and on (node, uuid, gi, namespace, pod, container) "
         f"gpu_pod_idle_seconds{{{POD}}} > 600) or vector(0)", "short", decimals=2,
         help_text="In whole GPUs: shares whose pods have not used them for ten minutes."),
    stat("Idle of what is held", f"sum(gpu_pod:idle_held:rate1h{{{POD}}} * gpu_pod:held:ratio{{{POD}}}) / "
         f"sum(gpu_pod:held:ratio{{{POD}}})", "percentunit", decimals=0, help_text="Of the last hour."),
    stat("Cost of unused time", f"sum(node:gpu_unused_cost:per_hour{{{NODE}}})", "none", decimals=2,
         help_text="Per hour: price of the GPUs times the time in which nothing ran."),
    stat("Fragmentation", f"max(node:gpu_fragmentation:ratio{{{NODE}}}) or vector(0)", "percentunit", decimals=0,
         help_text="0: all free memory of a node is on one GPU; near 100 %: in small pieces on many."),
    stat("Largest free piece", f"max(gpu_memory_total_bytes{{{GPU}}} - gpu_memory_allocated_bytes{{{GPU}}})", "bytes",
         decimals=1, help_text="Memory of one GPU that is not given away."),
    stat("Waiting for a GPU", "sum(kube_pod_status_unschedulable) or vector(0)",
         help_text="Pods that cannot be placed, from kube-state-metrics."),
    graph("Cost per hour by namespace",
          [('namespace:gpu_held_cost:per_hour{namespace=~"$namespace"}', "{{namespace}} held"),
           ('namespace:gpu_used_cost:per_hour{namespace=~"$namespace"}', "{{namespace}} used")], "none"),
    graph("GPUs by namespace",
          [('namespace:gpu_held:sum{namespace=~"$namespace"}', "{{namespace}} held"),
           ('namespace:gpu_busy:rate5m{namespace=~"$namespace"}', "{{namespace}} used")]),
    graph("Slots free", (f"node:gpu_slots_free:sum{{{NODE}}}", "{{node}} {{resource}}")),
    table("Idle longest", [("Idle for", "s", f"topk(20, {by(OWNERS, f'gpu_pod_idle_seconds{{{POD}}}')})"),
                           ("Idle of the last hour", "percentunit", by(OWNERS, f"gpu_pod:idle_held:rate1h{{{POD}}}")),
                           ("Holds", "percentunit", by(OWNERS, f"gpu_pod:held:ratio{{{POD}}}")),
                           ("Asks for", "none", 'sum by (namespace, pod) (kube_pod_container_resource_requests'
                            '{resource=~"nvidia_com_.*",namespace=~"$namespace",pod=~"$pod"})')],
          OWNERS, "Idle for", width=12),
]

HEALTH = [
    timeline("Healthy", f"gpu_healthy{{{GPU}}}", AT + " {{reason}}", [(1, "healthy", "green"), (0, "not handed out", "red")]),
    timeline("Recovery action", f"gpu_recovery_action{{{GPU}}}", AT,
             [(0, "none", "green"), (1, "reset", "orange"), (2, "reboot", "red"), (3, "drain peer to peer", "orange"),
              (4, "drain and reset", "orange")]),
    graph("Xid errors", (f"increase(gpu_xid_errors_total{{{GPU}}}[$__rate_interval]) > 0 or "
                         f"(gpu_xid_errors_total{{{GPU}}} and on (node, gpu, uuid, xid) "
                         f"time() - gpu_xid_last_timestamp_seconds{{{GPU}}} < 300) or "
                         f"sum by (node, gpu) (0 * gpu_xid_errors_total{{{GPU}}})", AT + " Xid {{xid}}")),
    graph("Memory errors", [(f"increase(gpu_ecc_errors_total{{{GPU},window=\"volatile\"}}[$__rate_interval])",
                             AT + " {{severity}}")]),
    graph("Remapped rows and retired pages", [(f"gpu_remapped_rows{{{GPU}}}", AT + " rows {{cause}}"),
                                              (f"gpu_row_remap_pending{{{GPU}}}", AT + " pending"),
                                              (f"gpu_row_remap_failure{{{GPU}}}", AT + " failed"),
                                              (f"gpu_retired_pages{{{GPU}}}", AT + " pages {{cause}}"),
                                              (f"gpu_retired_pages_pending{{{GPU}}}", AT + " pages pending")]),
    graph("Slowed down", (f"rate(gpu_throttle_seconds_total{{{GPU}}}[$__rate_interval])", AT + " {{reason}}"),
          "percentunit", help_text="Share of time in which the clocks were kept down, by reason."),
    graph("Temperature", [(f"gpu_temperature_celsius{{{GPU}}}", AT + " {{sensor}}"),
                          (f"gpu_temperature_limit_celsius{{{GPU},limit=\"slowdown\"}}", AT + " slows down")], "celsius"),
    graph("Power", [(f"gpu_power_watts{{{GPU}}}", AT), (f"gpu_power_limit_watts{{{GPU}}}", AT + " limit")], "watt"),
    graph("Links", [(f"increase(gpu_pcie_replays_total{{{GPU}}}[$__rate_interval])", AT + " PCIe replays"),
                    (f"increase(gpu_nvlink_errors_total{{{GPU}}}[$__rate_interval])", AT + " NVLink errors")]),
    graph("Clocks", (f"gpu_clock_hertz{{{GPU},clock=\"sm\"}}", AT), "hertz"),
]

MIG = [
    graph("Busy", (f"rate(gpu_instance_busy_seconds_total{{{GPU}}}[$__rate_interval])", AT + " {{profile}} {{gi}}"),
          "percentunit", most=1, help_text="Hopper and newer; an A100 does not tell how busy its instances are."),
    graph("Memory", [(f"gpu_instance_memory_used_bytes{{{GPU}}}", AT + " {{profile}} {{gi}}"),
                     (f"gpu_instance_memory_total_bytes{{{GPU}}}", AT + " {{profile}} {{gi}} total")], "bytes"),
    timeline("MIG devices", f"gpu_mig_device_healthy{{{GPU}}}", AT + " {{profile}} {{gi}}",
             [(1, "healthy", "green"), (0, "not handed out", "red")]),
    graph("Pods on instances", (f"gpu_pod_utilization_ratio{{{POD},gi!=\"\"}}", "{{profile}} {{gi}} " + OWNER), "percentunit"),
]

GUARDED = f"and on (namespace, pod, container) aliquot_guard_ledger_readable{{{GUARD}}}"
GUARD_ROW = [
    graph("Memory and limit", [(f"gpu_pod_memory_used_bytes{{{POD}}} {GUARDED}", OWNER),
                               (f"gpu_pod_memory_limit_bytes{{{POD}}} {GUARDED}", OWNER + " limit")], "bytes"),
    graph("Held back", (f"rate(gpu_pod_throttled_seconds_total{{{POD}}}[$__rate_interval]) {GUARDED}", OWNER), "percentunit"),
    graph("GPU time", (f"rate(gpu_pod_busy_seconds_total{{{POD}}}[$__rate_interval]) {GUARDED}", OWNER), "percentunit"),
    graph("Refused, let through, beside the guard",
          [(f"increase(gpu_pod_memory_limit_hits_total{{{POD}}}[$__rate_interval]) {GUARDED}", OWNER + " refused"),
           (f"increase(aliquot_guard_overruns_total{{{GUARD}}}[$__rate_interval])", OWNER + " let through"),
           (f"aliquot_guard_unguarded_processes{{{GUARD}}}", OWNER + " beside the guard"),
           (f"1 - aliquot_guard_ledger_readable{{{GUARD}}}", OWNER + " ledger damaged")]),
    graph("Remarks", (f"aliquot_guard_remarks{{{GUARD}}}", OWNER + " {{remark}}"), width=24,
          help_text="Something went on without the limit it should have had; docs/guide/guard.md has what each remark means."),
]

ENGINES = [
    graph("Multiprocessors", [(f"gpu_prof_sm_active_ratio{{{GPU}}}", AT + " {{profile}} {{gi}} active"),
                              (f"gpu_prof_sm_occupancy_ratio{{{GPU}}}", AT + " {{profile}} {{gi}} occupied")],
          "percentunit", most=1, help_text="Hopper and newer."),
    graph("Tensor cores and memory", [(f"gpu_prof_tensor_active_ratio{{{GPU}}}", AT + " {{profile}} {{gi}} tensor"),
                                      (f"gpu_prof_dram_active_ratio{{{GPU}}}", AT + " {{profile}} {{gi}} memory")],
          "percentunit", most=1),
    graph("Time lost to switching", (f"gpu_context_switch_ratio{{{GPU}}}", AT + " {{profile}} {{gi}}"), "percentunit",
          help_text="What time-slicing itself costs."),
    graph("Transfers", [(f"gpu_pcie_tx_bytes_per_second{{{GPU}}}", AT + " PCIe out"),
                        (f"gpu_pcie_rx_bytes_per_second{{{GPU}}}", AT + " PCIe in"),
                        (f"rate(gpu_nvlink_tx_bytes_total{{{GPU}}}[$__rate_interval])", AT + " NVLink out"),
                        (f"rate(gpu_nvlink_rx_bytes_total{{{GPU}}}[$__rate_interval])", AT + " NVLink in")], "Bps"),
]

AGENT = [
    graph("Since the last good look", (f"time() - aliquot_agent_collect_last_success_timestamp_seconds{{{NODE}}}", "{{node}}"),
          "s"),
    graph("A look takes", (f"aliquot_agent_collect_duration_seconds{{{NODE}}}", "{{node}}"), "s"),
    timeline("Pods told well", f"aliquot_agent_attribution_degraded{{{NODE}}}", "{{node}} {{reason}}",
             [(0, "well", "green"), (1, "degraded", "orange")]),
    graph("Failures", [(f"increase(aliquot_agent_collect_failures_total{{{NODE}}}[$__rate_interval])", "{{node}} looks"),
                       (f"increase(aliquot_agent_nvml_errors_total{{{NODE}}}[$__rate_interval])", "{{node}} {{call}}")]),
    graph("A scrape takes", (f"aliquot_agent_scrape_duration_seconds{{{NODE}}}", "{{node}}"), "s"),
    graph("A scrape is", (f"aliquot_agent_scrape_bytes{{{NODE}}}", "{{node}}"), "bytes"),
    graph("Memory of the agents", ('process_resident_memory_bytes{job=~".*aliquot-agent.*"}', "{{instance}}"), "bytes"),
    graph("CPU of the agents", ('rate(process_cpu_seconds_total{job=~".*aliquot-agent.*"}[$__rate_interval])', "{{instance}}"),
          "percentunit"),
]

ROWS = [("Overview", OVERVIEW, False), ("Shared GPUs", SHARED, False), ("Pods", PODS, False),
        ("Waste and cost", WASTE, False), ("Health", HEALTH, True), ("MIG", MIG, True), ("Guard", GUARD_ROW, True),
        ("Engines (Hopper and newer)", ENGINES, True), ("Agents", AGENT, True)]


def prometheus_rule(rules):
    head = ("# Written by generate.py from rules.yaml.\n"
            "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: aliquot\n"
            "  labels:\n    app.kubernetes.io/name: aliquot-agent\nspec:\n")
    lines = rules.splitlines()
    body = [line for line in lines[lines.index("groups:"):]]
    return head + "".join(("  " + line if line else "") + "\n" for line in body)


def json_of(board):
    return json.dumps(board, indent=1) + "\n"


def main():
    wanted = {HERE / "dashboard.json": json_of(dashboard("aliquot-gpus", "GPUs: who really uses them", ROWS)),
              HERE / "prometheus-rule.yaml": prometheus_rule((HERE / "rules.yaml").read_text())}
    for folder, (title, rows) in uses.DASHBOARDS.items():
        wanted[EXAMPLES / folder / "cluster" / "dashboard.json"] = json_of(dashboard(f"aliquot-{folder}", title, rows))
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path} is not what generate.py writes: run {HERE / 'generate.py'}")
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path])
    return 0


sys.exit(main())
