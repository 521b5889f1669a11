#!/bin/sh
# Does a container see the GPU?
kubectl run gpu-test --rm -it --restart=Never --image=nvidia/cuda:12.0-base -- nvidia-smi
