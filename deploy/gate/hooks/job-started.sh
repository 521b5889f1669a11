#!/bin/bash
# ACTIONS_RUNNER_HOOK_JOB_STARTED: writes down how the GPUs of this runner are. Ends with 0: a hook that fails fails the job.
aliquot gate before --keep-going --record "${RUNNER_TEMP:-/tmp}/aliquot-gate.json" || true
