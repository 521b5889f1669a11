#!/bin/bash
kubectl apply -f gpu-deployment.yaml
echo "1. Watch GPU utilization with: kubectl top nodes"
echo "2. Watch the pods: kubectl top pods"
echo "3. CPU of GPU nodes: kubectl top nodes"
