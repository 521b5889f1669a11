// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/store.h"

#include <algorithm>

namespace aliquot::sim::apiserver {

const std::string& Entry::json() const {
    std::call_once(made_, [this] { json_ = to_json(object); });
    return json_;
}

Store::Shelf& Store::shelf(const std::string& resource) const {
    std::unique_ptr<Shelf>& place = shelves_[resource];
    if (place == nullptr) place = std::make_unique<Shelf>();
    return *place;
}

EntryPtr Store::stamp(Value object) {
    const std::uint64_t next = revision_.load() + 1;
    object["metadata"]["resourceVersion"] = std::to_string(next);
    return std::make_shared<const Entry>(std::move(object), next);
}

void Store::record(Shelf& shelf, Change change) {
    revision_.store(change.revision);
    shelf.objects[change.key].push_back({change.revision, change.now});
    shelf.history.push_back(std::move(change));
    if (shelf.history.size() > history_limit_) {
        trim(shelf, shelf.history[shelf.history.size() - history_limit_ * 3 / 4].revision);
    }
    shelf.changed.notify_all();
}

EntryPtr Store::get(const std::string& resource, const std::string& key) const {
    const std::lock_guard lock(guard_);
    const Shelf& place = shelf(resource);
    const auto found = place.objects.find(key);
    return found == place.objects.end() ? nullptr : found->second.back().entry;
}

EntryPtr Store::create(const std::string& resource, const std::string& key, Value object) {
    const std::lock_guard lock(guard_);
    Shelf& place = shelf(resource);
    const auto found = place.objects.find(key);
    if (found != place.objects.end() && found->second.back().entry != nullptr) return nullptr;
    EntryPtr entry = stamp(std::move(object));
    ++place.alive;
    record(place, {entry->revision, key, nullptr, entry, nullptr});
    return entry;
}

EntryPtr Store::update(const std::string& resource, const std::string& key, Value object,
                       std::uint64_t expected) {
    const std::lock_guard lock(guard_);
    Shelf& place = shelf(resource);
    const auto found = place.objects.find(key);
    const EntryPtr before = found == place.objects.end() ? nullptr : found->second.back().entry;
    if (before == nullptr || before->revision != expected) return nullptr;
    EntryPtr entry = stamp(std::move(object));
    record(place, {entry->revision, key, before, entry, nullptr});
    return entry;
}

EntryPtr Store::remove(const std::string& resource, const std::string& key,
                       std::uint64_t expected) {
    const std::lock_guard lock(guard_);
    Shelf& place = shelf(resource);
    const auto found = place.objects.find(key);
    const EntryPtr before = found == place.objects.end() ? nullptr : found->second.back().entry;
    if (before == nullptr || before->revision != expected) return nullptr;
    EntryPtr last = stamp(before->object);
    --place.alive;
    record(place, {last->revision, key, before, nullptr, last});
    return last;
}

std::optional<Store::Page> Store::list(const std::string& resource, const std::string& prefix,
                                       std::uint64_t revision, const std::string& first_key,
                                       std::size_t limit) const {
    const std::lock_guard lock(guard_);
    const Shelf& place = shelf(resource);
    Page page;
    page.revision = revision == 0 ? revision_.load() : revision;
    if (page.revision < std::max(place.forgotten, compacted_)) return std::nullopt;
    auto at = place.objects.lower_bound(std::max(prefix, first_key));
    for (; at != place.objects.end() && at->first.starts_with(prefix); ++at) {
        const std::vector<Version>& versions = at->second;
        auto version = versions.rbegin();
        while (version != versions.rend() && version->revision > page.revision) ++version;
        if (version == versions.rend() || version->entry == nullptr) continue;
        if (limit != 0 && page.entries.size() >= limit) {
            if (page.next_key.empty()) page.next_key = at->first;
            ++page.remaining;
            continue;
        }
        page.entries.push_back(version->entry);
    }
    return page;
}

Store::Changes Store::wait(const std::string& resource, std::uint64_t after,
                           std::chrono::milliseconds patience) const {
    std::unique_lock lock(guard_);
    Shelf& place = shelf(resource);
    if (place.history.empty() || place.history.back().revision <= after) {
        place.changed.wait_for(lock, patience);
    }
    Changes seen;
    seen.revision = std::max(after, revision_.load());
    seen.compacted = after < place.forgotten;
    if (seen.compacted) return seen;
    const auto first = std::upper_bound(
        place.history.begin(), place.history.end(), after,
        [](std::uint64_t revision, const Change& change) { return revision < change.revision; });
    constexpr std::ptrdiff_t kBatchMax = 1000;
    const std::ptrdiff_t count = std::min(place.history.end() - first, kBatchMax);
    seen.changes.assign(first, first + count);
    if (first + count != place.history.end()) seen.revision = seen.changes.back().revision;
    return seen;
}

std::uint64_t Store::compacted() const {
    const std::lock_guard lock(guard_);
    return compacted_;
}

std::size_t Store::count(const std::string& resource) const {
    const std::lock_guard lock(guard_);
    return shelf(resource).alive;
}

void Store::trim(Shelf& shelf, std::uint64_t revision) {
    while (!shelf.history.empty() && shelf.history.front().revision <= revision) {
        const Change& old = shelf.history.front();
        shelf.forgotten = old.revision;
        const auto found = shelf.objects.find(old.key);
        if (found != shelf.objects.end()) {
            // The last version at or before `revision` stays readable.
            std::vector<Version>& versions = found->second;
            while (versions.size() > 1 && versions[1].revision <= revision) {
                versions.erase(versions.begin());
            }
            if (versions.size() == 1 && versions[0].entry == nullptr) shelf.objects.erase(found);
        }
        shelf.history.pop_front();
    }
}

void Store::compact(std::uint64_t revision) {
    const std::lock_guard lock(guard_);
    compacted_ = std::max(compacted_, revision == 0 ? revision_.load() : revision);
    for (auto& each : shelves_) {
        trim(*each.second, compacted_);
        each.second->forgotten = std::max(each.second->forgotten, compacted_);
        each.second->changed.notify_all();
    }
}

void Store::interrupt() {
    const std::lock_guard lock(guard_);
    for (auto& each : shelves_) each.second->changed.notify_all();
}

}  // namespace aliquot::sim::apiserver
