#!/bin/bash
export NCCL_DEBUG=WARNING
export CUDA_VISIBLE_DEVICE=0
PYTORCH_CUDA_ALLOC_CONF=expandable_segment:True python train.py
