#!/bin/sh
# Ubuntu 24.04 server with V100s or A100s: NVIDIA's driver without a display. As root; stops at the first thing that is
# wrong. Run it again after the reboot that it asks for.
#
# A V100 (Volta) needs the closed kernel modules, and 580 is the last branch that knows it; A100s take either.
set -eu

say() { printf '%s\n' "$*" >&2; }
branch=580

if ! command -v nvidia-smi >/dev/null; then
    apt-get update
    apt-get install -y "linux-headers-$(uname -r)" "nvidia-headless-$branch-server" "nvidia-utils-$branch-server"
    say 'installed; reboot, then run this again'
    exit 0
fi

nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader
systemctl enable --now nvidia-persistenced
