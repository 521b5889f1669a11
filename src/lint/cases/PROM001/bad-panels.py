panels = [
    stat("GPU", 'nvidia_gpu_utilization_ratio*100', "percent"),
    stat("memory", "avg(DCGM_FI_DEV_GPU_MEMORY_USED{gpu='0'})", "decmbytes"),
]
