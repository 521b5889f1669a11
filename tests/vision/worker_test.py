#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""worker_test.py PROGRAM SIMULATED_LIBRARY: the vision worker as a process, with the simulated ONNX Runtime and, where
tests/vision/get_onnxruntime has brought it, with the real one."""
import base64
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from worker import Worker, detections, load, many, png_bomb, real_library, write_model

PROGRAM, SIMULATED = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
PICTURE = load.png(64)
CAT = {"class": 0, "label": "cat", "score": 0.9, "box": {"left": 8, "top": 8, "right": 40, "bottom": 40}}


class Case(unittest.TestCase):
    library = str(SIMULATED)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vision-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = write_model(self.folder / "detector.onnx")

    def worker(self, *options, model=None, **more):
        worker = Worker(PROGRAM, model or self.model, "--provider", "cpu", *options, library=self.library, **more)
        self.addCleanup(worker.end, signal.SIGKILL)
        return worker.ready()


class Behaviour(Case):
    def test_a_picture_gives_boxes(self):
        worker = self.worker()
        status, text = worker.infer(PICTURE)
        self.assertEqual(status, 200, text)
        self.assertEqual(detections(text)[0], CAT)
        status, text = worker.infer(json.dumps({"image": base64.b64encode(PICTURE).decode(), "confidence": 0.7}), "application/json")
        self.assertEqual(status, 200, text)
        self.assertEqual(len(detections(text)), 1)
        self.assertEqual(json.loads(worker.ask("GET", "/v1/model")[1])["provider"], "cpu")

    def test_bad_pictures_are_clear_errors_and_it_goes_on(self):
        worker = self.worker()
        for body, status, words in ((b"", 400, "no bytes"), (b"hello", 415, "expected a JPEG"), (PICTURE[:200], 400, "broken"),
                                    (png_bomb(60000, 60000), 400, "60000x60000"), (png_bomb(4000, 4000), 400, "broken"),
                                    (b"\xff\xd8" + b"\xff" * 5000, 400, "JPEG")):
            code, text = worker.infer(body)
            self.assertEqual(code, status, text)
            self.assertIn(words, text)
        self.assertEqual(worker.infer(PICTURE)[0], 200)

    def test_a_thousand_clients_are_all_answered(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if most != resource.RLIM_INFINITY and most < 4 * 1100:  # a server gives a quarter to connections
            self.skipTest(f"at most {most} descriptors a process here; 4400 are needed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most if most != resource.RLIM_INFINITY else 65536, most))
        worker = self.worker("--most-waiting", "300")
        answers = many(worker.port, 1000, PICTURE)
        by_status = {}
        for status, text in answers:
            by_status.setdefault(status, []).append(text)
        self.assertLessEqual(set(by_status), {200, 503}, {key: value[0] for key, value in by_status.items()})
        self.assertTrue(by_status.get(200))
        for text in by_status.get(503, []):
            self.assertIn("pictures wait already", text)
        self.assertEqual(worker.infer(PICTURE)[0], 200)
        self.assertEqual(worker.metric("vision_requests_waiting"), 0)

    def test_sigterm_answers_what_was_asked(self):
        worker = self.worker("--batch-wait", "200ms")
        results = []
        threads = [threading.Thread(target=lambda: results.append(many(worker.port, 20, PICTURE))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({status for answers in results for status, _ in answers}, {200})
        self.assertEqual(worker.end(), 0, worker.words())
        self.assertIn("vision.ending", worker.words())

    def test_killed_and_started_again_it_serves(self):
        self.assertEqual(self.worker().end(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(self.worker().infer(PICTURE)[0], 200)

    def test_a_folder_is_gone_through_in_order(self):
        pictures = self.folder / "pictures"
        pictures.mkdir()
        for i in range(9):
            (pictures / f"{i}.png").write_bytes(PICTURE)
        (pictures / "5.png").write_bytes(PICTURE[:300])
        done = subprocess.run([PROGRAM, "--model", self.model, "--provider", "cpu", "--onnxruntime", self.library, "--folder", pictures],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["name"] for line in lines], [f"{i}.png" for i in range(9)])
        self.assertIn("broken", lines[5]["error"])
        self.assertEqual(lines[0]["detections"][0], CAT)


    def test_no_picture_of_a_folder_is_too_late(self):
        pictures = self.folder / "many"
        pictures.mkdir()
        for i in range(100):
            (pictures / f"{i:03}.png").write_bytes(PICTURE)
        done = subprocess.run([PROGRAM, "--model", self.model, "--provider", "cpu", "--onnxruntime", self.library, "--folder", pictures,
                               "--timeout", "10ms", "--run-limit", "30s"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-500:])
        self.assertEqual(done.stdout.count('"detections"'), 100)


class ADeviceThatHangs(Case):
    def test_it_is_told_and_the_worker_ends_all_the_same(self):
        hangs = self.folder / "hangs"
        model = write_model(self.folder / "hanging.onnx", hangs_while=hangs)
        worker = self.worker("--run-limit", "200ms", model=model)
        self.assertEqual(worker.infer(PICTURE)[0], 200)
        hangs.touch()
        status, text = worker.infer(PICTURE)
        self.assertEqual(status, 503, text)
        self.assertIn("has not answered for 200ms", text)
        self.assertEqual(worker.metric("vision_ready"), 0)
        self.assertEqual(worker.end(), 3, worker.words())
        self.assertIn("vision.device_stalled", worker.words())

    def test_a_model_that_never_gets_warm_is_no_life(self):
        hangs = self.folder / "hangs"
        hangs.touch()
        model = write_model(self.folder / "hanging.onnx", hangs_while=hangs)
        worker = Worker(PROGRAM, model, "--provider", "cpu", "--run-limit", "10ms", library=self.library)
        self.addCleanup(worker.end, signal.SIGKILL)
        until = time.monotonic() + 60
        while worker.ask("GET", "/healthz")[0] == 200 and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(worker.ask("GET", "/healthz")[0], 503)
        self.assertEqual(worker.ask("GET", "/readyz")[0], 503)


class WithTheRealRuntime(Behaviour):
    library = real_library()

    def setUp(self):
        if self.library is None:
            self.skipTest("no ONNX Runtime in build/onnxruntime: tests/vision/get_onnxruntime brings one")
        super().setUp()


class Start(Case):
    def run_it(self, *words):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    def test_what_is_wrong_is_said_with_its_exit_code(self):
        cases = ((["--model", "m.engine"], 2, "an engine of TensorRT"),
                 (["--model", "/no/such.onnx", "--onnxruntime", self.library], 3, "/no/such.onnx"),
                 (["--model", self.model, "--onnxruntime", "/no/such.so"], 3, "no such library: /no/such.so"),
                 (["--model", __file__, "--onnxruntime", self.library, "--provider", "cpu"], 2, "model: "),
                 (["--model", self.model, "--onnxruntime", self.library, "--provider", "cuda"], 3, "CUDA"),
                 (["--model", self.model, "--folder", "/no/such", "--onnxruntime", self.library, "--provider", "cpu"], 3, "--folder"))
        for words, code, text in cases:
            got, said = self.run_it(*(["--listen", "127.0.0.1:0"] + list(words)))
            self.assertEqual(got, code, said)
            self.assertIn(text, said)

    def test_help_has_an_example(self):
        done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn("aliquot-vision --model yolov8n.onnx", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
