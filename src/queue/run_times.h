// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "queue/queue.h"

namespace aliquot::queue {

/// How long a run takes in all, in ms.
struct Estimate {
    Time p50 = 0;
    Time p90 = 0;
    Time mean = 0;
};

/// Run times of ended jobs, and what they say of the next: those of the same user, queue, name and shape; else of
/// the same user and size; else of the queue; else all. Of each the last kKept count.
class RunTimes {
public:
    using Key = std::uint32_t;
    static constexpr std::size_t kKept = 64;
    static constexpr std::size_t kFewest = 3;         // with fewer runs the next wider group speaks
    static constexpr std::size_t kMostKeys = 65'536;  // names beyond count as their user's

    RunTimes();

    /// The group a job belongs to. Digits in its name do not count: train-17 is as train-16.
    Key key_of(const Job& job);
    /// declared   how long its owner said that it runs, or may run; 0: nothing was said
    void learn(Key key, Time ran, Time declared = 0);
    /// Of a job that has run for `elapsed`: its run time in all, by those that took longer; 0 before the start.
    /// Nothing known: all parts are 0.
    [[nodiscard]] Estimate estimate(Key key, Time elapsed) const;
    /// estimate(key, 0), remembered.
    [[nodiscard]] const Estimate& at_start(Key key) const;
    /// Of a job whose owner said `declared`: by which part of that such jobs ran. Nothing known: all parts are 0.
    [[nodiscard]] Estimate of_declared(Key key, Time declared, Time elapsed) const;
    /// The same at one place of those that took longer than `elapsed`, 0..1; 0: nothing known.
    [[nodiscard]] Time of_declared_at(Key key, Time declared, Time elapsed, double place) const;
    /// Who speaks for it: its own group, or a wider one.
    [[nodiscard]] Key speaker(Key key, Time elapsed) const;
    /// Run times of a group, in order of length.
    [[nodiscard]] const std::vector<Time>& of_group(Key key) const {
        return groups_[key].runs.sorted;
    }
    /// All groups of a job: its own and those that are wider.
    [[nodiscard]] std::array<Key, 4> groups_of(Key key) const;
    /// Grows with every learn().
    [[nodiscard]] std::uint64_t version() const { return version_; }

private:
    /// The last kKept of something.
    struct Samples {
        std::vector<Time> sorted;
        std::vector<Time> order;  // a ring: as they came
        std::size_t oldest = 0;
        void add(Time one);
    };
    struct Group {
        Samples runs;
        Samples parts;               // of what was declared, in millionths
        std::array<Key, 3> wider{};  // nearest first; all of them 0, the group of all, at last
        mutable Estimate at_start;
        mutable std::uint64_t estimated = UINT64_MAX;  // version of at_start
    };
    Key group(std::string text);
    [[nodiscard]] Key speaker(Key key, Time above, Samples Group::*which) const;

    std::vector<Group> groups_;
    std::unordered_map<std::string, Key> names_;
    std::string text_;  // room for key_of()
    std::uint64_t version_ = 0;
};

}  // namespace aliquot::queue
