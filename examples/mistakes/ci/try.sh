#!/bin/sh
# Does a pod of a runner see the GPU?
kubectl run gpu-test --rm -it --restart=Never --image=nvidia/cuda:12.1.0-base-ubuntu22.04 --limits=nvidia.com/gpu=1 -- nvidia-smi
