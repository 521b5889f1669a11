#!/bin/bash
# Node with an NVIDIA L40S
nvidia-smi -i 0 -mig 1
nvidia-smi mig -cgi 19,19 -C
