#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kueue_test.py BIN_DIR: GPU jobs in queues of a real Kueue, by our commands, beside aliquot-controller --jobs --placement.

What it needs: kueue_world.py. Without it is skipped.
"""
import json
import os
import subprocess
import tempfile
import time
import unittest

from cluster import MERGE, STRATEGIC, until
from kueue_world import GATED_BY, GROUP, JOBS, PODS, RESTART, SPACE, WORKLOADS, KueueWorld, main

VISION = "queues: [{name: vision, namespaces: [@], gpus: {any: 8}, check-placement: true}]"


class Queues(KueueWorld):
    def test_one_short_file_makes_queues_that_work_and_changes_them(self):
        said = self.apply("""
queues:
- {name: vision, namespaces: [@], cohort: lab, gpus: {a100: 6}, borrow: {a100: 2}, check-placement: true}
- {name: audio, namespaces: [@], cohort: lab, gpus: {a100: 2}, lend: {a100: 1}, order: strict}
""")
        for what in ("resourceflavor a100 applied", "clusterqueue vision applied", f"localqueue {SPACE}/audio applied",
                     "admissioncheck aliquot-placement applied"):
            self.assertIn(what, said)
        vision = self.queues()["vision"]
        self.assertEqual(vision["gpus"], [{"flavor": "a100", "resource": "nvidia.com/gpu", "quota": "6", "used": "0", "borrowed": "0",
                                           "borrowLimit": "2"}])
        self.assertEqual((vision["cohort"], vision["namespaces"]), ("lab", [SPACE]))
        self.submit("typed", gpu=2, kind="a100")
        self.is_state("typed", "Running")
        self.assertEqual(self.pods("typed")[0]["spec"]["nodeSelector"]["accelerator"], "nvidia-tesla-a100")
        self.assertEqual(self.used("vision"), (2, 0))
        self.apply("queues: [{name: vision, namespaces: [@], cohort: lab, gpus: {a100: 7}, check-placement: true}]")
        self.assertEqual(self.queues()["vision"]["gpus"][0]["quota"], "7")
        self.assertNotIn("borrowLimit", self.queues()["vision"]["gpus"][0])
        self.assertEqual(self.show("typed")["state"], "Running")

    def test_a_job_that_has_quota_and_room_runs_and_the_next_is_told_when(self):
        self.apply(VISION)
        self.submit("first", "--time", "1h", gpu=4)
        self.submit("second", "--time", "2h", gpu=4)
        for name in "first", "second":
            self.is_state(name, "Running")
            self.assertEqual(self.check(name)["state"], "Ready")
            self.assertIn("there is room on node-", self.check(name)["message"])
        self.submit("third", "--time", "1h", gpu=4)
        self.is_state("third", "Queued")
        self.assertTrue(until(lambda: self.annotation("third", "aliquot.dev/eta"), 30), self.said())
        self.assertIn("quota", self.show("third")["reason"])
        why = self.told("job", "explain", "third")
        self.assertEqual((why["position"], sorted(one["id"] for one in why["holders"])), (1, ["first", "second"]))
        self.assertGreater(why["likelyStart"], why.get("submitted", ""))
        self.assertLessEqual(why["likelyStart"], why["latestStart"])
        pending = self.told("queue", "pending", "vision")["pending"]
        self.assertEqual([(one["id"], one["position"], one["likelyStart"]) for one in pending], [("third", 1, why["likelyStart"])])
        self.assertEqual(self.used("vision"), (8, 0))
        self.finish("first")
        self.is_state("first", "Succeeded")
        self.is_state("third", "Running")
        self.assertEqual({one["id"]: one["state"] for one in self.told("job", "list", "--all")["jobs"]},
                         {"first": "Succeeded", "second": "Running", "third": "Running"})

    def test_a_queue_borrows_in_its_cohort_and_gives_back(self):
        self.apply("""
