#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kubelet_claims_test.py BIN_DIR: the built agent serves ResourceClaims to a kubelet that is not simulated.

ALIQUOT_TEST_KUBECONFIG names an administrator of a cluster that is there for tests alone, ALIQUOT_TEST_NODE its one
node, which is this machine: kubelet in /var/lib/kubelet, a container runtime that reads /var/run/cdi, kube-scheduler and
kube-controller-manager beside it. ALIQUOT_TEST_IMAGE is an image with sh, sleep and grep that is on the node.
ALIQUOT_TEST_KUBELET_RESTART, which is not needed: a command that kills kubelet and starts it again. Needs root.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from cluster import KUBECONFIG, Api, Program, until

NODE, IMAGE = os.environ.get("ALIQUOT_TEST_NODE", ""), os.environ.get("ALIQUOT_TEST_IMAGE", "")
RESTART = os.environ.get("ALIQUOT_TEST_KUBELET_RESTART", "")
SPACE = "aliquot-kubelet-claims"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/{SPACE}/resourceclaims"
PROGRAMS = sys.argv[1] if len(sys.argv) > 1 else "."
CDI, NOTES = "/var/run/cdi", "/run/aliquot/dra"
SHARES = ("version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3, memory: 4Gi, "
          "compute: 30}]}}\n")


