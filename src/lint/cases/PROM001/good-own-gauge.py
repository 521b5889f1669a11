from prometheus_client import Gauge

LOAD = Gauge("nvidia_gpu_utilization", "what NVML says", ["gpu"])
FIELDS = {"nvidia_gpu_utilization": LOAD}
QUERY = "max(nvidia_gpu_utilization) > 90"
