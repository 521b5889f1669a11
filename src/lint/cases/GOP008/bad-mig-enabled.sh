#!/bin/sh
helm repo add nvidia https://helm.ngc.nvidia.com/nvidia
helm upgrade --install gpu-operator nvidia/gpu-operator -n gpu-operator --version v25.3.0 \
    --set driver.enabled=false \
    --set mig.enabled=false
helm repo add nvdp https://nvidia.github.io/k8s-device-plugin
helm upgrade --install nvdp nvdp/nvidia-device-plugin -n nvdp --version 0.17.1 \
    --set toolkit.enabled=true
