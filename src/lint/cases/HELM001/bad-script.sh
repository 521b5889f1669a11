#!/bin/sh
set -e
helm install gpu-operator nvidia/gpu-operator -n gpu-operator --version v25.10.1
