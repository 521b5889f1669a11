#!/bin/sh
kubectl get nodes -o jsonpath='{.items[*].status.allocatable.nvidia.com/gpu}'
