#!/bin/sh
# Ubuntu 24.04 server with A100s (SXM): NVIDIA's driver without a display, the fabric manager of the same version, then
# what kubelet needs. As root; stops at the first thing that is wrong. Run it again after the reboot that it asks for.
#
# The driver is installed here, so an operator must not install a second one (driver.enabled=false).
set -eu

say() { printf '%s\n' "$*" >&2; }
branch=580

if ! command -v nvidia-smi >/dev/null; then
    apt-get update
    apt-get install -y "linux-headers-$(uname -r)" "nvidia-headless-$branch-server-open" "nvidia-utils-$branch-server"
    # Boards with NVSwitch: without it cuInit() says "system not yet initialized".
    if lspci -d 10de::0680 | grep -q .; then
        apt-get install -y "nvidia-fabricmanager-$branch"
        systemctl enable nvidia-fabricmanager
    fi
    say 'installed; reboot, then run this again'
    exit 0
fi

nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader
systemctl enable --now nvidia-persistenced

# CDI: on in containerd 2.
case "$(containerd --version | awk '{print $3}')" in
    v2.* | 2.*) ;;
    *) say 'containerd is older than 2.0: set enable_cdi = true below [plugins."io.containerd.grpc.v1.cri"] and restart it' ;;
esac
