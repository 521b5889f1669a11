FROM nvidia/cuda:12.0-base
USER 1000