queues:
- {name: vision, namespaces: [@], cohort: lab, gpus: {any: 4}, check-placement: true}
- {name: audio, namespaces: [@], cohort: lab, gpus: {any: 4}, reclaim: any, check-placement: true}
""")
        self.submit("own", gpu=4)
        self.is_state("own", "Running")
        self.submit("borrows", gpu=4)
        self.is_state("borrows", "Running")
        self.assertEqual(self.used("vision"), (8, 4))
        self.submit("owner", queue="audio", gpu=4)
        self.is_state("owner", "Running")
        loser = until(lambda: next((one for one in ("own", "borrows") if self.show(one)["state"] != "Running"), ""))
        self.is_state(loser, "Requeued")
        steps = self.show(loser)["steps"]
        self.assertTrue(any("reempt" in step["reason"] for step in steps), steps)
        self.assertEqual(self.check(loser)["state"], "Pending")
        self.assertEqual((self.used("vision"), self.used("audio")), ((4, 0), (4, 0)))
        self.finish("owner")
        self.is_state(loser, "Running")
        self.assertEqual(self.check(loser)["state"], "Ready")

    def test_a_job_of_a_higher_priority_takes_the_place_of_one_that_runs(self):
        self.api("POST", f"{GROUP}/workloadpriorityclasses", {
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 1000})
        self.assertEqual(self.api.status, 201)
        self.apply("queues: [{name: vision, namespaces: [@], gpus: {any: 8}, preempt: lower-priority, check-placement: true}]")
        self.submit("usual", gpu=8)
        self.is_state("usual", "Running")
        self.submit("urgent", "--priority-class", "urgent", gpu=8)
        self.is_state("urgent", "Running")
        self.is_state("usual", "Requeued")
        self.assertIn("reempt", self.condition("usual", "Evicted")["message"])
        self.assertEqual(self.condition("usual", "Evicted")["reason"], "Preempted")
        self.finish("urgent")
        self.is_state("usual", "Running")

    def test_quota_without_room_is_retried_and_ready_once_there_is_room(self):
        self.apply("queues: [{name: vision, namespaces: [@], gpus: {any: 16}, check-placement: true}]")
        self.occupy("other-1", 4)
        self.occupy("other-2", 4)
        self.submit("waits", gpu=2)
        self.assertTrue(until(lambda: self.holds("waits", "Evicted"), 60), self.said())
        self.is_state("waits", "Requeued")
        self.assertTrue(until(lambda: self.check("waits").get("retryCount", 0) >= 1), str(self.workload("waits")))
        self.assertIn("fits now", self.condition("waits", "Evicted").get("message", ""), str(self.workload("waits")))
        self.assertIn("fits now", self.told("job", "explain", "waits")["why"], str(self.workload("waits")))
        self.leave("other-1")
        self.is_state("waits", "Running", seconds=120)
        self.assertIn("there is room on node-", self.check("waits")["message"])

    def test_pods_of_several_kinds_are_looked_for_together(self):
        self.apply(VISION)
        self.occupy("other", 2)
        def pod_set(name, count, gpus):
            amounts = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus), "cpu": "1"}}
            return {"name": name, "count": count, "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "none.invalid/c:1", "resources": amounts}]}}}
        def work(name, *sets):
            made = self.api("POST", WORKLOADS, {
                "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name},
                "spec": {"active": True, "queueName": "vision", "podSets": list(sets)}})
            self.assertEqual(self.api.status, 201, made)
        work("fits", pod_set("leader", 1, 2), pod_set("workers", 2, 2))
        self.assertTrue(until(lambda: self.holds("fits", "Admitted")), str(self.workload("fits")) + self.said())
        self.assertEqual(self.check("fits")["state"], "Ready")
        self.api("DELETE", f"{WORKLOADS}/fits")
        self.assertTrue(until(lambda: self.used("vision") == (0, 0)))
        time.sleep(21)  # places that were promised to it
        work("large", pod_set("leader", 1, 4), pod_set("workers", 1, 4))  # either fits into the six that are left, not both
        self.assertTrue(until(lambda: self.holds("large", "Evicted")), str(self.workload("large")) + self.said())


class Commands(KueueWorld):
    def setUp(self):
        super().setUp()
        self.apply(VISION)

    def test_a_job_is_suspended_resumed_cancelled_retried_and_deleted(self):
        self.submit("runs", gpu=8)
        self.is_state("runs", "Running")
        self.submit("waits", gpu=8)
        self.is_state("waits", "Queued")
        self.job("suspend", "waits")
        self.is_state("waits", "Suspended")
        self.job("suspend", "runs")
        self.is_state("runs", "Suspended")
        self.assertTrue(until(lambda: not self.pods("runs")))
        self.assertTrue(until(lambda: self.used("vision") == (0, 0)), str(self.queues()))
        self.stays("waits", "Suspended")
        self.job("resume", "waits")
        self.is_state("waits", "Running")
        self.job("resume", "runs")
        self.is_state("runs", "Queued", "Requeued")
        self.job("delete", "waits", code=3)
        self.job("cancel", "waits")
        self.is_state("waits", "Cancelled")
        self.is_state("runs", "Running")
        self.stays("waits", "Cancelled")
        self.job("cancel", "runs")
        self.is_state("runs", "Cancelled")
        self.job("retry", "waits")
        self.is_state("waits", "Running")
        self.assertEqual(self.show("waits")["attempt"], 2)
        self.job("delete", "runs")
        self.assertTrue(until(lambda: "runs" not in [one["id"] for one in self.told("job", "list", "--all")["jobs"]]))
        self.finish("waits", "Failed")
        self.job("cancel", "waits")
        self.is_state("waits", "Cancelled", "Failed")

    def test_a_gang_starts_together_and_an_array_as_quota_allows(self):
        self.submit("gang", "--gang", "2", gpu=3)
        self.is_state("gang", "Running")
        self.assertTrue(until(lambda: self.show("gang").get("ready") == 2), str(self.show("gang")))
        self.assertEqual(sorted(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in self.pods("gang")),
                         ["0", "1"])
        self.assertEqual(self.used("vision"), (6, 0))
        self.submit("array", "--array", "3", gpu=1)  # two of three at a time: the queue has two left
        self.is_state("array", "Running")
        self.assertTrue(until(lambda: self.used("vision") == (8, 0)), str(self.queues()))
        self.finish("gang")
        self.is_state("gang", "Succeeded")
        self.finish("array")
        self.assertTrue(until(lambda: len(self.pods("array")) == 3), str(self.pods("array")))
        self.assertTrue(until(lambda: self.finish("array") or self.show("array")["state"] == "Succeeded"), str(self.show("array")))

    def test_a_job_comes_after_another(self):
        self.submit("before", gpu=1)
        self.submit("fails", "--retries", "0", gpu=1)
        self.submit("after", "--after", "before", gpu=1)
        self.submit("never", "--after", "fails", gpu=1)
        self.is_state("before", "Running")
        self.is_state("fails", "Running")
        self.stays("after", "Queued")
        self.assertEqual(self.condition("after", "QuotaReserved").get("reason"), "AdmissionGated", self.workload("after"))
        self.assertIn("before", self.show("after")["reason"])
        self.finish("before")
        self.is_state("after", "Running")
        self.finish("fails", "Failed")
        self.is_state("never", "Cancelled")
        self.stays("never", "Cancelled")

    def gated(self, name, gpus, hours):
        """A Job behind the planner's gate."""
        text = self.job("submit", "--dry-run", "-o", "json", "--name", name, "--queue", "vision", "--any-gpu-count", "--gpu", str(gpus),
                        "--gpu-type", "any", "--image", "none.invalid/c:1", "--cpu", "1", "--memory", "4Gi", "--time", f"{hours}h", "--", "true")
        job = json.loads(text)
        job["metadata"]["annotations"][GATED_BY] = "aliquot.dev/planner"
        made = self.api("POST", JOBS, job)
        self.assertEqual(self.api.status, 201, made)

    def test_the_gate_opens_for_who_delays_nobody_and_large_jobs_have_their_turn(self):
        self.kill("controller")  # what it has learnt of how long jobs run here
        self.start_controller()
        self.submit("runs", "--time", "2h", gpu=6)
        self.is_state("runs", "Running")
        self.gated("large", 8, 1)
        self.assertTrue(until(lambda: self.annotation("large", "aliquot.dev/eta"), 30), self.said())
        self.gated("lengthy", 2, 20)
        self.gated("brief", 2, 1)
        self.is_state("brief", "Running")
        self.assertEqual(self.annotation("brief", GATED_BY), "")
        self.stays("large", "Queued")
        self.assertEqual(self.show("lengthy")["state"], "Queued")
        self.assertEqual(self.condition("lengthy", "QuotaReserved").get("reason"), "AdmissionGated", self.workload("lengthy"))
        why = self.told("job", "explain", "lengthy")
        self.assertIn("quota", why["why"])  # all eight are used: what is held by the planner says why
        self.finish("runs")
        self.finish("brief")
        self.is_state("large", "Running")
        self.stays("lengthy", "Queued")
        self.finish("large")
        self.is_state("lengthy", "Running")


