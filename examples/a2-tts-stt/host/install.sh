#!/bin/sh
# RHEL 9 and its kin: NVIDIA's driver for an A2, then MicroK8s. As root; stops at the first thing that is wrong. Run it again
# after the reboot that it asks for.
#
# No container toolkit: Aliquot's agent tells containerd the devices by CDI.
set -eu

say() { printf '%s\n' "$*" >&2; }

if ! command -v nvidia-smi >/dev/null; then
    if command -v mokutil >/dev/null && mokutil --sb-state | grep -q enabled; then
        say 'Secure Boot is on: a module that DKMS builds must be signed with a key that the machine knows (mokutil --import)'
        exit 1
    fi
    dnf install -y "kernel-devel-$(uname -r)" 'dnf-command(config-manager)'
    dnf install -y https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm
    dnf config-manager --add-repo https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/cuda-rhel9.repo
    dnf module install -y nvidia-driver:open-dkms
    say 'installed; reboot (nouveau still has the card), then run this again'
    exit 0
fi

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
systemctl enable --now nvidia-persistenced

dnf install -y snapd
systemctl enable --now snapd.socket
[ -e /snap ] || ln -s /var/lib/snapd/snap /snap
snap install microk8s --classic --channel=1.34/stable
microk8s status --wait-ready

# CDI is off in containerd 1.7. The template is what MicroK8s writes containerd.toml from at each start.
template=/var/snap/microk8s/current/args/containerd-template.toml
if ! grep -q '^ *enable_cdi = true' "$template"; then
    cp "$template" "$template.before-cdi"
    sed -i '/^ *\[plugins\."io\.containerd\.grpc\.v1\.cri"\]/a\    enable_cdi = true' "$template"
    grep -q '^ *enable_cdi = true' "$template" || { say "no table of the CRI plugin in $template: add enable_cdi = true there"; exit 1; }
    snap restart microk8s.daemon-containerd
    microk8s status --wait-ready
fi