class KubeletClaims(unittest.TestCase):
    def setUp(self):
        self.api = Api()
        self.place = tempfile.mkdtemp(prefix="aliquot-kubelet-")
        self.driver = f"{self.place}/node"
        self.sim("up", "--gpu", "a2:2")
        for folder, _, names in os.walk(f"{self.driver}/dev"):
            for name in names:  # what a runtime makes in a container is a device
                os.remove(f"{folder}/{name}")
                os.mknod(f"{folder}/{name}", 0o020666, os.makedev(1, 3))
        self.clear()
        self.api.add_namespace(SPACE)
        self.api.add_namespace("aliquot-system")
        self.api("POST", "/api/v1/namespaces/aliquot-system/configmaps",
                 {"metadata": {"name": "aliquot-kubelet-claims"}, "data": {"default": SHARES}})
        expression = 'device.driver == "gpu.aliquot.dev"'
        self.api("POST", f"{GROUP}/deviceclasses",
                 {"metadata": {"name": "gpu.aliquot.dev"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}})
        self.agent = self.start()
        self.shared = bool(until(lambda: any("allowMultipleAllocations" in one for one in self.devices()), 10))
        self.assertTrue(until(lambda: len(self.devices()) == (2 if self.shared else 6), 60), self.agent.said())
        self.registers()

    def tearDown(self):
        self.api.remove_all(PODS)
        until(lambda: not self.api("GET", PODS)["items"] and not self.notes(), 120)
        self.agent.end(15)
        self.clear()
        self.sim("down")
        shutil.rmtree(self.place, ignore_errors=True)

    def clear(self):
        self.api.remove_all(PODS)
        until(lambda: not self.api("GET", PODS).get("items"), 60)
        self.api.remove_all(CLAIMS)
        self.api("DELETE", f"{GROUP}/resourceslices")

    def sim(self, *words):
        subprocess.run([f"{PROGRAMS}/aliquot", "sim", *words, "--state", self.driver], check=True,
                       stdout=subprocess.DEVNULL)

    def start(self, mode="auto"):
        return Program([f"{PROGRAMS}/aliquot-agent", "--dra", mode, "--driver-root", self.driver,
                        "--container-driver-root", self.driver, "--cluster", "on", "--kubeconfig", KUBECONFIG,
                        "--node-name", NODE, "--metrics-listen", "127.0.0.1:0", "--probe-listen", "127.0.0.1:0",
                        "--state-directory", f"{self.place}/state", "--config-map", "aliquot-kubelet-claims"])

    def registers(self, times=1):
        """Until then kubelet refuses pods with claims, and tries again a minute later."""
        self.assertTrue(until(lambda: self.agent.said().count("dra.registered") >= times, 120), self.agent.said()[-3000:])

    def devices(self):
        slices = self.api("GET", f"{GROUP}/resourceslices")["items"]
        return [one for each in slices if each["spec"]["driver"] == "gpu.aliquot.dev"
                for one in each["spec"].get("devices", [])]

    def claim(self, name):
        request = {"deviceClassName": "gpu.aliquot.dev"}
        if self.shared:
            request["capacity"] = {"requests": {"memory": "4Gi", "compute": "30"}}
        self.api("POST", CLAIMS, {"metadata": {"name": name},
                                  "spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}})

    def pod(self, name, claim=None, end="exec sleep 9999"):
        if claim is None:
            claim = name
            self.claim(name)
        box = {"name": "c", "image": IMAGE, "imagePullPolicy": "Never", "command": ["sh", "-c", end],
               "resources": {"claims": [{"name": "gpu"}]}}
        self.api("POST", PODS, {"metadata": {"name": name}, "spec": {
            "terminationGracePeriodSeconds": 1, "containers": [box], "restartPolicy": "Never",
            "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}], "automountServiceAccountToken": False}})

    def phases(self):
        return {one["metadata"]["name"]: one["status"].get("phase") for one in self.api("GET", PODS)["items"]}

    def containers(self):
        return {one["metadata"]["name"]: [box["containerID"] for box in one["status"].get("containerStatuses", [])]
                for one in self.api("GET", PODS)["items"]}

    def runs(self, *names):
        found = until(lambda: all(self.phases().get(name) == "Running" for name in names), 120)
        self.assertTrue(found, (self.phases(), self.agent.said()[-3000:]))

    def ends(self, *names):
        for name in names:
            self.api("DELETE", f"{PODS}/{name}")
        self.assertTrue(until(lambda: not set(names) & set(self.phases()), 120), self.agent.said()[-3000:])

    @staticmethod
    def notes():
        return [name for name in os.listdir(NOTES) if name.endswith(".claim")]

    def given(self):
        results = [(one["device"], one.get("shareID")) for claim in self.api("GET", CLAIMS)["items"]
                   for one in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])]
        self.assertEqual(len(set(results)), len(results), "a device is given once")
        return results

    def test_a_claim_is_prepared_in_the_container_and_taken_back(self):
        self.pod("a", end="grep -c /run/aliquot/guard /proc/self/mounts && exec sleep 9999")
        self.runs("a")
        self.assertEqual(len(os.listdir(CDI)), 1)
        log = until(lambda: self.api("GET", f"{PODS}/a/log"), 20)
        self.assertGreaterEqual(int(log), 1, "the guard's limits are mounted")
        self.ends("a")
        self.assertTrue(until(lambda: not os.listdir(CDI), 20))
        self.assertFalse(self.notes())

    def test_one_claim_for_two_pods_and_no_more_than_there_is(self):
        self.claim("one")
        for name in "a", "b":
            self.pod(name, claim="one")
        self.runs("a", "b")
        names = [f"x{i}" for i in range(8)]
        for name in names:
            self.pod(name)
        until(lambda: len([one for one in self.phases().values() if one == "Running"]) == 7, 90)
        self.assertEqual(sorted(self.phases()[name] for name in names), ["Pending"] * 3 + ["Running"] * 5)
        self.assertEqual(len(self.given()), 6)

    def test_outlives_the_agent_and_a_lost_cdi_directory(self):
        for name in "a", "b":
            self.pod(name)
        self.runs("a", "b")
        before = self.containers()
        self.agent.end(9)
        for name in os.listdir(CDI):
            os.remove(f"{CDI}/{name}")
        self.api("DELETE", f"{PODS}/b")
        self.assertFalse(until(lambda: "b" not in self.phases(), 8), "nobody unprepares it")
        self.agent = self.start()
        self.registers()
        self.assertTrue(until(lambda: "b" not in self.phases(), 120))
        self.assertEqual(len(os.listdir(CDI)), 1)
        self.assertEqual(self.containers()["a"], before["a"])
        self.pod("c")
        self.runs("c")

    @unittest.skipUnless(RESTART, "ALIQUOT_TEST_KUBELET_RESTART names no command")
    def test_outlives_kubelet_and_agent_in_both_orders(self):
        self.pod("a")
        self.runs("a")
        before = self.containers()
        for kubelet_first in True, False:
            self.agent.end(9)
            if not kubelet_first:
                self.agent = self.start()
                self.registers()
            subprocess.run(RESTART, shell=True, check=True)
            if kubelet_first:
                self.agent = self.start()
            self.registers(1 if kubelet_first else 2)
            name = f"after-{kubelet_first}".lower()
            self.pod(name)
            self.runs(name)
            self.assertEqual(self.containers()["a"], before["a"])
            self.ends(name)
        self.ends("a")
        self.assertTrue(until(lambda: not os.listdir(CDI), 20))

    def test_a_lost_gpu_is_told_and_its_pods_end(self):
        names = [f"p{i}" for i in range(6)]
        for name in names:
            self.pod(name)
        until(lambda: len([one for one in self.phases().values() if one == "Running"]) == 6, 90)
        lost = sorted(one["name"] for one in self.devices())[0][:len("gpu-0000-17-00-0")]
        on = {claim["metadata"]["name"]: claim["status"]["allocation"]["devices"]["results"][0]["device"]
              for claim in self.api("GET", CLAIMS)["items"] if claim.get("status", {}).get("allocation")}
        before = self.containers()
        self.sim("fault", "xid", "79", "--gpu", "0")

        def told():  # by a taint, or where the server keeps none by not being there
            return all("taints" in one for one in self.devices() if one["name"].startswith(lost))
        self.assertTrue(until(told, 60), self.agent.said()[-3000:])
        self.ends(*[name for name, device in on.items() if device.startswith(lost)])
        well = {name for name, device in on.items() if not device.startswith(lost)}
        self.assertTrue(well)
        after = self.containers()
        self.assertEqual({name: after[name] for name in well}, {name: before[name] for name in well})
        self.sim("fault", "clear", "--gpu", "0")
        there = [one for one in self.devices() if one["name"].startswith(lost)]
        self.assertTrue(until(lambda: [one for one in self.devices() if one["name"].startswith(lost)] and not told(), 60),
                        there)
        self.pod("again")
        self.runs("again")

    def test_what_the_server_drops_is_refused_with_words(self):
        if self.shared:
            self.skipTest("this server keeps shares of any size")
        self.agent.end(15)
        self.agent = self.start("consumable")
        self.assertTrue(until(lambda: "allowMultipleAllocations" in self.agent.said(), 60), self.agent.said())
        self.assertFalse(until(self.devices, 5), "a GPU would be given as a whole to the first claim")


if __name__ == "__main__":
    if not KUBECONFIG or not NODE or not IMAGE:
        print("skipped: ALIQUOT_TEST_KUBECONFIG, ALIQUOT_TEST_NODE and ALIQUOT_TEST_IMAGE name no real node")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
