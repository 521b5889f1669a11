// SPDX-License-Identifier: Apache-2.0
#include "page/feed.h"

#include <algorithm>

#include "base/json_text.h"

namespace aliquot::page {
namespace {

std::string ms_text(Moment at) {
    return std::to_string(
        std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count());
}

/// What is new and what is gone of one table; empty: nothing.
std::string table_step(const Table& before, const Table& after) {
    std::vector<const Row*> set;
    std::string gone;
    const auto drop = [&](const Row& row) {
        if (!gone.empty()) gone += ',';
        append_json_quoted(gone, row.key);
    };
    auto old = before.rows.begin();
    for (const Row& row : after.rows) {
        for (; old != before.rows.end() && old->key < row.key; ++old) drop(*old);
        const bool known = old != before.rows.end() && old->key == row.key;
        if (!known || old->cells != row.cells) set.push_back(&row);
        if (known) ++old;
    }
    for (; old != before.rows.end(); ++old) drop(*old);
    if (set.empty() && gone.empty()) return {};
    return "{\"set\":" + (set.empty() ? "[]" : columns_json(after.columns.size(), set)) +
           ",\"gone\":[" + gone + "]}";
}

std::string step_json(const State& before, const State& after) {
    std::string tables;
    for (const Table& table : after.tables) {
        const auto old = std::find_if(before.tables.begin(), before.tables.end(),
                                      [&](const Table& one) { return one.name == table.name; });
        const std::string step = table_step(old == before.tables.end() ? Table{} : *old, table);
        if (step.empty()) continue;
        if (!tables.empty()) tables += ',';
        tables += json_quoted(table.name) + ":" + step;
    }
    return "{\"about\":" + after.about + ",\"tables\":{" + tables + "}}";
}

/// Whether the same tables with the same columns are there: else no step leads from one to the other.
bool is_alike(const State& a, const State& b) {
    return std::equal(a.tables.begin(), a.tables.end(), b.tables.begin(), b.tables.end(),
                      [](const Table& one, const Table& other) {
                          return one.name == other.name && one.columns == other.columns;
                      });
}

}  // namespace

void Feed::publish(State state, Moment at) {
    {
        const std::scoped_lock lock(mutex_);
        ++version_;
        at_ = at;
        snapshot_.reset();
        last_.reset();
        if (!is_alike(state_, state)) {
            steps_.clear();
            step_bytes_ = 0;
        } else {
            auto json = std::make_shared<const std::string>(step_json(state_, state));
            step_bytes_ += json->size();
            steps_.push_back({.version = version_, .json = std::move(json)});
        }
        while (steps_.size() > kMostSteps || step_bytes_ > kMostStepBytes) {
            step_bytes_ -= steps_.front().json->size();
            steps_.pop_front();
        }
        state_ = std::move(state);
    }
    changed_.notify_all();
}

Feed::Text Feed::snapshot() const {
    const std::scoped_lock lock(mutex_);
    if (version_ == 0) return {};
    if (!snapshot_) {
        snapshot_ = std::make_shared<const std::string>(
            "{\"epoch\":" + json_quoted(epoch_) + ",\"version\":" + std::to_string(version_) +
            ",\"at\":" + ms_text(at_) + ",\"about\":" + state_.about +
            ",\"tables\":" + tables_json(state_) + "}");
    }
    return {.version = version_, .json = snapshot_};
}

std::string Feed::changes_json(std::uint64_t since) const {
    std::string json =
        "{\"version\":" + std::to_string(version_) + ",\"at\":" + ms_text(at_) + ",\"steps\":[";
    bool first = true;
    for (const Step& step : steps_) {
        if (step.version <= since) continue;
        if (!first) json += ',';
        first = false;
        json += *step.json;
    }
    return json + "]}";
}

Feed::Text Feed::changes(std::uint64_t since) const {
    const std::scoped_lock lock(mutex_);
    const bool known =
        since > 0 && since <= version_ &&
        (since == version_ || (!steps_.empty() && steps_.front().version <= since + 1));
    if (!known) return {.version = version_, .json = nullptr};
    if (since + 1 != version_) {
        return {.version = version_,
                .json = std::make_shared<const std::string>(changes_json(since))};
    }
    if (!last_) last_ = std::make_shared<const std::string>(changes_json(since));
    return {.version = version_, .json = last_};
}

std::uint64_t Feed::wait_newer(std::uint64_t seen, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return version_ > seen; });
    return version_;
}

}  // namespace aliquot::page
