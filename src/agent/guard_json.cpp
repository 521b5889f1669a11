// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_json.h"

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "guard_region/status_json.h"

namespace aliquot::agent {

std::string_view to_text(GuardEvent::Kind kind) {
    static constexpr std::array<std::string_view, 9> kTexts{
        "unguarded",    "over_limit", "ledger",  "killed",       "not_killed",
        "kernel_limit", "open",       "refused", "other_version"};
    return kTexts.at(static_cast<std::size_t>(kind));
}

nlohmann::ordered_json guard_json(const GuardSnapshot& snapshot) {
    using Json = nlohmann::ordered_json;
    Json containers = Json::array();
    for (const guard_region::RegionStatus& one : snapshot.regions) {
        containers.push_back(guard_region::to_json(one));
    }
    Json events = Json::array();
    for (const GuardEvent& event : snapshot.events) {
        const auto at =
            std::chrono::duration_cast<std::chrono::seconds>(event.at.time_since_epoch());
        events.push_back({{"atUnixSeconds", at.count()},
                          {"kind", to_text(event.kind)},
                          {"container", event.container},
                          {"message", event.message}});
    }
    return {{"library", snapshot.library},
            {"problem", snapshot.problem},
            {"containers", std::move(containers)},
            {"events", std::move(events)}};
}

}  // namespace aliquot::agent
