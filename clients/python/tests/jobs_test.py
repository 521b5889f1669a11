#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client, out of its wheel, against the real server. Arguments: the program aliquot."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent)]
import build_backend  # noqa: E402
from machine import Machine  # noqa: E402

WHEELS = tempfile.TemporaryDirectory()
sys.path.remove(str(HERE.parent))  # from here on the package is the wheel's
sys.path.insert(0, os.path.join(WHEELS.name, build_backend.build_wheel(WHEELS.name)))
import aliquot  # noqa: E402

os.environ["ALIQUOT"] = PROGRAM


class JobsTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine(PROGRAM).__enter__()
        self.addCleanup(self.machine.__exit__, None, None, None)
        self.jobs = aliquot.Jobs(self.machine.server)

    def create(self, script, task="task", **fields):
        return self.jobs.create_gpu_job(task_id=task, command=["sh", "-c", script], workdir=str(self.machine.path), **fields)

    def test_the_package_is_the_wheels(self):
        self.assertIn(".whl", aliquot.__file__)
        with tempfile.TemporaryDirectory() as again:
            made = os.path.join(again, build_backend.build_wheel(again))
            first = os.path.join(WHEELS.name, os.path.basename(made))
            self.assertEqual(pathlib.Path(made).read_bytes(), pathlib.Path(first).read_bytes())
            self.assertTrue(os.path.exists(os.path.join(again, build_backend.build_sdist(again))))

    def test_a_job_runs_and_tells_its_output_and_end(self):
        job = self.create("echo $MODEL $TASK_ID; exit 3", gpu_count=1, env={"MODEL": "resnet"}, retries=0)
        self.assertIsInstance(job, str)
        ended = self.jobs.wait(job, timeout=60)
        self.assertEqual((ended["state"], ended["exitCode"], ended["cause"]), ("Failed", 3, "program"))
        self.assertEqual(b"".join(self.jobs.logs(job)), b"resnet task\n")
        self.assertEqual([one["id"] for one in self.jobs.list("ended")], [int(job)])
        self.jobs.delete_gpu_job(job)
        self.assertEqual(list(self.jobs.list("all")), [])

    def test_output_is_followed_until_the_end(self):
        job = self.create("echo one; while [ ! -e go ]; do sleep 0.05; done; echo two")
        seen = []
        for part in self.jobs.logs(job, follow=True):
            seen.append(part)
            (self.machine.path / "go").touch()
        self.assertEqual(b"".join(seen), b"one\ntwo\n")
        self.assertEqual(self.jobs.wait(job, timeout=60)["state"], "Succeeded")

    def test_a_job_that_waits_is_explained_and_cancelled(self):
        first = self.create("sleep 1000", "first", gpu_count=2)
        second = self.create("true", "second", gpu_count=2)
        with self.assertRaisesRegex(aliquot.JobTimeout, "still Queued"):
            self.jobs.wait(second, timeout=0.2)
        told = self.jobs.explain(second)
        self.assertEqual(told["why"], "all GPUs are in use")
        self.assertEqual(self.jobs.cancel(second)["state"], "Cancelled")
        self.jobs.cancel(first)
        self.assertEqual(self.jobs.wait(first, timeout=60)["state"], "Cancelled")
        self.assertIn(self.jobs.retry(first)["state"], ("Requeued", "Starting", "Running"))

    def test_a_job_is_suspended_and_resumed(self):
        job = self.create("echo begun; while [ ! -e go ]; do sleep 0.05; done", gpu_count=2)
        for part in self.jobs.logs(job, follow=True):
            break  # it runs
        waits = self.create("sleep 1000", "other", gpu_count=2)
        self.assertEqual([one["id"] for one in self.jobs.pending()], [int(waits)])
        with self.assertRaisesRegex(aliquot.Conflict, "only one that is suspended"):
            self.jobs.resume(job)
        self.assertEqual(self.jobs.suspend(waits)["state"], "Suspended")
        self.assertIn(self.jobs.suspend(job)["state"], ("Suspending", "Suspended"))
        end = time.monotonic() + 60
        while self.jobs.get(job)["state"] != "Suspended" and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.jobs.get(job)["state"], "Suspended")
        self.assertEqual(self.jobs.get(job)["devices"], [])
        (self.machine.path / "go").touch()
        self.jobs.resume(job)
        ended = self.jobs.wait(job, timeout=60)
        self.assertEqual((ended["state"], ended["attempt"]), ("Succeeded", 2))
        self.assertEqual(self.jobs.cancel(waits)["state"], "Cancelled")

    def test_a_gang_has_its_devices_and_ends_when_one_member_does(self):
        gang = self.create("echo $RANK of $WORLD_SIZE: $(echo $CUDA_VISIBLE_DEVICES | tr , ' ' | wc -w)", "gang", gang=2)
        self.assertEqual(self.jobs.wait(gang, timeout=60)["state"], "Succeeded")
        lines = sorted(b"".join(self.jobs.logs(gang)).splitlines())
        self.assertEqual(lines, [b"0 of 2: 1", b"1 of 2: 1"])
        fails = self.create("[ $RANK = 0 ] && exit 7; sleep 1000", "fails", gang=2, retries=0)
        ended = self.jobs.wait(fails, timeout=60)
        self.assertEqual((ended["state"], ended["exitCode"]), ("Failed", 7))
        with self.assertRaisesRegex(aliquot.InvalidRequest, "gang: 4 times 1 GPU"):
            self.create("true", "large", gang=4)

    def test_the_same_task_is_one_job_and_another_one_a_conflict(self):
        job = self.create("sleep 1000")
        self.assertEqual(self.create("sleep 1000"), job)
        with self.assertRaisesRegex(aliquot.Conflict, "command"):
            self.create("sleep 1001")

    # R31.
    def test_many_threads_submit_and_none_is_lost(self):
        def submit(number):
            for i in range(20):
                self.jobs.submit({"name": "many", "command": ["true"], "gpu_memory": "1Gi"}, f"{number}-{i}")
        threads = [threading.Thread(target=submit, args=(i,)) for i in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        every = list(self.jobs.list("all"))
        self.assertEqual(len({one["id"] for one in every}), 160)
        self.assertEqual({self.jobs.wait(one["id"], timeout=120)["state"] for one in every}, {"Succeeded"})

    def test_refusals_are_errors_with_the_field(self):
        for fields, words in (({"gpu_count": 3}, "gpu_count: 3"), ({"gpu_type": "gtx"}, "gpu_type"),
                              ({"memory": "lots"}, "memory"), ({"image": "agent_bus:latest"}, "image"),
                              ({"colour": "red"}, "colour")):
            with self.assertRaisesRegex(aliquot.InvalidRequest, words):
                self.create("true", **fields)
        self.assertEqual(list(self.jobs.list("all")), [])
        with self.assertRaises(aliquot.NotFound):
            self.jobs.get(4711)
        with self.assertRaises(aliquot.InvalidRequest):
            self.jobs.get("../server")
        with self.assertRaisesRegex(aliquot.Unavailable, "aliquot serve"):
            list(aliquot.Jobs("unix:/no/such/socket").list())
        self.assertEqual(len(self.jobs.describe_server()["devices"]), 2)


PODMAN = """#!/bin/sh
# Stands in for podman: notes what it is asked, and runs what stands behind the image.
echo "$@" >>"$(dirname "$0")/asked"
[ "$1" = run ] || exit 0
while [ "$1" != trainer:1.4 ]; do shift; done
shift
exec "$@"
"""


class ContainerTest(unittest.TestCase):
    def test_a_job_with_an_image_runs_in_a_container_that_is_removed(self):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory, "podman")
            program.write_text(PODMAN)
            program.chmod(0o755)
            pathlib.Path(directory).chmod(0o777)
            with Machine(PROGRAM, "--container", str(program)) as machine:
                jobs = aliquot.Jobs(machine.server)
                job = jobs.create_gpu_job(task_id="t", image="trainer:1.4", gpu_count=1, memory="1Gi", cpu="1500m",
                                          command=["sh", "-c", "echo in $MODEL"], env={"MODEL": "resnet"},
                                          workdir=str(machine.path))
                self.assertEqual(jobs.wait(job, timeout=60)["state"], "Succeeded")
                self.assertEqual(b"".join(jobs.logs(job)), b"in resnet\n")
                with self.assertRaisesRegex(aliquot.InvalidRequest, "image: with a share"):
                    jobs.create_gpu_job(task_id="s", image="trainer:1.4", command=["true"], gpu_memory="1Gi")
            before, run, after = pathlib.Path(directory, "asked").read_text().splitlines()
            name = f"aliquot-job-{job}-1"
            self.assertEqual((before, after), (f"rm --force {name}",) * 2)
            self.assertTrue(run.startswith(f"run --rm --name {name} "), run)
            for words in ("--env MODEL", "--memory 1073741824", "--cpus 1.500", f"--workdir {machine.path}"):
                self.assertIn(f" {words} ", run)
            self.assertNotIn("resnet", run)  # a value that other users could read in the list of processes


