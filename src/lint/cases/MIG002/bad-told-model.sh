#!/bin/bash
# A100 80GB
nvidia-smi -i 0 -mig 1
nvidia-smi mig -cgi 3g.20gb,3g.20gb -C
