#!/bin/sh
docker run --rm --gpus '"device=0,1"' --shm-size 8gig nvcr.io/nvidia/pytorch:24.05-py3 python train.py
