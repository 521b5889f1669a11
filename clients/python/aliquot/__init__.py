# SPDX-License-Identifier: Apache-2.0
"""GPU jobs of one machine, from Python: what `aliquot job` does, on the socket of `aliquot serve`."""
from .jobs import (Conflict, Explanation, Forbidden, InvalidRequest, Job, JobError, Jobs, JobTimeout, NotFound,
                   Unavailable, create_gpu_job)
from .workload import calculate_gpu_requirements, detect_ml_workload, gpu_job_manifest

__all__ = ["Conflict", "Explanation", "Forbidden", "InvalidRequest", "Job", "JobError", "JobTimeout", "Jobs", "NotFound",
           "Unavailable", "calculate_gpu_requirements", "create_gpu_job", "detect_ml_workload", "gpu_job_manifest"]
