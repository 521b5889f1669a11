// SPDX-License-Identifier: Apache-2.0
#include "scheduling/plan.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"

namespace aliquot::scheduling {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kVersion = 1;
constexpr std::size_t kMostBytes = 65'536;
constexpr std::size_t kMostRequests = 64;

}  // namespace

std::string to_json(const Plan& plan) {
    Json asked = Json::array();
    for (const DeviceRequest& one : plan.asked) {
        asked.push_back(
            {{"container", one.container}, {"resource", one.resource}, {"count", one.count}});
    }
    // A list, not a mapping: the best is the first.
    Json nodes = Json::array();
    for (const Target& target : plan.targets) {
        Json units = Json::object();
        for (const auto& [resource, gpus] : target.units) {
            for (const auto& [gpu, count] : gpus) units[resource][gpu] = count;
        }
        nodes.push_back({{"node", target.node}, {"units", std::move(units)}});
    }
    return dumped(
        Json{{"v", kVersion}, {"gen", plan.generation}, {"ask", asked}, {"nodes", nodes}});
}

std::optional<Plan> parse_plan(std::string_view json) {
    if (json.size() > kMostBytes) return std::nullopt;
    const Json root = parse_json<Json>(json);
    if (!root.is_object() || number_at<unsigned>(root, "v") != kVersion) return std::nullopt;
    Plan plan{.generation = number_at<std::uint64_t>(root, "gen")};
    const Json& asked = member(root, "ask");
    const Json& nodes = member(root, "nodes");
    if (!asked.is_array() || !nodes.is_array()) return std::nullopt;
    if (asked.size() > kMostRequests || nodes.size() > kMostTargets) return std::nullopt;
    for (const Json& one : asked) {
        plan.asked.push_back({text_at(one, "container"), text_at(one, "resource"),
                              number_at<unsigned>(one, "count")});
    }
    for (const Json& one : nodes) {
        Target target{.node = text_at(one, "node")};
        if (target.node.empty()) return std::nullopt;
        const Json& units = member(one, "units");
        if (!units.is_object()) return std::nullopt;
        for (const auto& [resource, gpus] : units.items()) {
            for (const auto& gpu : gpus.items()) {
                target.units[resource][gpu.key()] = number_at<unsigned>(gpus, gpu.key().c_str());
            }
        }
        plan.targets.push_back(std::move(target));
    }
    return plan;
}

}  // namespace aliquot::scheduling
