#!/bin/sh
kubectl label node gpu-1 nvidia.com/mig.config = all-1g.10gb
