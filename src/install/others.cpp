// SPDX-License-Identifier: Apache-2.0
#include "install/others.h"

#include <array>
#include <optional>
#include <string_view>

namespace aliquot::install {
namespace {

struct Mark {
    std::string_view image;  // a part of it
    std::string_view name;   // a part of the DaemonSet's
    std::string_view what;
    std::string_view advice;
};

constexpr std::array kMarks{
    Mark{"hami", "hami-device-plugin", "HAMi",
         "docs/guide/migrate-from-hami.md tells how to move; at its end: helm uninstall hami -n "
         "kube-system"},
    Mark{"k8s-device-plugin", "nvidia-device-plugin", "NVIDIA's device plugin",
         "docs/guide/migrate-from-nvidia-device-plugin.md tells how to move without losing pods"},
    Mark{"volcano-vgpu-device-plugin", "volcano-device-plugin", "Volcano's vGPU plugin",
         "remove it first: kubectl delete daemonset"},
    Mark{"nvidia-gpu-device-plugin", "nvidia-gpu-device-plugin", "GKE's device plugin",
         "label the nodes gke-no-default-nvidia-gpu-device-plugin=true, so that it leaves them"},
};

/// Images of all containers, one after another.
std::string images_of(std::string_view json) {
    std::string images;
    constexpr unsigned kMost = 20;
    for (const char* const list : {"containers", "initContainers"}) {
        for (unsigned i = 0; i < kMost; ++i) {
            const auto image =
                kube_client::string_at(json, "/spec/template/spec/" + std::string(list) + "/" +
                                                 std::to_string(i) + "/image");
            if (!image) break;
            images += *image + " ";
        }
    }
    return images;
}

bool by_operator(std::string_view json) {
    return kube_client::string_at(json, "/metadata/ownerReferences/0/kind") == "ClusterPolicy";
}

}  // namespace

std::vector<OtherPlugin> others_among(const std::vector<kube_client::Object>& daemon_sets) {
    std::vector<OtherPlugin> found;
    for (const kube_client::Object& one : daemon_sets) {
        if (kube_client::integer_at(one.json, "/status/desiredNumberScheduled") == 0) continue;
        const std::string images = images_of(one.json);
        for (const Mark& mark : kMarks) {
            const bool fits = one.name.contains(mark.name) ||
                              (images.contains(mark.image) && one.name.contains("plugin"));
            if (!fits) continue;
            OtherPlugin other{.title = "DaemonSet " + kube_client::to_text(one.key()),
                              .what = std::string(mark.what),
                              .advice = std::string(mark.advice)};
            if (by_operator(one.json)) {
                other.what = "NVIDIA's GPU operator";
                other.advice =
                    "docs/guide/migrate-from-gpu-operator.md tells how to move and keep "
                    "its driver";
            }
            found.push_back(std::move(other));
            break;
        }
    }
    return found;
}

kube_client::Outcome<std::vector<OtherPlugin>> find_others(kube_client::Api& api,
                                                           const kube_client::Call& call) {
    const auto all =
        api.list(kube_client::resources::daemon_sets(), {.keep_managed_fields = false}, call);
    if (!all) return all.failure();
    return others_among(all->items);
}

}  // namespace aliquot::install
