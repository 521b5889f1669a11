#!/bin/bash
docker run --rm --gpus '"device=0,1"' ollama/ollama:0.3.12
docker run --rm --gpus=all --runtime=nvidia ollama/ollama:0.3.12 --gpu
docker run -d --gpus 2 -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ollama/ollama:0.3.12
nvidia-smi --query-gpu=name --format=csv,noheader
