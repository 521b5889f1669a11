import subprocess

# was nvidia/cuda:12.0-base
IMAGE = "nvidia/cuda:12.4.1-base-ubuntu22.04"
HELP = 'say "docker run" for the GPU, it\'s told in the guide'
subprocess.run(["docker", "run", "--gpus", "all", IMAGE, "nvidia-smi"], check=True)
subprocess.run(f"docker run --rm --gpus all {IMAGE} nvidia-smi", shell=True, check=True)
