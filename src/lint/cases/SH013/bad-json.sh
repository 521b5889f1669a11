#!/bin/sh
kubectl patch clusterpolicy/cluster-policy --type merge -p '{"spec": {"devicePlugin": {"config": {"name": "time-slicing-config" "default": "any"}}}}'
