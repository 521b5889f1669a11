#!/bin/sh
kubectl get nodes -o json | jq '.items[0].status | .capacity["nvidia.com/gpu"]'
kubectl get nodes -o json | jq '.items[0]' | grep -A3 '"capacity"'
