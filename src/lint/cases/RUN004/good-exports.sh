#!/bin/bash
export NCCL_DEBUG=warn
export CUDA_VISIBLE_DEVICES=0
export NCCL_IB_SL=1
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512 python train.py
