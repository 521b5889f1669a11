#!/bin/bash
# ACTIONS_RUNNER_HOOK_JOB_COMPLETED: says what the job left on the GPUs of this runner. Ends with 0, as job-started.sh.
aliquot gate after --keep-going --record "${RUNNER_TEMP:-/tmp}/aliquot-gate.json" || true
