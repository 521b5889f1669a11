#!/bin/sh
kubectl create quota team --hard=pods=10,nvidia.com/gpu=4
kubectl create quota other --hard=requests.nvidia.com/gpu=4
