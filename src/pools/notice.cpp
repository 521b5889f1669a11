// SPDX-License-Identifier: Apache-2.0
#include "pools/notice.h"

#include <array>

#include "base/time_text.h"

namespace aliquot::pools {
namespace {

using std::chrono::seconds;

struct Sign {
    std::string_view taint;
    std::string_view why;
    seconds left{};  // from when it was set; 0: nobody says
};
/// source   the handlers' own documentation of their taints
constexpr std::array<Sign, 5> kSigns{
    {{"aws-node-termination-handler/spot-itn", "spot: the cloud takes the machine back",
      seconds(120)},
     {"cloud.google.com/impending-node-termination", "the cloud takes the machine back",
      seconds(30)},
     {"node.cloudprovider.kubernetes.io/shutdown", "the machine is shut down", seconds(0)},
     {"karpenter.sh/disrupted", "Karpenter lets it go", seconds(0)},
     {"ToBeDeletedByClusterAutoscaler", "Cluster Autoscaler lets it go", seconds(0)}}};

std::optional<Instant> time_of(const std::string& text) {
    const auto at = parse_rfc3339(text);
    return at ? std::optional(std::chrono::floor<seconds>(*at)) : std::nullopt;
}

std::optional<Instant> after(const std::string& set, seconds left) {
    auto at = left.count() == 0 ? std::nullopt : time_of(set);
    if (at) *at += left;
    return at;
}

}  // namespace

std::optional<Notice> notice_of(const k8s::Node& node, bool is_deleted) {
    if (const auto told = node.annotations.find(std::string(kLeavesAt));
        told != node.annotations.end()) {
        // What is no time is still somebody's word that it goes.
        return Notice{"spot: the cloud takes the machine back", time_of(told->second)};
    }
    for (const k8s::NodeTaint& taint : node.taints) {
        for (const Sign& sign : kSigns) {
            if (taint.key != sign.taint) continue;
            return Notice{std::string(sign.why), after(taint.time_added, sign.left)};
        }
    }
    const auto* const event = node.find("VMEventScheduled");
    if (event != nullptr && event->is_true()) {
        return Notice{"the cloud takes the machine back (" + event->reason + ")",
                      after(event->transition, seconds(30))};
    }
    if (is_deleted) return Notice{"it is being deleted", std::nullopt};
    return std::nullopt;
}

}  // namespace aliquot::pools
