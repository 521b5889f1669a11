#!/bin/bash
cat <<'USAGE'
GPU commands
  kubectl get nodes -o json | jq '.items[].status.capacity["nvidia.com/gpu"]'
USAGE
ssh node "kubectl get nodes -o json | jq '.items[].status.capacity'"
