// SPDX-License-Identifier: Apache-2.0
#include "mig/search.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace aliquot::mig {
namespace {

/// Looks through every way to serve the needs: first which busy instance serves which, then where
/// the others go. The number of layouts of a GPU bounds it: some hundreds.
class Search {
public:
    explicit Search(const Task& task)
        : task_(task),
          geometry_(*task.geometry),
          needs_(task.needs),
          taken_(occupied(*task.geometry, task.busy)) {
        // What has the fewest places first; the result does not depend on it, the time does.
        std::ranges::stable_sort(
            needs_, [this](const Need& a, const Need& b) { return smallest(a) > smallest(b); });
        for (const Need& need : needs_) left_.push_back(need.count);
        for (const Instance& instance : task.idle) {
            const auto profile = geometry_.find(instance.profile);
            if (profile) idle_.push_back({{*profile, instance.start}, instance.compute});
        }
    }

    std::optional<Solution> run() {
        serve_busy(0);
        return std::move(best_);
    }

private:
    // A busy instance that the spec names counts to it, even where an idle one would do as well.
    static constexpr int kServed = 1000;

    /// Less is better.
    struct Cost {
        int steps = 0;
        unsigned oversize = 0;
        int room = 0;  // negative
        [[nodiscard]] auto key() const { return std::tuple(steps, oversize, room); }
    };

    [[nodiscard]] unsigned smallest(const Need& need) const {
        unsigned size = ~0U;
        for (const unsigned choice : need.choices) {
            size = std::min(size, geometry_.profiles[choice].size);
        }
        return size;
    }

    [[nodiscard]] std::vector<unsigned> compute_of(const Need& need, unsigned profile) const {
        if (!need.compute.empty()) return need.compute;
        return {geometry_.profiles[profile].slices};
    }

    void serve_busy(std::size_t at) {
        if (at == task_.busy.size()) {
            const std::size_t open = std::accumulate(left_.begin(), left_.end(), std::size_t{0});
            if (open <= geometry_.memory_slices) place(0, 0, 0);
            return;
        }
        const Instance& instance = task_.busy[at];
        const auto profile = geometry_.find(instance.profile);
        for (std::size_t i = 0; profile && i < needs_.size(); ++i) {
            const auto choice = std::ranges::find(needs_[i].choices, *profile);
            if (left_[i] == 0 || choice == needs_[i].choices.end() ||
                compute_of(needs_[i], *profile) != instance.compute) {
                continue;
            }
            const auto rank = static_cast<unsigned>(choice - needs_[i].choices.begin());
            --left_[i];
            cost_.oversize += rank;
            cost_.steps -= kServed;
            serve_busy(at + 1);
            cost_.steps += kServed;
            cost_.oversize -= rank;
            ++left_[i];
        }
        if (task_.leave_busy) serve_busy(at + 1);
    }

    /// Places the next instance of need `at`; equal ones in ascending order of (choice, start).
    void place(std::size_t at, std::size_t from_choice, unsigned from_start) {
        while (at < needs_.size() && left_[at] == 0) {
            ++at;
            from_choice = 0;
            from_start = 0;
        }
        if (at == needs_.size()) return settle();
        const Need& need = needs_[at];
        for (std::size_t choice = from_choice; choice < need.choices.size(); ++choice) {
            const unsigned profile = need.choices[choice];
            for (const unsigned start : geometry_.profiles[profile].starts) {
                const Slot slot{profile, start};
                if (choice == from_choice && start < from_start) continue;
                if (!taken_.fits(geometry_, slot)) continue;
                try_slot(at, choice, slot);
            }
        }
    }

    void try_slot(std::size_t at, std::size_t choice, Slot slot) {
        auto compute = compute_of(needs_[at], slot.profile);
        const bool kept = std::ranges::any_of(idle_, [&](const Placed& idle) {
            return idle.slot == slot && idle.compute == compute;
        });
        const int steps = kept ? -2 : 0;
        --left_[at];
        cost_.steps += steps;
        cost_.oversize += static_cast<unsigned>(choice);
        taken_.put(geometry_, slot);
        placed_.push_back({slot, std::move(compute)});
        if (!best_ || cost_.steps - 2 * static_cast<int>(idle_.size()) <= best_cost_.steps) {
            place(at, choice, slot.start + 1);
        }
        placed_.pop_back();
        taken_.take(geometry_, slot);
        cost_.oversize -= static_cast<unsigned>(choice);
        cost_.steps -= steps;
        ++left_[at];
    }

    void settle() {
        Cost cost = cost_;
        if (best_ && std::tuple(cost.steps, cost.oversize) >
                         std::tuple(best_cost_.steps, best_cost_.oversize)) {
            return;
        }
        const unsigned left = room(geometry_, taken_);
        cost.room = -static_cast<int>(left);
        if (best_ && cost.key() >= best_cost_.key()) return;
        best_ = Solution{placed_, left};
        best_cost_ = cost;
    }

    const Task& task_;
    const Geometry& geometry_;
    std::vector<Need> needs_;
    std::vector<unsigned> left_;  // of each need: instances still to place
    std::vector<Placed> idle_;
    Occupancy taken_;
    std::vector<Placed> placed_;
    Cost cost_;
    std::optional<Solution> best_;
    Cost best_cost_;
};

}  // namespace

Occupancy occupied(const Geometry& geometry, const std::vector<Instance>& instances) {
    Occupancy taken(geometry);
    for (const Instance& instance : instances) {
        if (const auto profile = geometry.find(instance.profile)) {
            taken.put(geometry, {*profile, instance.start});
            continue;
        }
        taken.memory |= mask_of(instance.start, instance.size);
        taken.slices += std::accumulate(instance.compute.begin(), instance.compute.end(), 0U);
    }
    return taken;
}

std::optional<Solution> search(const Task& task) { return Search(task).run(); }

}  // namespace aliquot::mig
