# SPDX-License-Identifier: Apache-2.0
"""Whether a text asks for a GPU and for how much, and the Kubernetes Job of a request: answered by the program
`aliquot`, which is found by the variable ALIQUOT or on PATH."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Mapping, Sequence

from .jobs import InvalidRequest, JobError, Unavailable

_LIMIT = 60.0
_MOST_GPUS = 16


def detect_ml_workload(requirements: str, keywords_only: bool = False) -> bool:
    """Whether the text asks for a GPU. keywords_only: by fourteen words alone, wherever they stand."""
    return bool(_detected(requirements, keywords_only)["label"] == "gpu")


def calculate_gpu_requirements(requirements: str, keywords_only: bool = False) -> dict[str, Any]:
    """gpu_count, gpu_type, memory: what create_gpu_job() takes. A text that asks for no GPU has gpu_count 0;
    with keywords_only every text gets one. gpu_memory_gib is what each GPU must have, where that is known."""
    found = _detected(requirements, keywords_only)
    if keywords_only:
        return {"gpu_count": found["gpu_count"], "gpu_type": found["gpu_type"],
                "memory": f"{found['gpu_memory_gib']}Gi"}
    if found["label"] == "cpu":
        return {"gpu_count": 0, "gpu_type": "any", "memory": ""}
    count, gpu_type = int(found["gpu_count"] or 1), str(found["gpu_type"] or "any")
    answer: dict[str, Any] = {"gpu_count": count, "gpu_type": gpu_type, "memory": _memory_of(count, gpu_type)}
    if found["gpu_memory_gib"] is not None:
        answer["gpu_memory_gib"] = found["gpu_memory_gib"]
    return answer


def gpu_job_manifest(task_id: str, image: str, gpu_count: int = 1, gpu_type: str = "v100", memory: str = "",
                     cpu: str = "", command: Sequence[str] = (), env: Mapping[str, str] | None = None,
                     **fields: Any) -> dict[str, Any]:
    """The Kubernetes Job of a request, as `aliquot job template` prints it: for any Kubernetes client to create."""
    request = {"task_id": task_id, "image": image, "gpu_count": gpu_count, "gpu_type": gpu_type, "memory": memory,
               "cpu": cpu, "command": list(command), "env": dict(env or {}), **fields}
    manifest: dict[str, Any] = _run(["job", "template", "-f", "-", "-o", "json"], json.dumps(request))
    return manifest


def _detected(text: str, keywords_only: bool) -> dict[str, Any]:
    words = ["detect", "--kind", "text", "-o", "json"] + (["--keywords-only"] if keywords_only else []) + ["-"]
    found: dict[str, Any] = _run(words, text)["items"][0]
    return found


def _memory_of(count: int, gpu_type: str) -> str:
    manifest = gpu_job_manifest("sized", "sized", min(count, _MOST_GPUS), gpu_type, any_gpu_count=True)
    return str(manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"])


def _run(words: Sequence[str], text: str) -> Any:
    program = os.environ.get("ALIQUOT", "") or "aliquot"
    try:
        done = subprocess.run([program, *words], input=text.encode(errors="replace"), capture_output=True,
                              timeout=_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise Unavailable(f"{program}: {why}; install aliquot, or name it by ALIQUOT") from why
    if done.returncode == 2:
        raise InvalidRequest(done.stderr.decode(errors="replace").strip().removeprefix("aliquot: "))
    if done.returncode != 0:
        raise JobError(done.stderr.decode(errors="replace").strip() or f"{program}: exit code {done.returncode}")
    return json.loads(done.stdout)
