#!/bin/sh
# Three slices of an A100 for three pods.
nvidia-smi mig -cgi 19,19,19 -C
