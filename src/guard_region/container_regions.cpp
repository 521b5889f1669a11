// SPDX-License-Identifier: Apache-2.0
#include "guard_region/container_regions.h"

#include <utility>

namespace aliquot::guard_region {
namespace {

/// Whether `path` is a group worth knowing: "/" has everybody in it.
bool is_group(std::string_view path) { return path.size() > 1 && path.front() == '/'; }

bool lies_in(std::string_view path, std::string_view group) {
    return path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/');
}

}  // namespace

bool ContainerRegions::learn(std::string_view path, const std::string& region) {
    if (!is_group(path) || region.empty() || find(path) != nullptr || groups_.size() >= kMost) {
        return false;
    }
    const auto behind = groups_.lower_bound(std::string(path) + '/');
    if (behind != groups_.end() && lies_in(behind->first, path)) return false;
    ContainerGroup group{.path = std::string(path), .region = region};
    news_.push_back(group);
    groups_.emplace(group.path, std::move(group));
    return true;
}

const ContainerGroup* ContainerRegions::find(std::string_view path) const {
    for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const auto found = groups_.find(path.substr(0, end));
        if (found != groups_.end()) return &found->second;
        if (end == std::string_view::npos) return nullptr;
    }
}

void ContainerRegions::forget(const std::string& region) {
    std::erase_if(groups_, [&](const auto& entry) { return entry.second.region == region; });
}

std::vector<ContainerGroup> ContainerRegions::take_news() { return std::exchange(news_, {}); }

}  // namespace aliquot::guard_region
