from kubernetes import client

resources = client.V1ResourceRequirements(
    requests={"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": 2},
    limits={"nvidia.com/gpu": 1},
)
