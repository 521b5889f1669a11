#!/bin/sh
# Debian 12: NVIDIA's driver for a GTX 1070, then k3s. As root; stops at the first thing that is wrong. Run it again after
# the reboot that it asks for.
#
# A Pascal card: the open kernel modules do not know it, and 580 is the last branch of drivers that does. Debian 12's own
# (535) is older and does, too.
set -eu

say() { printf '%s\n' "$*" >&2; }

if ! command -v nvidia-smi >/dev/null; then
    sed -i 's/^Components: main.*/Components: main contrib non-free non-free-firmware/' /etc/apt/sources.list.d/debian.sources
    apt-get update
    apt-get install -y "linux-headers-$(dpkg --print-architecture)" nvidia-driver nvidia-smi
    say 'installed; reboot (nouveau still has the card), then run this again'
    exit 0
fi

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

# k3s of 1.32 and newer has containerd 2, where CDI is on.
if ! command -v k3s >/dev/null; then
    apt-get install -y ca-certificates curl
    curl -fsSLo /usr/local/bin/k3s https://github.com/k3s-io/k3s/releases/download/v1.34.1%2Bk3s1/k3s
    chmod 0755 /usr/local/bin/k3s
    say 'k3s is in /usr/local/bin: start it as https://docs.k3s.io says, then: aliquot install --profile k3s --config default=config.yaml'
fi
