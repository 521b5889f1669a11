#!/bin/bash
docker run --rm --gpus device=0,1 ollama/ollama:0.3.12
docker run --rm --runtime=nvdia ollama/ollama:0.3.12
docker run --rm --gpu all ollama/ollama:0.3.12
nvidia-smi --querry-gpu=name --format=csv
