from kubernetes import client

GPU = "nvidia.com/gpu"


def container(name, image, gpus, **more):
    limits = {"nvidia.com/gpu": str(gpus)}
    half = {"weight": 0.5, "gpu": "0.5 of them"}
    return client.V1Container(
        name=name,
        image=image,
        resources=client.V1ResourceRequirements(limits={"nvidia.com/gpu": f"{gpus}", "cpu": "2", "memory": "8Gi"}),
        **more,
    )
