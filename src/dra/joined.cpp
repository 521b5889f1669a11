// SPDX-License-Identifier: Apache-2.0
#include "dra/joined.h"

#include <algorithm>
#include <vector>

#include "document/build.h"
#include "dra/counters.h"

namespace aliquot::dra {
namespace {

using document::make_mapping;
using document::Value;

constexpr unsigned kHopper = 9;

/// Links do not tell of a switch: SXM modules of one node are joined, by links or by one.
bool are_joined(const gpu::Inventory& inventory, std::size_t one, std::size_t other) {
    constexpr gpu::LinkScore kNvlink = 100;
    constexpr std::string_view kModule = "SXM";
    if (inventory.gpus[one].model.contains(kModule) &&
        inventory.gpus[other].model.contains(kModule)) {
        return true;
    }
    return one < inventory.links.size() && other < inventory.links[one].size() &&
           inventory.links[one][other] >= kNvlink;
}

void add(Value& counters, const std::string& name, unsigned amount) {
    document::append(counters, name, make_mapping({{"value", std::to_string(amount)}}));
}

}  // namespace

std::set<std::string> reset_together(const gpu::Inventory& inventory, const gpu::Gpu& gpu) {
    if (gpu.compute_major >= kHopper) return {};
    const auto own = std::ranges::find(inventory.gpus, gpu.uuid, &gpu::Gpu::uuid);
    if (own == inventory.gpus.end()) return {};
    std::vector<std::size_t> found{static_cast<std::size_t>(own - inventory.gpus.begin())};
    for (std::size_t next = 0; next < found.size(); ++next) {
        for (std::size_t other = 0; other < inventory.gpus.size(); ++other) {
            if (std::ranges::find(found, other) != found.end()) continue;
            if (are_joined(inventory, found[next], other)) found.push_back(other);
        }
    }
    std::set<std::string> uuids;
    for (const std::size_t place : found) uuids.insert(inventory.gpus[place].uuid.text);
    return uuids;
}

std::map<std::string, std::set<std::string>> reset_along(const gpu::Inventory& inventory) {
    std::map<std::string, std::set<std::string>> along;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        auto others = reset_together(inventory, gpu);
        others.erase(gpu.uuid.text);
        if (!others.empty()) along.emplace(gpu.uuid.text, std::move(others));
    }
    return along;
}

JoinedCounters::JoinedCounters(std::map<std::string, unsigned> members)
    : members_(std::move(members)) {
    for (const auto& [name, slices] : members_) slices_ += slices;
    if (members_.empty() || members_.size() > kMostCounters) return;
    name_ = "joined-" + members_.begin()->first;
    Value counters = make_mapping();
    for (const auto& [name, slices] : members_) add(counters, name, slices_);
    set_ = std::make_shared<const Value>(
        make_mapping({{"name", name_}, {"counters", std::move(counters)}}));
}

Value JoinedCounters::consumed(const std::string& member, unsigned slices) const {
    Value counters = make_mapping();
    for (const auto& [name, all] : members_) {
        if (slices > 0) add(counters, name, slices);
        if (slices == 0 && name == member) add(counters, name, slices_);
    }
    return make_mapping({{"counterSet", name_}, {"counters", std::move(counters)}});
}

}  // namespace aliquot::dra
