"""Starts a pod for a notebook."""


def pod(name, image, cpu):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"notebook-{name}"},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "resources": {
                        "requests": {"cpu": cpu, "memory": "8Gi"},
                        "limits": {"nvidia.com/gpu": 0.5},
                    },
                }
            ],
        },
    }
