// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "install/values.h"

namespace aliquot::install {
namespace {

constexpr std::array kFacts{
    ProfileFacts{
        .name = "kubeadm",
        .kubelet_root = "/var/lib/kubelet",
        .device_list_strategy = "cdi-cri",
        .api_port = 6443,
        .explanation =
            "kubelet      /var/lib/kubelet\n"
            "devices      by CDI, through kubelet (cdi-cri): Kubernetes 1.29 or newer, and a "
            "runtime "
            "with CDI on.\n"
            "             containerd 2.x has it on; 1.7 needs in /etc/containerd/config.toml, "
            "under\n"
            "             [plugins.\"io.containerd.grpc.v1.cri\"]:  enable_cdi = true  and\n"
            "             cdi_spec_dirs = [\"/etc/cdi\", \"/var/run/cdi\"], then: systemctl "
            "restart "
            "containerd\n"
            "             CRI-O has it on. With NVIDIA's runtime as the default one and no CDI:\n"
            "             --device-list-strategy envvar\n"
            "driver       NVIDIA's, installed on the host; the container toolkit is not needed\n"
            "API server   port 6443 (--api-port where it is another one)\n"},
    ProfileFacts{
        .name = "microk8s",
        .kubelet_root = "/var/snap/microk8s/common/var/lib/kubelet",
        .device_list_strategy = "cdi-cri",
        .api_port = 16443,
        .explanation =
            "kubelet      /var/snap/microk8s/common/var/lib/kubelet; its device-plugins directory "
            "is\n"
            "             /var/lib/kubelet/device-plugins here as everywhere\n"
            "devices      by CDI, through kubelet (cdi-cri). MicroK8s' containerd is 1.7 or 2.x: "
            "with "
            "1.7 set in\n"
            "             /var/snap/microk8s/current/args/containerd-template.toml, under\n"
            "             [plugins.\"io.containerd.grpc.v1.cri\"]:  enable_cdi = true  and\n"
            "             cdi_spec_dirs = [\"/etc/cdi\", \"/var/run/cdi\"], then: microk8s stop && "
            "microk8s start\n"
            "driver       NVIDIA's, installed on the host. The add-on \"nvidia\" (NVIDIA's "
            "operator) "
            "must be off:\n"
            "             microk8s disable nvidia\n"
            "image        without a registry: microk8s ctr image import aliquot-image.tar\n"
            "access       microk8s config > microk8s.yaml, then --kubeconfig microk8s.yaml\n"
            "API server   port 16443\n"},
    ProfileFacts{
        .name = "k3s",
        .kubelet_root = "/var/lib/kubelet",
        .device_list_strategy = "cdi-cri",
        .api_port = 6443,
        .explanation =
            "kubelet      /var/lib/kubelet (also of RKE2)\n"
            "devices      by CDI, through kubelet (cdi-cri). k3s 1.32 and newer bring containerd 2 "
            "with CDI on;\n"
            "             older ones need a config.toml.tmpl in "
            "/var/lib/rancher/k3s/agent/etc/containerd that has\n"
            "             enable_cdi = true, then: systemctl restart k3s (k3s-agent on agents)\n"
            "driver       NVIDIA's, installed on the host. Where the container toolkit is "
            "installed, "
            "k3s finds it\n"
            "             and has a RuntimeClass \"nvidia\": then --gpu-access runtime "
            "--runtime-class "
            "nvidia gives\n"
            "             an agent that is not privileged\n"
            "image        without a registry: k3s ctr images import aliquot-image.tar\n"
            "access       --kubeconfig /etc/rancher/k3s/k3s.yaml\n"
            "API server   port 6443\n"},
    ProfileFacts{
        .name = "eks",
        .kubelet_root = "/var/lib/kubelet",
        .device_list_strategy = "envvar",
        .api_port = 443,
        .explanation =
            "kubelet      /var/lib/kubelet\n"
            "devices      AL2023's NVIDIA image: NVIDIA's runtime is containerd's default one and "
            "reads "
            "the\n"
            "             environment (envvar). Bottlerocket's reads volume mounts only:\n"
            "             --device-list-strategy volume-mounts\n"
            "driver       part of the image. Bottlerocket serves GPUs by a plugin of its own "
            "image, "
            "which cannot be\n"
            "             taken away: there this one has nothing to offer kubelet; use AL2023\n"
            "NVIDIA's     eksctl installs NVIDIA's device plugin on GPU node groups: "
            "--install-nvidia-plugin=false,\n"
            "             or remove it before (docs/guide/migrate-from-nvidia-device-plugin.md)\n"
            "API server   port 443\n"},
};

}  // namespace

const ProfileFacts& profile_facts(Profile profile) {
    return kFacts.at(static_cast<std::size_t>(profile));
}

std::optional<Profile> profile_of(std::string_view name) {
    for (std::size_t i = 0; i < kFacts.size(); ++i) {
        if (kFacts[i].name == name) return static_cast<Profile>(i);
    }
    return std::nullopt;
}

std::vector<std::string> profile_names() {
    std::vector<std::string> names;
    for (const ProfileFacts& one : kFacts) names.emplace_back(one.name);
    return names;
}

}  // namespace aliquot::install