class Restarts(KueueWorld):
    def setUp(self):
        super().setUp()
        self.apply(VISION)

    def test_while_no_controller_runs_jobs_go_on_and_new_ones_wait(self):
        self.submit("runs", gpu=4)
        self.is_state("runs", "Running")
        self.kill("controller")
        self.submit("new", gpu=4)
        self.assertTrue(until(lambda: self.holds("new", "QuotaReserved")), self.workload("new"))
        self.assertEqual(self.check("new")["state"], "Pending")
        self.assertEqual(self.show("new")["state"], "Reserving")
        self.stays("runs", "Running")
        # Who cannot wait takes the check out of the queue: quota alone decides.
        self.apply(VISION.replace("true", "false"))
        self.is_state("new", "Running")
        self.apply_only(VISION)
        self.finish("new")
        self.submit("next", gpu=4)
        self.assertTrue(until(lambda: self.holds("next", "QuotaReserved")), self.workload("next"))
        self.stays("next", "Reserving")
        self.start_controller()
        self.is_state("next", "Running")

    def test_without_kueue_jobs_go_on_and_what_is_asked_is_refused_in_its_words(self):
        self.submit("runs", gpu=4)
        self.submit("cancelled", gpu=4)
        self.is_state("runs", "Running")
        self.is_state("cancelled", "Running")
        self.kill("kueue")
        self.assertIn("webhook", self.job("cancel", "cancelled", code=3))  # no Job is changed without Kueue's consent
        self.stays("cancelled", "Running")
        self.start_kueue()
        self.job("cancel", "cancelled")
        self.is_state("cancelled", "Cancelled")
        self.is_state("runs", "Running")
        self.submit("next", gpu=4)
        self.is_state("next", "Running")

    @unittest.skipUnless(RESTART, "ALIQUOT_TEST_KUBE_RESTART names no command")
    def test_after_a_restart_of_the_api_server_all_goes_on(self):
        self.submit("runs", gpu=4)
        self.is_state("runs", "Running")
        self.submit("waits", gpu=8)
        subprocess.run(RESTART, shell=True, check=True, timeout=300, stdout=subprocess.DEVNULL)
        self.is_state("runs", "Running")
        self.submit("new", gpu=4)
        self.is_state("new", "Running", seconds=120)
        self.finish("runs")
        self.finish("new")
        self.is_state("waits", "Running", seconds=120)


