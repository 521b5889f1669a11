#!/bin/bash
sh -c '
apt-get update
echo "deb https://apt.kubernetes.io kubernetes-xenial main" > /etc/apt/sources.list.d/kubernetes.list
'
