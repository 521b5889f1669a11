# SPDX-License-Identifier: Apache-2.0
"""Kueue beside our controller: API server and scheduler as in cluster.py, Kueue's manager, light nodes that run pods.

ALIQUOT_TEST_KUEUE: a command that runs Kueue's manager before the API server of ALIQUOT_TEST_KUBECONFIG, where Kueue's kinds
and kube-controller-manager are. ALIQUOT_TEST_KUBE_RESTART, which is not needed: one that stops the API server and starts it again.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cluster import KUBECONFIG, MERGE, SCHEDULER, STRATEGIC, Api, Controller, Program, Scheduler, until

KUEUE = os.environ.get("ALIQUOT_TEST_KUEUE", "")
RESTART = os.environ.get("ALIQUOT_TEST_KUBE_RESTART", "")
PROGRAMS = sys.argv[1] if len(sys.argv) > 1 else "."
SPACE = "aliquot-kueue"
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = f"{GROUP}/namespaces/{SPACE}/workloads"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/aliquot-system/leases/aliquot-controller"


class Kueue(Program):
    def __init__(self):
        super().__init__(["sh", "-c", f"exec {KUEUE}"])


class KueueWorld(unittest.TestCase):
    """A node with eight A100; queues of a short file; `aliquot` as a person calls it."""
    NODES = 1
    GPUS = 8

    @classmethod
    def setUpClass(cls):
        cls.api = Api()
        cls.programs = {}
        for space in SPACE, "aliquot-system":
            cls.api.add_namespace(space)
        cls.start_kueue()
        cls.clear()
        cls.remove_nodes()
        cls.programs["nodes"] = Program([
            f"{PROGRAMS}/aliquot", "sim", "cluster", "--nodes", str(cls.NODES), "--gpu", f"a100-80:{cls.GPUS}",
            "--kubeconfig", KUBECONFIG, "--no-scheduler"])
        until(lambda: "is up" in cls.programs["nodes"].said())
        for number in range(cls.NODES):
            cls.api("PATCH", f"/api/v1/nodes/node-{number}",
                    {"metadata": {"labels": {"accelerator": "nvidia-tesla-a100"}}}, MERGE)
        cls.programs["scheduler"] = Scheduler()
        cls.start_controller()

    @classmethod
    def tearDownClass(cls):
        cls.clear()
        for program in cls.programs.values():
            program.end(signal.SIGTERM)
        cls.remove_nodes()

    @classmethod
    def remove_nodes(cls):
        for number in range(cls.NODES):
            cls.api("DELETE", f"/api/v1/nodes/node-{number}")

    @classmethod
    def start_kueue(cls):
        cls.programs["kueue"] = Kueue()
        # Its webhooks answer: a queue that is none is refused in its words.
        queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "try"}, "spec": {}}
        until(lambda: cls.api("POST", f"{GROUP}/clusterqueues?dryRun=All", queue) and cls.api.status in (201, 403, 422))

    @classmethod
    def start_controller(cls, *words):
        cls.api("DELETE", LEASE)
        cls.programs["controller"] = Controller(PROGRAMS, ["--jobs", "--placement", *words], lease="15s")
        until(lambda: "kube.leading" in cls.programs["controller"].said())

    @classmethod
    def clear(cls):
        """What tests before have left goes; Kueue takes its finalizers away."""
        for path in JOBS, WORKLOADS, PODS:
            for one in cls.api("GET", path).get("items", []):
                cls.api("DELETE", f"{path}/{one['metadata']['name']}?propagationPolicy=Background&gracePeriodSeconds=0")
        kinds = f"namespaces/{SPACE}/localqueues", "clusterqueues", "resourceflavors", "admissionchecks"
        for path in [f"{GROUP}/{kind}" for kind in kinds] + [f"{GROUP}/workloadpriorityclasses"]:
            for one in cls.api("GET", path).get("items", []):
                cls.api("DELETE", f"{path}/{one['metadata']['name']}")
        left = [JOBS, WORKLOADS, PODS, *(f"{GROUP}/{kind}" for kind in kinds)]
        until(lambda: not any(cls.api("GET", path).get("items") for path in left))

    def setUp(self):
        self.clear()

    def said(self, *names):
        names = names or ("controller",)
        return "\n".join(f"--- {name}\n" + self.programs[name].said()[-5000:] for name in names if name in self.programs)

    def kill(self, name, how=signal.SIGKILL):
        self.programs.pop(name).end(how)

    # ---- what a person says ------------------------------------------------------------------------

    def aliquot(self, *words, code=0):
        done = subprocess.run([f"{PROGRAMS}/aliquot", "--kubeconfig", KUBECONFIG, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def job(self, verb, *words, code=0):
        return self.aliquot("job", verb, "-n", SPACE, *words, code=code)

    def told(self, *words):
        return json.loads(self.aliquot(*words, "-n", SPACE, "-o", "json"))

    def apply_only(self, text):
        """Queues of a short file; @ is our namespace."""
        path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "queues.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("@", SPACE))
        return self.aliquot("queue", "apply", "-f", path)

    def apply(self, text):
        """The same. Returns when all queues are active."""
        said = self.apply_only(text)
        self.assertTrue(until(lambda: all(one["active"] for one in self.queues().values())),
                        str(self.queues()) + self.said())
        return said

    def queues(self):
        return {one["name"]: one for one in self.told("queue", "list")["queues"]}

    def used(self, queue):
        """GPUs used and borrowed."""
        gpus = self.queues()[queue]["gpus"][0]
        return int(gpus["used"]), int(gpus["borrowed"])

    def submit(self, name, *words, queue="vision", gpu=1, kind="any"):
        self.job("submit", "--name", name, "--queue", queue, "--any-gpu-count", "--gpu", str(gpu), "--gpu-type", kind,
                 "--image", "none.invalid/c:1", "--cpu", "1", "--memory", "4Gi", *words, "--", "true")

    def show(self, name):
        return self.told("job", "show", name)

    def is_state(self, name, *states, seconds=60):
        found = until(lambda: self.show(name)["state"] in states, seconds, 0.2)
        self.assertTrue(found, f"{name} is not {states}: {self.show(name)}" + self.said())

    def stays(self, name, state, seconds=3):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertEqual(self.show(name)["state"], state, self.said())
            time.sleep(0.2)

    # ---- what the cluster does -----------------------------------------------------------------------

    def workload(self, name):
        for one in self.api("GET", WORKLOADS).get("items", []):
            owners = one["metadata"].get("ownerReferences", [])
            if one["metadata"]["name"] == name or any(owner["name"] == name for owner in owners):
                return one
        return {"metadata": {}, "spec": {}, "status": {}}

    def condition(self, name, kind):
        conditions = self.workload(name).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), {})

    def holds(self, name, kind):
        return self.condition(name, kind).get("status") == "True"

    def check(self, name):
        checks = self.workload(name).get("status", {}).get("admissionChecks", [])
        return next((one for one in checks if one["name"] == "aliquot-placement"), {})

    def annotation(self, name, which):
        return self.api("GET", f"{JOBS}/{name}")["metadata"].get("annotations", {}).get(which, "")

    def pods(self, job):
        return self.api("GET", f"{PODS}?labelSelector=batch.kubernetes.io/job-name={job}").get("items", [])

    def finish(self, job, phase="Succeeded"):
        """Its programs end, as kubelet says it."""
        code = 0 if phase == "Succeeded" else 1
        ended = {"name": "worker", "state": {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}},
                 "image": "", "imageID": "", "ready": False, "restartCount": 0}
        for pod in self.pods(job):
            if pod["status"].get("phase") in ("Succeeded", "Failed"):
                continue
            self.api("PATCH", f"{PODS}/{pod['metadata']['name']}/status",
                     {"status": {"phase": phase, "containerStatuses": [ended]}}, STRATEGIC)

    def occupy(self, name, gpus):
        """A pod of nobody's queue."""
        amounts = {"limits": {"nvidia.com/gpu": str(gpus)}}
        self.api("POST", PODS, {"metadata": {"name": name}, "spec": {"containers": [
            {"name": "c", "image": "none.invalid/c:1", "resources": amounts}]}})
        self.assertTrue(until(lambda: self.api("GET", f"{PODS}/{name}")["status"].get("phase") == "Running"))

    def leave(self, name):
        self.api("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")


def main():
    """unittest's, or 77 with what is missing. The first argument is the folder of our programs."""
    if not (KUBECONFIG and SCHEDULER and KUEUE):
        print("skipped: ALIQUOT_TEST_KUBECONFIG, ALIQUOT_TEST_KUBE_SCHEDULER and ALIQUOT_TEST_KUEUE name no cluster with Kueue")
        sys.exit(77)
    api = Api()
    api("GET", GROUP)
    if api.status != 200:
        print("skipped: the API server of ALIQUOT_TEST_KUBECONFIG does not serve Kueue's kinds")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
