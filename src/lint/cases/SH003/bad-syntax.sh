#!/bin/sh
set -e
nvidia-smi mig enable
nvidia-cuda-mps-control status
