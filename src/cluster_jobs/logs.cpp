// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "cluster_jobs/cluster_jobs.h"
#include "kube_client/query.h"

namespace aliquot::cluster_jobs {
namespace {

constexpr auto kGlance = std::chrono::milliseconds(500);

bool has_output(const PodSight& pod) {
    return pod.phase == "Running" || pod.phase == "Succeeded" || pod.phase == "Failed";
}

/// Of an array the newest pod of each index, in their order; else the newest that has any output.
std::vector<const PodSight*> pods_to_read(const JobSight& job) {
    std::vector<const PodSight*> chosen;
    for (const PodSight& pod : job.running) {  // oldest first
        if (!has_output(pod)) continue;
        const auto same = std::find_if(chosen.begin(), chosen.end(), [&](const PodSight* other) {
            return other->index == pod.index;
        });
        if (same == chosen.end()) {
            chosen.push_back(&pod);
        } else {
            *same = &pod;
        }
    }
    std::sort(chosen.begin(), chosen.end(), [](const PodSight* a, const PodSight* b) {
        return std::pair(a->index.size(), a->index) < std::pair(b->index.size(), b->index);
    });
    return chosen;
}

std::string log_path(const JobSight& job, const PodSight& pod) {
    return kube_client::path_of(kube_client::resources::pods(), {job.space, pod.name}, "log");
}

}  // namespace

Result<std::string> ClusterJobs::log_of(const JobSight& job, const PodSight& pod,
                                        std::uint64_t most) {
    auto text = api_.get_raw(
        kube_client::Query(log_path(job, pod)).add("limitBytes", std::to_string(most)).take(),
        call_);
    if (!text) return text.error();
    return *std::move(text);
}

Result<ClusterJobs::Part> ClusterJobs::logs(const std::string& name, std::uint64_t from,
                                            std::size_t most) {
    auto job = find(name);
    if (!job) return std::move(job).error();
    const auto pods = pods_to_read(*job);
    Part part{.next = from, .ended = jobs::is_final(job->state)};
    std::string all;
    for (const PodSight* const pod : pods) {
        if (pods.size() > 1)
            all += (all.empty() ? "" : "\n") + std::string("==> ") + pod->name + " <==\n";
        if (all.size() >= from + most) break;
        auto text = log_of(*job, *pod, from + most - all.size());
        if (!text) return std::move(text).error();
        all += *text;
    }
    if (from < all.size()) part.bytes = all.substr(from, most);
    part.next = from + part.bytes.size();
    if (!part.bytes.empty()) part.ended = false;
    return part;
}

Result<Done> ClusterJobs::follow(const std::string& name,
                                 const std::function<bool(std::string_view)>& take,
                                 const std::stop_token& stop) {
    auto job = find(name);
    if (!job) return std::move(job).error();
    const auto pods = pods_to_read(*job);
    if (pods.empty()) return Done{};
    kube_client::Request request{
        .path = kube_client::Query(log_path(*job, *pods.back())).add("follow", "true").take(),
        .accept = "*/*",
        .what = "logs of pod " + pods.back()->name,
        .call = call_};
    const auto stream = api_.open(request);
    if (!stream) return stream.error();
    while (!stop.stop_requested()) {
        const auto read = (*stream)->read(kGlance, stop);
        if (!read) return read.error();
        if (!read->bytes.empty() && !take(read->bytes)) return Done{};
        if (read->ended) return Done{};
    }
    return Done{};
}

}  // namespace aliquot::cluster_jobs
