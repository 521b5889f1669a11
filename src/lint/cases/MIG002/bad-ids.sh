#!/bin/bash
nvidia-smi -i 0 -mig 1
nvidia-smi mig -cgi 7 -C
