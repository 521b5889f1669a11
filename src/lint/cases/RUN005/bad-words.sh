#!/bin/bash
nvidia-smi --query-gpu=name,gpu.temperature --format=csv
nvidia-smi --query-gpu=name --format=csv,noheaders
nvidia-ctk runtime config --runtime=docker
nvidia-ctk cdi generate --ouput=/etc/cdi/nvidia.yaml
