// SPDX-License-Identifier: Apache-2.0
// Any bytes as kubelet's answer to List: who holds what is in order, and joined with a checkpoint
// that says the same of every other holder (and more) nothing is lost or counted twice.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "api/kubelet/podresources.pb.h"
#include "kubelet/pod_resources_reply.h"
#include "pods/holder_join.h"

namespace {

using Device = std::pair<std::string, std::string>;

void insist(bool condition) {
    if (!condition) std::abort();
}

template <class List>
std::map<Device, int> count(const List& holders) {
    std::map<Device, int> counts;
    for (const auto& holder : holders) {
        for (const std::string& id : holder.ids) ++counts[{holder.resource, id}];
    }
    return counts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    google::protobuf::SetLogHandler(nullptr);  // it has a line for every string that is not UTF-8
    v1::ListPodResourcesResponse response;
    if (!response.ParseFromArray(data, static_cast<int>(size))) return 0;
    const auto listed = aliquot::kubelet::holders_in(response);
    std::vector<aliquot::pods::CheckpointEntry> entries;
    for (const auto& holder : listed) {
        insist(!holder.ids.empty() && std::ranges::is_sorted(holder.ids));
        insist(std::ranges::adjacent_find(holder.ids) == holder.ids.end());
        const std::string uid = "uid-" + std::to_string(entries.size());
        entries.push_back({uid, holder.container, holder.resource, holder.ids});
        if (entries.size() % 2 == 0) entries.back().ids.emplace_back("another");
    }

    const aliquot::os::Root nowhere("/nonexistent");
    const aliquot::pods::LogNames names(nowhere, "/pods", "/containers");
    aliquot::pods::HolderJoin join(std::chrono::milliseconds(1));
    join.set_entries(entries);
    for (int second = 0; second < 3; ++second) {
        join.set_listed(listed, aliquot::os::TimePoint{} + std::chrono::seconds(second));
    }
    const auto joined = join.join(names);
    // In the end kubelet's word holds.
    insist(count(joined) == count(listed));
    for (const auto& holder : joined) insist(!holder.ids.empty());
    return 0;
}
