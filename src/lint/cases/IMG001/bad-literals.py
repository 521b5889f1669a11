import subprocess

IMAGE = "nvidia/cuda:12.0-base"
subprocess.run("docker run --rm --gpus all nvidia/cuda:11.8-base nvidia-smi", shell=True, check=True)
MANIFEST = """
apiVersion: v1
kind: Pod
metadata:
  name: gpu-test
spec:
  restartPolicy: Never
  containers:
  - name: test
    image: nvidia/cuda:12.2-runtime
    resources:
      limits:
        nvidia.com/gpu: 1
"""
