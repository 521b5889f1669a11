#!/bin/bash
curl -sfL https://get.k3s.io | sh -
helm repo add nvidia https://helm.ngc.nvidia.com/nvidia
helm upgrade --install gpu-operator nvidia/gpu-operator --version v26.3.0 --set driver.enabled=false
