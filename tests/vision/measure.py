#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py BIN SIMULATED_LIBRARY [share] [python]: figures for docs, by hand; never run by ctest. Prints JSON.

share    two workers on one simulated A2: pictures a second of the modest one (4 clients) alone and beside a greedy one (16 clients),
         with the guard's 50 % and without it; three times each, the median
python   eight pictures put together and through the model, on the CPU: aliquot-vision --bench and ONNX Runtime called from Python, in
         turns, five times each; the ratio of each pair, and the median. And pictures by HTTP with decoding.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

from share_world import GUARDED, UNGUARDED, Shared
from worker import ROOT, Worker, load, real_library, write_model

PYTHON = """
import sys, time, json
sys.path.insert(0, sys.argv[1])
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[3])
options.inter_op_num_threads = 1
if sys.argv[5] == "still":
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = onnxruntime.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])
pictures = [numpy.full((3, 320, 320), 0.447, numpy.float32) for _ in range(8)]
for _ in range(2): session.run(None, {"images": numpy.stack(pictures)})
times, began = [], time.perf_counter()
while time.perf_counter() < began + float(sys.argv[4]):
    at = time.perf_counter()
    session.run(None, {"images": numpy.stack(pictures)})
    times.append(1000 * (time.perf_counter() - at))
took = time.perf_counter() - began
times.sort()
print(json.dumps({"imagesPerSecond": round(8 * len(times) / took, 2), "p50": round(times[len(times) // 2], 2),
                  "p99": round(times[int((len(times) - 1) * 0.99)], 2)}))
"""


def share(programs, library):
    simulated = {"weights_mib": 256, "sample_mib": 512, "sample_us": 10000, "batch_us": 5000}
    result = {}
    for name, config in (("guarded", GUARDED), ("unguarded", UNGUARDED)):
        with tempfile.TemporaryDirectory(prefix="vision-share-") as folder:
            world = Shared(folder, programs, library, config, "--batch 8", "--batch 4", simulated)
            world.let_modest()
            for pod in ("greedy", "modest"):
                world.wait_for(pod, r"vision\.ready")
            urls = {pod: f"http://127.0.0.1:{world.port(pod)}/v1/infer" for pod in ("greedy", "modest")}
            runs = []
            for _ in range(3):
                alone = load.load(urls["modest"], 4, 4, load.png())
                greedy = {}
                thread = threading.Thread(target=lambda: greedy.update(load.load(urls["greedy"], 16, 5, load.png())))
                thread.start()
                beside = load.load(urls["modest"], 4, 4, load.png())
                thread.join()
                runs.append({"alone": alone["picturesPerSecond"], "beside": beside["picturesPerSecond"], "greedy": greedy["picturesPerSecond"],
                             "p99Alone": alone["p99"], "p99Beside": beside["p99"]})
            world.end()
        result[name] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        result[name]["beside/alone"] = round(result[name]["beside"] / result[name]["alone"], 2)
    return result


def python(programs):
    library = real_library()
    if library is None:
        return "no ONNX Runtime in build/onnxruntime: tests/vision/get_onnxruntime brings one"
    with tempfile.TemporaryDirectory(prefix="vision-bench-") as folder:
        folder = pathlib.Path(folder)
        model = write_model(folder / "model.onnx", side=320, convolutions=4)
        pairs = []
        for _ in range(5):
            ours = json.loads(subprocess.run(
                [programs / "aliquot-vision", "--model", model, "--onnxruntime", library, "--provider", "cpu", "--threads", "2", "--batch", "8",
                 "--bench", "4"], capture_output=True, text=True, check=True).stdout)
            theirs = json.loads(subprocess.run([sys.executable, "-c", PYTHON, ROOT / "build/onnxruntime", model, "2", "4", "spin"],
                                               capture_output=True, text=True, check=True).stdout)
            pairs.append({"ours": ours["imagesPerSecond"], "python": theirs["imagesPerSecond"], "p99": ours["batchMilliseconds"]["p99"],
                          "pythonP99": theirs["p99"], "ratio": round(ours["imagesPerSecond"] / theirs["imagesPerSecond"], 3),
                          "p99Ratio": round(ours["batchMilliseconds"]["p99"] / theirs["p99"], 3)})
        worker = Worker(programs / "aliquot-vision", model, "--provider", "cpu", "--threads", "2", "--batch", "8", library=library).ready()
        http = load.load(f"http://127.0.0.1:{worker.port}/v1/infer", 16, 6, load.png(320))
        worker.end()
    return {"pairs": pairs, "medianRatio": statistics.median(pair["ratio"] for pair in pairs),
            "medianP99Ratio": statistics.median(pair["p99Ratio"] for pair in pairs), "http": http}


def main():
    programs, library, *what = sys.argv[1:]
    programs, library = pathlib.Path(programs).resolve(), pathlib.Path(library).resolve()  # a pod runs in a folder of its own
    if "share" in what or not what:
        print(json.dumps({"share": share(programs, library)}), flush=True)
    if "python" in what or not what:
        print(json.dumps({"python": python(programs)}), flush=True)


if __name__ == "__main__":
    main()