class PlainJobs(KueueWorld):
    """What Kubernetes' own Job controller makes of our Jobs: in no queue."""

    def make(self, name, **fields):
        path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": name, "image": "none.invalid/c:1", "command": ["true"], "gpu_type": "any", "cpu": "1", "memory": "4Gi",
                       **fields}, file)
        self.job("submit", "-f", path)
        self.is_state(name, "Running")

    def test_a_job_whose_time_is_over_has_expired_and_goes_after_its_time_to_live(self):
        self.make("lengthy", deadline_seconds=60, ttl_seconds=2)
        self.api("PATCH", f"{JOBS}/lengthy", {"spec": {"activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 15}}, MERGE)
        self.is_state("lengthy", "Expired")
        self.assertEqual(self.show("lengthy")["cause"], "deadline")
        self.assertTrue(until(lambda: self.api("GET", f"{JOBS}/lengthy") and self.api.status == 404))

    def test_a_lost_node_uses_up_no_try_and_a_program_that_fails_does(self):
        self.make("job", restart_policy="Never", retries=1)
        first = self.pods("job")[0]["metadata"]["name"]
        lost = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
        self.api("PATCH", f"{PODS}/{first}/status", {"status": {"phase": "Failed", "conditions": [lost]}}, STRATEGIC)
        self.assertTrue(until(lambda: len(self.pods("job")) == 2), self.pods("job"))
        self.assertEqual(self.api("GET", f"{JOBS}/job")["status"].get("failed", 0), 0)
        for tries in 1, 2:
            self.finish("job", "Failed")
            self.assertTrue(until(lambda: self.api("GET", f"{JOBS}/job")["status"].get("failed") == tries))
            if tries == 1:
                self.is_state("job", "Running", seconds=90)
        self.is_state("job", "Failed")
        shown = self.show("job")
        self.assertEqual((shown["cause"], shown["exitCode"]), ("program", 1))
        self.job("retry", "job")
        self.is_state("job", "Running")
        self.assertEqual(self.show("job")["attempt"], 2)


if __name__ == "__main__":
    main()
