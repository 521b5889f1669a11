#!/bin/bash
kubectl taint nodes gpu-1 nvidia.com/gpu=present:NoSchedule
kubectl taint nodes gpu-1 nvidia.com/gpu-
kubectl taint nodes gpu-1 nvidia.com/gpu:NoSchedule-
kubectl label node gpu-1 nvidia.com/mig.config=all-1g.10gb example.com/rack=7
