FROM nvidia/cuda:12.1.1-runtime-cudnn8-ubuntu22.04
CMD ["nvidia-smi"]
