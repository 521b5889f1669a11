helm install gpu-operator nvidia/gpu-operator --version v24.9.1 -n gpu-operator --set mig.strategy=one
