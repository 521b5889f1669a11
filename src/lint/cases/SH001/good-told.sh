#!/bin/bash
command -v kubectl >/dev/null || echo "kubectl not found; see --limits in the guide"
helm status gpu-operator -n gpu-operator || echo "helm install of the gpu-operator failed"
nvidia-smi -L || { echo "nvidia-smi mig failed: no driver"; exit 1; }
LIMITS="--limits=nvidia.com/gpu=1"
echo "Next: kubectl apply -f job.yaml, then kubectl get pods"
log "docker run needs --gpus all"
cat <<'USAGE'
usage: train.sh [--limits GPUS]
  kubectl and helm have to be installed.
USAGE
