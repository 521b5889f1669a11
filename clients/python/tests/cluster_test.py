#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client against a controller's job API, with no more rights than `aliquot install --jobs-api` gives it, at a simulated API
server whose roles decide. Arguments: the program aliquot, kube-apiserver-sim."""
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SERVER, PROGRAM = os.path.abspath(sys.argv.pop(2)), os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent))
import aliquot  # noqa: E402

PATIENCE = 60.0
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "jobs", "namespace": "vision"},
        "rules": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "list", "patch", "delete"]},
                  {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]}
BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "jobs", "namespace": "vision"},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "jobs"},
           "subjects": [{"kind": "User", "name": "mia", "apiGroup": "rbac.authorization.k8s.io"}]}


def kubeconfig(url, ca, token):
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": str(ca)}}],
                       "users": [{"name": "u", "user": {"token": token}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.start_api_server()
        cls.install()
        cls.start_controller()

    @classmethod
    def start(cls, name, words):
        log = open(cls.path / name, "wb")
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
        cls.addClassCleanup(lambda: (process.terminate(), process.wait(PATIENCE), log.close()))
        return process

    @classmethod
    def told(cls, name, process, pattern):
        end = time.monotonic() + PATIENCE
        while True:
            text = (cls.path / name).read_text()
            if found := re.search(pattern, text):
                return found
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(text)
            time.sleep(0.02)

    @classmethod
    def start_api_server(cls):
        process = cls.start("api", [
            SERVER, "--rbac", "--directory", str(cls.path / "sim"), "--token", "mia=mia,system:authenticated", "--token",
            "controller=system:serviceaccount:aliquot-system:aliquot-controller,system:serviceaccounts,system:authenticated"])
        cls.url = cls.told("api", process, r"https=(\S+)").group(1)
        cls.ca = cls.path / "sim/ca.crt"
        for space in ("vision", "audio"):
            cls.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/vision/"
        cls.create(roles + "roles", ROLE)
        cls.create(roles + "rolebindings", BINDING)

    @classmethod
    def admin(cls, method, path, body=None):
        request = urllib.request.Request(cls.url + path, json.dumps(body).encode() if body else None, method=method,
                                         headers={"Authorization": "Bearer " + (cls.path / "sim/admin.token").read_text().strip(),
                                                  "Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=str(cls.ca)), timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    @classmethod
    def create(cls, path, body):
        return cls.admin("POST", path, body)

    @classmethod
    def install(cls):
        done = subprocess.run([PROGRAM, "install", "--jobs-api", "jobs-tls", "--no-wait", "--kubeconfig", str(cls.path / "sim/kubeconfig")],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)

    @classmethod
    def start_controller(cls):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                        str(cls.path / "tls.key"), "-out", str(cls.path / "tls.crt")], check=True, capture_output=True)
        # The file that the installation has made, with the certificate where it is here.
        made = cls.admin("GET", "/api/v1/namespaces/aliquot-system/configmaps/aliquot-jobs-api")["data"]["web.yaml"]
        (cls.path / "web.yaml").write_text(made.replace("/etc/aliquot/jobs-tls", str(cls.path)))
        (cls.path / "controller.json").write_text(kubeconfig(cls.url, cls.ca, "controller"))
        process = cls.start("controller", [
            str(pathlib.Path(PROGRAM).parent / "aliquot-controller"), "--kubeconfig", str(cls.path / "controller.json"), "--namespace",
            "aliquot-system", "--webhook-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--drain", "0s", "--log-format",
            "json", "--jobs-listen", "127.0.0.1:0", "--jobs-web-config", str(cls.path / "web.yaml")])
        cls.port = int(cls.told("controller", process, r'"jobs_port":"?(\d+)').group(1))

    def jobs(self, token="mia", namespace="vision"):
        return aliquot.Jobs(f"https://localhost:{self.port}", token=token, ca_file=str(self.path / "tls.crt"), namespace=namespace)

    def test_a_job_is_made_seen_suspended_cancelled_and_deleted(self):
        jobs = self.jobs()
        name = jobs.create_gpu_job(task_id="ml_task_123", image="trainer:1.4", gpu_count=2, command=["python3", "train.py"])
        made = self.admin("GET", f"/apis/batch/v1/namespaces/vision/jobs/{name}")
        self.assertEqual(made["spec"]["template"]["spec"]["containers"][0]["image"], "trainer:1.4")
        self.assertEqual(jobs.get(name)["user"], "mia")
        self.assertEqual([one["id"] for one in jobs.list()], [name])
        self.assertIn("why", jobs.explain(name))
        self.assertIsInstance(jobs.pending(), list)
        self.assertEqual(list(jobs.logs(name)), [])
        self.assertEqual(jobs.suspend(name)["state"], "Suspended")
        self.assertNotEqual(jobs.resume(name)["state"], "Suspended")
        self.assertEqual(jobs.cancel(name)["state"], "Cancelled")
        self.assertEqual(jobs.wait(name, timeout=PATIENCE)["state"], "Cancelled")
        self.assertNotEqual(jobs.retry(name)["state"], "Cancelled")
        jobs.cancel(name)
        jobs.delete_gpu_job(name)
        with self.assertRaises(aliquot.NotFound):
            jobs.get(name)

    def test_pages_of_a_list_are_one(self):
        jobs = self.jobs()
        names = {jobs.submit({"name": f"page-{i}", "image": "i:1"})[0]["id"] for i in range(3)}
        self.assertLessEqual(names, {one["id"] for one in jobs.list("all")})
        for name in names:
            jobs.cancel(name)

    def test_who_may_not_is_refused_in_words(self):
        with self.assertRaisesRegex(aliquot.Forbidden, "a role of mia must allow: list jobs in the namespace audio"):
            list(self.jobs(namespace="audio").list())
        with self.assertRaisesRegex(aliquot.Forbidden, "a token of this cluster is needed"):
            self.jobs(token="stranger").get("x")
        with self.assertRaisesRegex(aliquot.InvalidRequest, "expected its name"):
            self.jobs().get("../x")
        with self.assertRaisesRegex(aliquot.InvalidRequest, "image"):
            self.jobs().create_gpu_job(task_id="t", gpu_count=1)

    def test_a_certificate_that_nobody_has_signed_is_not_believed(self):
        with self.assertRaisesRegex(aliquot.Unavailable, "certificate"):
            aliquot.Jobs(f"https://localhost:{self.port}", token="mia").get("x")


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("skipped: needs openssl")
        sys.exit(77)
    unittest.main()
