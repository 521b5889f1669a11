#!/bin/bash
nvidia-smi -mig 1
if [ "$1" = mig-1g ]; then
    nvidia-smi mig -cgi 19,19,19,19,19,19,19 -C
elif [ "$1" = mig-2g ]; then
    nvidia-smi mig -cgi 14,14,14 -C
else
    nvidia-smi mig -cgi 9,9 -C
fi
case "$2" in
    big)
        nvidia-smi mig -cgi 0 -C
        ;;
    small)
        nvidia-smi mig -cgi 19 -C
        ;;
esac
