#!/bin/bash
nvidia-smi -i 0,1 -mig 1
nvidia-smi mig -i 0 -cgi 9,9 -C
nvidia-smi mig -i 1 -cgi 9,9 -C
nvidia-smi mig -dci -i 1
nvidia-smi mig -dgi -i 1
nvidia-smi mig -i 1 -cgi 0 -C
nvidia-smi mig -i 0 -cgi 19 -C
