#!/bin/bash
CMD="kubectl run a --image=example.com/test:1 --limits=nvidia.com/gpu=1 -- nvidia-smi"
az aks command invoke --name gpu --command "kubectl run b --image=example.com/test:1 --limits=nvidia.com/gpu=1"
ssh gpu-node 'sudo kubectl run c --image=example.com/test:1 --limits=nvidia.com/gpu=1'
echo "Test it: kubectl run d --image=example.com/test:1 --limits=nvidia.com/gpu=1 -- nvidia-smi"
cat <<'USAGE'
Next steps
  1. Wait for the nodes.
  2. Test them:
  kubectl run e --image=example.com/test:1 \
    --limits=nvidia.com/gpu=1 -- nvidia-smi
USAGE
