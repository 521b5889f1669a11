// SPDX-License-Identifier: Apache-2.0
#include "pods/host_view.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "k8s/cgroup.h"
#include "os/process_stat.h"

namespace aliquot::pods {
namespace {

constexpr std::size_t kMostFileBytes = 4096;
constexpr std::size_t kMostSeen = 20'000;

// Programs of a node that run in no pod.
constexpr std::array<std::string_view, 8> kNodePrograms{
    "kubelet", "kubelite", "k3s-server", "k3s-agent", "k0s", "containerd", "crio", "dockerd"};

bool is_pid(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

HostView look_at_proc(const os::Root& root, const std::string& proc) {
    const auto stat_of = [&](const std::string& pid) -> std::optional<os::ProcessStat> {
        const auto text = root.read(proc + "/" + pid + "/stat", kMostFileBytes);
        return text ? os::parse_stat(*text) : std::nullopt;
    };
    const auto place_in = [&](const std::string& pid) -> std::optional<k8s::CgroupPlace> {
        const auto text = root.read(proc + "/" + pid + "/cgroup", k8s::kMostCgroupBytes);
        return text ? k8s::place_of(*text) : std::nullopt;
    };
    if (const auto second = stat_of("2");
        second && second->command == "kthreadd" && second->parent == 0) {
        return HostView::kMachine;
    }
    const auto names = root.list(proc, kMostSeen);
    if (!names || std::ranges::none_of(*names, is_pid)) return HostView::kNone;

    const auto own = place_in("self");
    for (const std::string& name : *names) {
        if (!is_pid(name)) continue;
        const auto place = place_in(name);
        if (place && own && place->pod_uid != own->pod_uid) return HostView::kNode;
        if (place && !own && name != "1") {
            // We are in no pod, or cannot tell in which: a pod that process 1 is not in is another.
            const auto first = place_in("1");
            if (!first || first->pod_uid != place->pod_uid) return HostView::kNode;
        }
        if (place) continue;
        const auto stat = stat_of(name);
        if (stat && std::ranges::find(kNodePrograms, stat->command) != kNodePrograms.end()) {
            return HostView::kNode;
        }
    }
    return HostView::kOwn;
}

}  // namespace aliquot::pods
