// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_regions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "guard_region/guard_library.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::seconds kBetweenTries{5};  // to make a region after one could not be

std::int64_t unix_microseconds() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

GuardRegions::GuardRegions(const os::Root& root, Options options)
    : root_(root), options_(std::move(options)), directory_(root, options_.regions) {
    directory_.sweep();
    for (guard_region::Record& record : directory_.list()) {
        newest_us_ = std::max(newest_us_, record.created_us);
        const std::string id = record.id;
        records_.emplace(id, std::move(record));
    }
}

std::string GuardRegions::library(const std::string& version) const {
    return options_.library_base + "/" + version;
}

/// On first use, and again when the guard has gone.
Result<std::string> GuardRegions::install() {
    const auto there = [this](const std::string& version) {
        return !version.empty() &&
               root_.exists(library(version) + "/" + guard_region::kLibraryFile);
    };
    if (std::string version = state().version; there(version)) return version;
    const std::scoped_lock installing(installing_);
    if (std::string version = state().version; there(version)) return version;
    auto version = guard_region::install_guard(root_, options_.library_base, options_.library);
    if (!version) return std::move(version).error().during("the guard");
    log::info("guard.installed", {{"version", *version}});
    const std::scoped_lock lock(mutex_);
    state_.version = *version;
    return version;
}

Result<guard_region::Record> GuardRegions::make_unnoted(guard_region::Record record,
                                                        const guard_region::Settings& settings) {
    auto version = install();
    if (!version) return std::move(version).error();
    record.library = *std::move(version);
    {
        const std::scoped_lock lock(mutex_);
        newest_us_ = std::max(newest_us_ + 1, unix_microseconds());
        record.created_us = newest_us_;
    }
    return directory_.create(std::move(record), settings);
}

Result<guard_region::Record> GuardRegions::make(guard_region::Record record,
                                                const guard_region::Settings& settings) {
    auto made = make_unnoted(std::move(record), settings);
    const std::scoped_lock lock(mutex_);
    state_.problem = made ? "" : made.error().message;
    if (made) records_[made->id] = *made;
    return made;
}

std::vector<guard_region::Record> GuardRegions::list() const {
    std::vector<guard_region::Record> records;
    const std::scoped_lock lock(mutex_);
    records.reserve(records_.size());
    for (const auto& [id, record] : records_) records.push_back(record);
    return records;
}

Result<Done> GuardRegions::update(const guard_region::Record& record) {
    {
        const std::scoped_lock lock(mutex_);
        records_[record.id] = record;
    }
    return directory_.update(record);
}

Result<Done> GuardRegions::remove(const std::string& id) {
    auto removed = directory_.remove(id);
    if (!removed) return removed;
    const std::scoped_lock lock(mutex_);
    records_.erase(id);
    return removed;
}

void GuardRegions::try_again(os::TimePoint now) {
    {
        const std::scoped_lock lock(mutex_);
        if (state_.problem.empty() || now < next_try_) return;
        next_try_ = now + kBetweenTries;
    }
    const auto made = make_unnoted({}, {});
    if (made) (void)directory_.remove(made->id);
    const std::scoped_lock lock(mutex_);
    state_.problem = made ? "" : made.error().message;
}

void GuardRegions::remove_unused_guards() {
    const std::scoped_lock installing(installing_);
    std::set<std::string> used;
    for (const guard_region::Record& record : list()) used.insert(record.library);
    if (const std::string version = state().version; !version.empty()) used.insert(version);
    if (!used.empty()) guard_region::remove_guards(root_, options_.library_base, used);
}

GuardRegions::State GuardRegions::state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
}

}  // namespace aliquot::agent
