#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pinned_claims_test.py BIN_DIR: aliquot-controller --claims with Kubernetes' own scheduler.

The rows of the failure table in docs/internals/dra.md that can be brought about there.
"""
import sys
import time
import unittest

from cluster import MERGE, STRATEGIC, Api, Controller, Scheduler, main, until

SPACE = "aliquot-pinned-claims"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/{SPACE}/resourceclaims"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PROGRAMS = sys.argv[1] if len(sys.argv) > 1 else "."


class PinnedClaims(unittest.TestCase):
    def setUp(self):
        self.api = Api()
        self.clear()
        self.api.add_namespace(SPACE, {"aliquot.dev/claims": "enabled"})
        self.api.add_namespace("aliquot-system")
        expression = 'device.driver == "gpu.aliquot.dev"'
        self.api("POST", f"{GROUP}/deviceclasses",
                 {"metadata": {"name": "gpu.aliquot.dev"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}})
        self.programs = []
        for node in "a", "b":
            self.add_gpu_node(node)

    def tearDown(self):
        for program in self.programs:
            program.end()
        self.clear()

    def clear(self):
        self.api("DELETE", f"{HOOKS}/claims")
        self.api("DELETE", f"{GROUP}/deviceclasses/gpu.aliquot.dev")
        self.api("DELETE", "/apis/coordination.k8s.io/v1/namespaces/aliquot-system/leases/aliquot-controller")
        for node in "a", "b", "c":
            self.api("DELETE", f"/api/v1/nodes/{node}")
            self.api("DELETE", f"{GROUP}/resourceslices/slice-{node}")
        self.api.remove_all(PODS)
        # Nobody is there who ends reservations: kube-controller-manager does it elsewhere.
        for one in self.api("GET", CLAIMS).get("items", []):
            self.api("PATCH", f"{CLAIMS}/{one['metadata']['name']}", {"metadata": {"finalizers": None}}, MERGE)
        self.api.remove_all(CLAIMS)

    def start(self, *words):
        self.programs.append(Controller(PROGRAMS, ["--claims", "--claims-patience", "2s", *words], configuration="claims"))
        return self.programs[-1]

    def start_scheduler(self):
        self.programs.append(Scheduler())
        return self.programs[-1]

    def add_gpu_node(self, name):
        self.api.add_node(name)
        memory = {"value": "16Gi", "requestPolicy": {
            "default": "16Gi", "validRange": {"min": "256Mi", "max": "16Gi", "step": "256Mi"}}}
        compute = {"value": "100", "requestPolicy": {
            "default": "100", "validRange": {"min": "0", "max": "100", "step": "1"}}}
        device = {"name": f"gpu-{name}", "allowMultipleAllocations": True,
                  "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{name}"}},
                  "capacity": {"memory": memory, "compute": compute}}
        made = self.api("POST", f"{GROUP}/resourceslices", {
            "metadata": {"name": f"slice-{name}"},
            "spec": {"driver": "gpu.aliquot.dev", "nodeName": name, "devices": [device],
                     "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}})
        self.assertEqual(self.api.status, 201, made)
        self.assertTrue(made["spec"]["devices"][0].get("allowMultipleAllocations"), made)

    def configure(self, port, policy="Ignore"):
        self.api("DELETE", f"{HOOKS}/claims")
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        hook = {"name": "claims.aliquot.dev", "clientConfig": {"url": f"https://127.0.0.1:{port}/claim/pods"},
                "rules": [rule], "failurePolicy": policy, "sideEffects": "None", "timeoutSeconds": 2,
                "reinvocationPolicy": "IfNeeded", "admissionReviewVersions": ["v1"],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SPACE}}}
        self.api("POST", HOOKS, {"metadata": {"name": "claims"}, "webhooks": [hook]})
        self.assertEqual(self.api.status, 201)

    @staticmethod
    def pod(name, wish="memory=8Gi,compute=50", **spec):
        return {"metadata": {"name": name, "annotations": {"aliquot.dev/claim": wish}},
                "spec": {"containers": [{"name": "main", "image": "none.invalid/c:1"}], **spec}}

    def create(self, name, wish="memory=8Gi,compute=50", **spec):
        """What the webhook makes of a pod."""
        pod = self.pod(name, wish, **spec)
        pod["metadata"]["labels"] = {"aliquot.dev/claim": "pinned"}
        pod["spec"]["resourceClaims"] = [{"name": "aliquot", "resourceClaimName": self.claim_name(name)}]
        pod["spec"]["containers"][0].setdefault("resources", {})["claims"] = [{"name": "aliquot"}]
        made = self.api("POST", PODS, pod)
        self.assertEqual(self.api.status, 201, made)

    @staticmethod
    def claim_name(pod):
        return f"aq-{pod}0123456789"

    def claim(self, pod):
        found = self.api("GET", f"{CLAIMS}/{self.claim_name(pod)}")
        return found if self.api.status == 200 else {}

    def pinned(self, pod):
        """The GPU of its claim; "any"; "" without a claim."""
        found = self.claim(pod)
        return found and found["metadata"]["annotations"].get("aliquot.dev/pinned-gpu", "any")

    def node(self, pod):
        return self.api("GET", f"{PODS}/{pod}").get("spec", {}).get("nodeName", "")

    def condition(self, pod):
        conditions = self.api("GET", f"{PODS}/{pod}").get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "PodScheduled"), {})

    def said(self):
        return "\n---\n".join(one.said()[-6000:] for one in self.programs)

    def gone(self, pod, reserved=True):
        """Deletes it and, as kube-controller-manager does, its claim."""
        self.api("DELETE", f"{PODS}/{pod}?gracePeriodSeconds=0")
        if reserved:
            self.api("PATCH", f"{CLAIMS}/{self.claim_name(pod)}/status",
                     {"status": {"reservedFor": None, "allocation": None}}, MERGE)
            self.api("PATCH", f"{CLAIMS}/{self.claim_name(pod)}", {"metadata": {"finalizers": None}}, MERGE)
        self.api("DELETE", f"{CLAIMS}/{self.claim_name(pod)}")

    def test_a_pod_waits_for_its_claim_gets_it_and_is_bound(self):
        self.start_scheduler()
        controller = self.start()
        self.configure(controller.webhook_port())
        self.assertTrue(until(lambda: "resourceClaims" in self.api(
            "POST", f"{PODS}?dryRun=All", self.pod("try"))["spec"]), self.said())
        made = self.api("POST", PODS, self.pod("p"))
        name = made["spec"]["resourceClaims"][0]["resourceClaimName"]
        self.assertTrue(name.startswith("aq-"))
        self.assertTrue(until(lambda: self.node("p")), self.said())
        claim = self.api("GET", f"{CLAIMS}/{name}")
        result = claim["status"]["allocation"]["devices"]["results"][0]
        self.assertEqual(claim["metadata"]["annotations"]["aliquot.dev/pinned-gpu"], f"GPU-{self.node('p')}")
        self.assertEqual(result["device"], f"gpu-{self.node('p')}")
        self.assertEqual(result["consumedCapacity"], {"memory": "8Gi", "compute": "50"})
        self.assertEqual(claim["metadata"]["ownerReferences"][0]["uid"], made["metadata"]["uid"])
        wrong = self.api("POST", PODS, self.pod("q", "memory=much"))
        self.assertNotEqual(self.api.status, 201)
        self.assertIn("memory is not an amount", wrong["message"])

    def test_shares_fill_a_gpu_and_the_next_takes_the_other(self):
        self.start_scheduler()
        self.start()
        for i in range(4):
            self.create(f"p{i}")
        self.assertTrue(until(lambda: all(self.node(f"p{i}") for i in range(4))), self.said())
        self.assertEqual(sorted(self.node(f"p{i}") for i in range(4)), ["a", "a", "b", "b"])

    def test_a_gpu_that_was_taken_meanwhile_is_left_for_another(self):
        self.start()
        self.create("p")
        first = until(lambda: self.pinned("p"))
        self.assertIn(first, ("GPU-a", "GPU-b"), self.said())
        # Somebody's own claim on our class, allocated in between, takes all of that GPU.
        whole = self.api("POST", CLAIMS, {"metadata": {"name": "own"}, "spec": {"devices": {"requests": [
            {"name": "gpu", "exactly": {"deviceClassName": "gpu.aliquot.dev"}}]}}})
        whole["status"] = {"allocation": {"devices": {"results": [
            {"request": "gpu", "driver": "gpu.aliquot.dev", "pool": first[4:], "device": f"gpu-{first[4:]}",
             "shareID": "8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3b",
             "consumedCapacity": {"memory": "16Gi", "compute": "100"}}]}}}
        taken = self.api("PUT", f"{CLAIMS}/own/status", whole)
        self.assertEqual(self.api.status, 200, taken)
        self.start_scheduler()
        self.assertTrue(until(lambda: self.node("p")), str(self.condition("p")) + self.said())
        self.assertNotEqual(self.node("p"), first[4:])
        self.assertEqual(self.claim("p")["metadata"]["annotations"]["aliquot.dev/pins"], "2")

    def test_a_claim_that_is_deleted_is_made_again(self):
        controller = self.start()
        self.create("p")
        self.assertTrue(until(lambda: self.pinned("p")), controller.said())
        uid = self.claim("p")["metadata"]["uid"]
        self.api("DELETE", f"{CLAIMS}/{self.claim_name('p')}")
        self.assertTrue(until(lambda: self.claim("p").get("metadata", {}).get("uid", uid) != uid), self.said())
        self.start_scheduler()
        self.assertTrue(until(lambda: self.node("p")), self.said())

    def test_a_pod_whose_cpu_fits_nowhere_keeps_its_claim_until_there_is_room(self):
        for node in "a", "b":
            self.api("POST", PODS, {"metadata": {"name": f"full-{node}"}, "spec": {
                "nodeName": node, "containers": [{"name": "c", "image": "none.invalid/c:1",
                                                  "resources": {"requests": {"cpu": "63"}}}]}})
        self.start_scheduler()
        self.start()
        container = {"name": "main", "image": "none.invalid/c:1", "resources": {"requests": {"cpu": "8"}}}
        self.create("p", containers=[container])
        self.assertTrue(until(lambda: "Insufficient cpu" in self.condition("p").get("message", "")),
                        str(self.condition("p")) + self.said())
        self.api("DELETE", f"{PODS}/full-a?gracePeriodSeconds=0")
        self.assertTrue(until(lambda: self.node("p") == "a"), str(self.condition("p")) + self.said())

    def test_without_a_controller_new_pods_wait_and_the_next_goes_on(self):
        self.start_scheduler()
        first = self.start()
        self.create("runs")
        self.assertTrue(until(lambda: self.node("runs")), self.said())
        first.end()
        self.create("waits")
        time.sleep(2)
        self.assertEqual(self.node("waits"), "")
        self.assertEqual(self.pinned("waits"), {})
        self.start()
        self.assertTrue(until(lambda: self.node("waits")), self.said())
        self.assertTrue(self.node("runs"))

    def test_without_the_webhook_a_pod_is_made_as_written_or_not_at_all(self):
        self.configure(1)  # nobody listens there
        time.sleep(2)
        made = self.api("POST", PODS, self.pod("as-written"))
        self.assertEqual(self.api.status, 201, made)
        self.assertNotIn("resourceClaims", made["spec"])
        self.configure(1, "Fail")
        time.sleep(2)
        self.api("POST", PODS, self.pod("refused"))
        self.assertEqual(self.api.status, 500)

    def test_where_nothing_fits_any_gpu_will_do_also_a_new_one(self):
        self.start_scheduler()
        self.start()
        for pod in "x", "y":
            self.create(pod, "memory=16Gi,compute=100")
        self.assertTrue(until(lambda: self.node("x") and self.node("y")), self.said())
        self.create("p")
        self.assertTrue(until(lambda: self.pinned("p") == "any"), self.said())
        self.assertTrue(until(lambda: self.condition("p").get("reason") == "Unschedulable"), self.said())
        self.add_gpu_node("c")  # what an autoscaler does
        self.assertTrue(until(lambda: self.node("p") == "c"), str(self.condition("p")) + self.said())

    def test_pods_of_a_lower_priority_leave_for_one_that_has_no_gpu(self):
        self.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000})
        self.start_scheduler()
        self.start("--claims-preemption")
        self.create("low")
        self.assertTrue(until(lambda: self.node("low")), self.said())
        other = "b" if self.node("low") == "a" else "a"
        self.create("keeps", "memory=16Gi,compute=100", priorityClassName="high")
        self.assertTrue(until(lambda: self.node("keeps") == other), self.said())
        self.create("high", "memory=12Gi,compute=80", priorityClassName="high")
        self.assertTrue(until(lambda: self.api("GET", f"{PODS}/low").get("metadata", {}).get("deletionTimestamp")
                              or self.api.status == 404), self.said())
        self.gone("low")
        self.assertTrue(until(lambda: self.node("high")), str(self.condition("high")) + self.said())
        self.assertNotEqual(self.node("high"), other)

    def test_a_claim_of_somebody_else_is_not_touched(self):
        mine = self.api("POST", CLAIMS, {"metadata": {"name": self.claim_name("p")}, "spec": {"devices": {"requests": [
            {"name": "gpu", "exactly": {"deviceClassName": "gpu.aliquot.dev"}}]}}})
        self.start()
        self.create("p")
        events = f"/apis/events.k8s.io/v1/namespaces/{SPACE}/events"
        self.assertTrue(until(lambda: "is not the one that is made for this pod" in str(self.api("GET", events))),
                        self.said())
        self.assertEqual(self.claim("p")["metadata"]["uid"], mine["metadata"]["uid"])


if __name__ == "__main__":
    main()
