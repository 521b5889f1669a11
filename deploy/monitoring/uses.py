# SPDX-License-Identifier: Apache-2.0
"""A dashboard for each use in examples/: what the people who run it ask first. deploy/monitoring/dashboard.json has the rest."""
from panels import AT, GPU, GUARD, OWNER, POD, by, graph, stat, table

RED_ABOVE_0 = ((None, "green"), (1, "red"))
RATE = "$__rate_interval"


def quantile(q, metric, selector, labels=()):
    return f"histogram_quantile({q}, sum by ({', '.join(['le', *labels])}) (rate({metric}_bucket{{{selector}}}[{RATE}])))"


GPUS = [
    graph("GPUs busy", (f"gpu:busy:rate5m{{{GPU}}}", AT), "percentunit", most=1),
    graph("GPU memory", [(f"gpu_memory_used_bytes{{{GPU}}}", AT), (f"gpu_memory_total_bytes{{{GPU}}}", AT + " total")], "bytes"),
]
SHARES = [
    graph("Use of its share", (f"gpu_pod_share_utilization_ratio{{{POD}}}", OWNER), "percentunit",
          help_text="Of what the pod may use when all want it; above 100 % it uses what others leave."),
    graph("Memory of its limit", (f"gpu_pod_memory_used_bytes{{{POD}}} / (gpu_pod_memory_limit_bytes{{{POD}}} > 0)", OWNER),
          "percentunit"),
    graph("Held back by its limit", (f"rate(gpu_pod_throttled_seconds_total{{{POD}}}[{RATE}])", OWNER), "percentunit"),
    graph("Refused memory", (f"increase(gpu_pod_memory_limit_hits_total{{{POD}}}[{RATE}])", OWNER),
          help_text="Allocations beyond the limit: the program got out of memory, its neighbours nothing."),
]
VISION = [
    graph("Pictures per second, by answer", (f"sum by (code) (rate(vision_requests_total{{{GUARD}}}[{RATE}]))", "{{code}}"), "reqps",
          stack=True),
    graph("Time to answer", [(quantile(0.5, "vision_request_duration_seconds", GUARD), "half"),
                             (quantile(0.99, "vision_request_duration_seconds", GUARD), "99 of 100")], "s"),
    graph("Where the time goes", (f"sum by (stage) (rate(vision_stage_duration_seconds_sum{{{GUARD}}}[{RATE}])) / ignoring (stage) "
                                  f"group_left () sum (rate(vision_request_duration_seconds_count{{{GUARD}}}[{RATE}]))", "{{stage}}"), "s",
          stack=True, help_text="Of a request, by stage."),
    graph("Pictures that wait", (f"vision_requests_waiting{{{GUARD}}}", "{{pod}}"), help_text="What the autoscaler scales by."),
    graph("Pictures in a batch", [(f"sum by (pod) (rate(vision_batch_size_sum{{{GUARD}}}[{RATE}])) / "
                                   f"sum by (pod) (rate(vision_batch_size_count{{{GUARD}}}[{RATE}]))", "{{pod}}"),
                                  (f"vision_batch_limit{{{GUARD}}}", "{{pod}} at most now")]),
    graph("Out of memory", [(f"increase(vision_out_of_memory_total{{{GUARD}}}[{RATE}])", "{{pod}} batches"),
                            (f"increase(vision_session_rebuilds_total{{{GUARD}}}[{RATE}])", "{{pod}} loaded anew")]),
]
COST = [
    graph("Cost per hour by owner", ("sum by (owner, state) (increase(aliquot_cost_total[1h]))", "{{owner}} {{state}}"), "none",
          stack=True, help_text="From the controller, where it keeps costs: in the currency of its prices. Idle is held and not used."),
    graph("GPU hours of a day", ("sum by (owner, state) (increase(aliquot_cost_gpu_seconds_total[1d])) / 3600", "{{owner}} {{state}}"),
          "none", stack=True),
]
WAITING = [
    stat("Pods that wait for a place", "sum(aliquot_placement_gated_pods)"),
    stat("The oldest waits for", "max(aliquot_placement_oldest_gated_seconds)", "s"),
    stat("Gangs that wait", "sum(aliquot_placement_waiting_gangs)"),
    stat("Evicted for others, last day", "sum(increase(aliquot_placement_evicted_pods_total[1d]))"),
]
HEALTH = [
    graph("Xid errors", (f"increase(gpu_xid_errors_total{{{GPU}}}[{RATE}])", AT + " Xid {{xid}}")),
    graph("Temperature and power", [(f"gpu_temperature_celsius{{{GPU}}}", AT + " {{sensor}} °C"), (f"gpu_power_watts{{{GPU}}}", AT + " W")]),
]
POOL = [
    graph("Nodes", ("aliquot_pool_nodes", "{{pool}} {{state}}")),
    graph("Pods that wait for a node", ("aliquot_pool_waiting_pods", "{{pool}}")),
]
# Of the listeners of Actions Runner Controller.
CI = "repository, job_workflow_name"
RUNNERS = [
    graph("A job waits for its runner, 9 of 10", (f"histogram_quantile(0.9, sum by (le, {CI}) (rate(gha_job_startup_duration_seconds_bucket[1h])))",
                                                  "{{repository}} {{job_workflow_name}}"), "s"),
    graph("A job runs, 9 of 10", (f"histogram_quantile(0.9, sum by (le, {CI}) (rate(gha_job_execution_duration_seconds_bucket[1h])))",
                                  "{{repository}} {{job_workflow_name}}"), "s"),
    graph("Jobs an hour, by result", ("sum by (job_result) (increase(gha_job_execution_duration_seconds_count[1h]))", "{{job_result}}"), stack=True),
    graph("GPU hours of a day, by workflow", (f"sum by ({CI}) (increase(gha_job_execution_duration_seconds_sum[1d])) / 3600",
                                              "{{repository}} {{job_workflow_name}}"), "none", stack=True,
          help_text="`aliquot runner rules` writes rules with the price of a pool's nodes: aliquot:ci_job_cost_usd:increase1d."),
]
ENERGY = graph("Energy of a day", (f"{by(['namespace', 'pod'], f'increase(gpu_pod_energy_joules_total{{{POD}}}[24h])')} / 3.6e6", OWNER), "kwatth")
WHOSE_MEMORY = graph("Whose memory", [(by(["namespace", "pod"], f"gpu_pod_memory_used_bytes{{{POD}}}"), OWNER),
                                      (f"sum(gpu_unattributed_memory_bytes{{{GPU}}})", "nobody known")], "bytes", stack=True)
