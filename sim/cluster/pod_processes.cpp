// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/pod_processes.h"

#include <utility>

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenRefreshes = 300ms;

}  // namespace

Result<Done> PodProcesses::begin() {
    auto begun = tree_.begin();
    if (!begun) return std::move(begun).error().during("process tree of the node");
    tree_.refresh();
    return Done{};
}

void PodProcesses::note(const PodIdentity& pod, const ContainerRun& container) {
    if (container.state() == ContainerRun::State::kWaiting) return;
    const std::string& name = container.plan().name;
    const auto shown = shown_.find({pod.uid, name});
    const bool is_new = shown == shown_.end();
    if (!is_new && shown->second.restarts == container.restarts() &&
        (container.pid() <= 0 || shown->second.pid == container.pid())) {
        return;
    }
    if (is_new || shown->second.restarts != container.restarts()) {
        const auto id =
            tree_.start_container({.pod_namespace = pod.pod_namespace,
                                   .name = pod.name,
                                   .uid = pod.uid,
                                   .quality = sim::QualityOfService::kBurstable},
                                  name, container.is_pause() ? "" : container.plan().log_path);
        if (!id) complain(id.error());
    }
    shown_[{pod.uid, name}] = {.restarts = container.restarts(), .pid = container.pid()};
    if (container.pid() <= 0) return;
    const auto added = tree_.add_process(pod.uid, name, container.pid());
    // That it has ended meanwhile is no problem.
    if (!added && added.error().code != ErrorCode::kNotFound) complain(added.error());
}

void PodProcesses::refresh(TimePoint now) {
    if (now < next_refresh_) return;
    next_refresh_ = now + kBetweenRefreshes;
    tree_.refresh();
}

void PodProcesses::complain(const Error& error) {
    if (std::exchange(complained_, true)) return;
    problem_ = "the agent cannot see all processes of the pods: " + error.message;
}

std::optional<std::string> PodProcesses::take_problem() {
    return std::exchange(problem_, std::nullopt);
}

}  // namespace aliquot::sim::cluster
