#!/bin/bash
nvidia-smi -i 0 -mig 1
nvidia-smi -i 1 -mig 1
nvidia-smi mig -i 0 -cgi 14,14,14,19 -C
nvidia-smi mig -i 1 -cgi 9,9 -C
nvidia-smi mig -cgi 0 -C -i 2
