#!/bin/sh
set -e
nvidia-smi -i 0 -mig 1
nvidia-smi mig -lgip
nvidia-smi mig -i 0 -cgi 9,9 -C
nvidia-cuda-mps-control -d
echo get_server_list | nvidia-cuda-mps-control
