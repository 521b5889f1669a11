#!/bin/bash
if command -v nvidia-ctk; then nvidia-ctk --version; fi
nvidia-smi --query-gpu=name,temperature.gpu --format=csv,noheader,nounits
nvidia-smi --query-compute-apps pid,used_memory --format csv
nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml
nvidia-ctk cdi list
