helm repo add nvidia https://helm.ngc.nvidia.com/nvidia
helm upgrade --install gpu-operator nvidia/gpu-operator `
  --namespace gpu-operator --create-namespace --version v25.3.4 `
  --set mig.enabled=true
