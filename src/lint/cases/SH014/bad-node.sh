#!/bin/bash
kubectl taint nodes gpu-1 nvidia.com/gpu=present:NoSchedul
kubectl taint nodes gpu-1 nvidia.com/gpu=present
kubectl label node gpu-1 nvidia.com/mig-config=all-1g.10gb