class NoSessionTest(unittest.TestCase):
    """A user in a shell of `su`: no XDG_RUNTIME_DIR, and /run is root's."""

    USER = 65534

    def as_user(self, home, *words, **more):
        return subprocess.run(words, env={"PATH": os.environ["PATH"], "HOME": home}, user=self.USER, group=self.USER,
                              capture_output=True, text=True, timeout=60, check=False, **more)

    def test_server_program_and_client_mean_the_same_place(self):
        if os.geteuid() != 0 or os.path.exists("/run/aliquot/jobs.sock"):
            self.skipTest("needs root, and no server of root's")
        with tempfile.TemporaryDirectory() as home:
            os.chmod(home, 0o777)
            try:
                self.as_user(home, PROGRAM, "version")
            except PermissionError:
                self.skipTest("another user cannot run the program where it was built")
            socket = f"{home}/.local/state/aliquot/jobs.sock"
            server = subprocess.Popen([PROGRAM, "serve", "--gpu", "a2", "--container", "none"], env={"PATH": os.environ["PATH"], "HOME": home},
                                      user=self.USER, group=self.USER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.addCleanup(server.communicate, timeout=30)
            self.addCleanup(server.terminate)
            self.assertIn(f"serving jobs at unix:{socket}", server.stdout.readline())
            done = self.as_user(home, PROGRAM, "job", "list")
            self.assertEqual(done.returncode, 0, done.stderr)
            client = "import sys; sys.path.insert(0, sys.argv[1]); import aliquot; print(aliquot.jobs.usual_server())"
            shutil.copytree(HERE.parent / "aliquot", os.path.join(home, "client/aliquot"))
            done = self.as_user(home, "/usr/bin/env", "python3", "-B", "-c", client, os.path.join(home, "client"))
            self.assertEqual(done.stdout.strip(), f"unix:{socket}", done.stderr)


class WorkloadTest(unittest.TestCase):
    def test_texts_are_judged_as_the_program_judges_them(self):
        text = "Fine-tune a 7B model on two A100 80GB"
        self.assertTrue(aliquot.detect_ml_workload(text))
        self.assertEqual(aliquot.calculate_gpu_requirements(text),
                         {"gpu_count": 2, "gpu_type": "a100", "memory": "32Gi", "gpu_memory_gib": 80})
        self.assertFalse(aliquot.detect_ml_workload("Read the CVE list; no GPU needed"))
        self.assertEqual(aliquot.calculate_gpu_requirements("resize photos for the web page")["gpu_count"], 0)

    def test_keywords_alone_always_name_a_gpu(self):
        self.assertTrue(aliquot.detect_ml_workload("recv a CVE", keywords_only=True))
        for text, want in (("a billion rows", (4, "a100", "64Gi")), ("training", (1, "a100", "32Gi")),
                           ("a web page", (1, "v100", "16Gi"))):
            found = aliquot.calculate_gpu_requirements(text, keywords_only=True)
            self.assertEqual((found["gpu_count"], found["gpu_type"], found["memory"]), want)

    def test_the_manifest_is_that_of_the_template(self):
        job = aliquot.gpu_job_manifest(task_id="ml_task_123", image="agent_bus:latest", gpu_count=1, gpu_type="v100",
                                       memory="16Gi", cpu="8000m", command=["python", "-m", "src.workers.worker"],
                                       env={"WORKER_TYPE": "gpu", "TASK_ID": "ml_task_123"})
        container = job["spec"]["template"]["spec"]["containers"][0]
        self.assertRegex(job["metadata"]["name"], "^gpu-ml-task-123-[0-9a-f]{8}$")
        self.assertEqual(container["resources"]["limits"], {"memory": "16Gi", "cpu": "8000m", "nvidia.com/gpu": "1"})
        with self.assertRaisesRegex(aliquot.InvalidRequest, "image"):
            aliquot.gpu_job_manifest("t", "")


if __name__ == "__main__":
    unittest.main()
