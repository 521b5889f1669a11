#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPU jobs from code, on one machine: queues one job for each argument at `aliquot serve`, and waits for all.

The same call twice is one job: its name comes from what it asks for."""
import sys

from aliquot import Jobs

PROGRAM = "import os; print('computes on', os.environ['CUDA_VISIBLE_DEVICES'])"

jobs = Jobs()
numbers = {task: jobs.create_gpu_job(task_id=task, gpu_count=1, memory="16Gi", command=["python3", "-c", PROGRAM], env={"TASK_ID": task})
           for task in sys.argv[1:]}
for task, number in numbers.items():
    state = jobs.wait(number)["state"]
    print(task, state, b"".join(jobs.logs(number)).decode().strip())