WHO_COMPUTES = graph("Who uses the GPU", [(by(["namespace", "pod"], f"gpu_pod:busy:rate5m{{{POD}}}"), OWNER),
                                          (f"sum(rate(gpu_unattributed_busy_seconds_total{{{GPU}}}[{RATE}]))", "nobody known")],
                     "percentunit", stack=True)
IDLE = table("Idle longest", [("Idle for", "s", f"topk(20, {by(['namespace', 'pod'], f'gpu_pod_idle_seconds{{{POD}}}')})"),
                              ("Memory", "bytes", by(["namespace", "pod"], f"gpu_pod_memory_used_bytes{{{POD}}}"))],
             ["namespace", "pod"], "Idle for")

# Folder of examples/ -> (title, rows).
DASHBOARDS = {
    "a100-vision": ("Vision service on A100s", [("Service", VISION, False), ("Its shares", SHARES, False), ("GPUs", GPUS, False),
                                                ("Health", HEALTH, True), ("Cost", COST, True)]),
    "v100-a100-job": ("GPU jobs", [("Waiting", WAITING, False), ("GPUs", [*GPUS, WHO_COMPUTES, IDLE], False), ("Nodes", POOL, False),
                                   ("Cost", COST, False), ("Health", HEALTH, True)]),
    "a2-tts-stt": ("Home AI on one A2", [("Who has the GPU", [WHOSE_MEMORY, WHO_COMPUTES], False), ("Shares", SHARES, False),
                                         ("The card", [*HEALTH, ENERGY], False)]),
    "t4-ci-runner": ("CI runners with GPUs", [("Jobs", RUNNERS, False), ("Nodes", POOL, False), ("GPUs", GPUS, False),
                                              ("Health", HEALTH, True), ("Cost", COST, True)]),
    "gtx1070-two-detectors": ("Two detectors on a GTX 1070", [("Who has the GPU", [WHOSE_MEMORY, WHO_COMPUTES], False),
                                                              ("Shares", SHARES, False), ("The card", [*HEALTH, ENERGY], False)]),
}
