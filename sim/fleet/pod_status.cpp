// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/pod_status.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"

namespace aliquot::sim::fleet {
namespace {

using Json = nlohmann::json;

Json conditions(const char* ready, const std::string& now) {
    Json list = Json::array();
    for (const char* const type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
        const bool goes_by_containers = std::string_view(type).ends_with("Ready");
        list.push_back({{"type", type},
                        {"status", goes_by_containers ? ready : "True"},
                        {"lastTransitionTime", now}});
    }
    return list;
}

Json container_statuses(const std::vector<std::string>& containers, const Json& state, bool ready) {
    Json list = Json::array();
    for (const std::string& name : containers) {
        list.push_back({{"name", name},
                        {"ready", ready},
                        {"started", ready},
                        {"restartCount", 0},
                        {"image", ""},
                        {"imageID", ""},
                        {"state", state}});
    }
    return list;
}

}  // namespace

std::string running_status(const std::vector<std::string>& containers, const std::string& now) {
    const Json state{{"running", {{"startedAt", now}}}};
    return dumped(Json{{"status",
                        {{"phase", "Running"},
                         {"startTime", now},
                         {"conditions", conditions("True", now)},
                         {"containerStatuses", container_statuses(containers, state, true)}}}});
}

std::string succeeded_status(const std::vector<std::string>& containers, const std::string& now) {
    const Json state{
        {"terminated", {{"exitCode", 0}, {"reason", "Completed"}, {"finishedAt", now}}}};
    return dumped(Json{{"status",
                        {{"phase", "Succeeded"},
                         {"conditions", conditions("False", now)},
                         {"containerStatuses", container_statuses(containers, state, false)}}}});
}

std::string refused_status(const std::string& why, const std::string& now) {
    return dumped(Json{{"status",
                        {{"phase", "Failed"},
                         {"reason", "UnexpectedAdmissionError"},
                         {"message", why},
                         {"startTime", now}}}});
}

}  // namespace aliquot::sim::fleet
