// SPDX-License-Identifier: Apache-2.0
#include "agent/recent_grants.h"

#include <algorithm>

#include "gpu/replica_id.h"

namespace aliquot::agent {
namespace {

constexpr std::size_t kMostEntries = 4096;
constexpr std::chrono::seconds kUnlisted{10};  // until kubelet surely lists the pod
constexpr std::chrono::seconds kForgotten{60};
constexpr std::chrono::seconds kSurelyNew{1};  // what kubelet tells before may be an earlier holder

}  // namespace

Result<Done> RecentGrants::begin(const std::string& resource, std::span<const std::string> ids) {
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    for (const std::string& id : ids) {
        if (!closed_.contains({std::string(gpu::device_of(id))})) continue;
        return Error{ErrorCode::kUnavailable,
                     "device '" + id + "' of " + resource +
                         " is being changed to the new configuration; create the pod again"};
    }
    ++version_;
    std::erase_if(entries_, [&](const Entry& entry) { return now - entry.at > kForgotten; });
    if (entries_.size() >= kMostEntries) {
        entries_.erase(entries_.begin(), entries_.begin() + kMostEntries / 2);
    }
    for (const std::string& id : ids) {
        entries_.push_back({.hold = {.resource = resource, .id = id, .pod = {}}, .at = now});
    }
    return Done{};
}

void RecentGrants::undo(const std::string& resource, std::span<const std::string> ids) {
    const std::scoped_lock lock(mutex_);
    for (const std::string& id : ids) {
        for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
            if (entry->hold.resource != resource || entry->hold.id != id) continue;
            entries_.erase(std::next(entry).base());
            break;
        }
    }
}

std::uint64_t RecentGrants::version() const {
    const std::scoped_lock lock(mutex_);
    return version_;
}

std::vector<sharing::DeviceHold> RecentGrants::recent() const {
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    std::vector<sharing::DeviceHold> holds;
    for (const Entry& entry : entries_) {
        if (!entry.listed && now - entry.at <= kUnlisted) holds.push_back(entry.hold);
    }
    return holds;
}

void RecentGrants::note_listed(std::span<const sharing::DeviceHold> listed) {
    std::set<std::pair<std::string, std::string>> known;
    for (const sharing::DeviceHold& hold : listed) known.emplace(hold.resource, hold.id);
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    for (Entry& entry : entries_) {
        if (now - entry.at < kSurelyNew) continue;
        if (known.contains({entry.hold.resource, entry.hold.id})) entry.listed = true;
    }
}

bool RecentGrants::close(std::set<gpu::Uuid> devices, std::uint64_t version) {
    const std::scoped_lock lock(mutex_);
    if (version != version_) return false;
    closed_ = std::move(devices);
    return true;
}

void RecentGrants::open() {
    const std::scoped_lock lock(mutex_);
    closed_.clear();
}

bool RecentGrants::granted_within(const gpu::Uuid& device, std::chrono::milliseconds age) const {
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(entries_, [&](const Entry& entry) {
        return gpu::device_of(entry.hold.id) == device.text && now - entry.at <= age;
    });
}

}  // namespace aliquot::agent
