// SPDX-License-Identifier: Apache-2.0
// Which replica goes to which GPU. First fit, largest first, with equal parts on each GPU: neither
// NVIDIA's plugin nor our configuration knows unequal ones for turns. MIG is packed exactly.
// When something has no place that way, it is tried again with less that is only wished for.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "plan/mig.h"
#include "plan/room.h"
#include "plan/share.h"
#include "plan/steps.h"

namespace aliquot::plan {
namespace {

class Placer {
public:
    Placer(Draft& draft, Relaxation relaxation)
        : draft_(draft), relaxation_(relaxation), room_(draft, relaxation) {}

    void run() {
        for (std::size_t i = 0; i < draft_.units.size(); ++i) {
            if (draft_.units[i].mode == Mode::kCpu) add_cpu(draft_.units[i]);
        }
        place_exclusive(false);
        if (relaxation_.jobs_last) place_shared();
        place_exclusive(true);
        if (!relaxation_.jobs_last) place_shared();
        if (unequal_) forget_limits(draft_.plan);
    }

    /// Services without a place count more than jobs, which can wait for one.
    [[nodiscard]] std::pair<std::size_t, std::size_t> left_out() const {
        return {services_left_, draft_.plan.unplaced.size()};
    }

private:
    void place_exclusive(bool jobs) {
        for (std::size_t i = 0; i < draft_.units.size(); ++i) {
            const Unit& unit = draft_.units[i];
            if (unit.mode == Mode::kCpu || !unit.exclusive) continue;
            if (can_wait(*unit.workload) != jobs) continue;
            if (take_whole(i)) continue;
            if (can_wait(*unit.workload) && wait_for_one(unit)) continue;
            leave_out(unit, unit.workload->gpus);
        }
    }

    bool take_whole(std::size_t index) {
        const Unit& unit = draft_.units[index];
        std::vector<Slot*> free;
        const GpuPool* pool = nullptr;
        for (Slot& slot : draft_.slots) {
            if (slot.whole || !slot.units.empty() || !room_.machine_takes(slot, *unit.workload))
                continue;
            if (!holds_alone(*slot.pool, *unit.workload)) continue;
            if (pool != slot.pool) free.clear();
            pool = slot.pool;
            free.push_back(&slot);
            if (free.size() == unit.workload->gpus) break;
        }
        if (free.size() < unit.workload->gpus) return false;
        for (Slot* const slot : free) {
            slot->whole = true;
            if (can_wait(*unit.workload)) of_jobs_.insert(slot->index);
            add_whole(unit, *slot, Mode::kExclusive);
        }
        return true;
    }

    /// A job that can wait takes the GPU of another job after it; a service never ends.
    bool wait_for_one(const Unit& unit) {
        std::size_t least = 0;
        Slot* best = nullptr;
        for (Slot& slot : draft_.slots) {
            if (!of_jobs_.contains(slot.index) || !room_.machine_takes(slot, *unit.workload) ||
                !holds_alone(*slot.pool, *unit.workload)) {
                continue;
            }
            const std::size_t waiting = queued_[slot.index];
            if (best != nullptr && waiting >= least) continue;
            best = &slot;
            least = waiting;
        }
        if (best == nullptr || unit.workload->gpus > 1) return false;
        ++queued_[best->index];
        if (!told_queue_) {
            told_queue_ = true;
            draft_.plan.reasons.push_back(
                {"PLN051",
                 "more jobs than GPUs, and jobs can wait: a queue, one at a time on "
                 "each GPU"});
        }
        add_whole(unit, *best, Mode::kSerial);
        return true;
    }

    // Shared ----------------------------------------------------------------------------------

    std::vector<std::size_t> remaining() const {
        std::vector<std::size_t> left;
        for (std::size_t i = 0; i < draft_.units.size(); ++i) {
            const Unit& unit = draft_.units[i];
            if (unit.mode != Mode::kCpu && !unit.exclusive && !done_.contains(i)) left.push_back(i);
        }
        std::ranges::stable_sort(left, [this](std::size_t a, std::size_t b) {
            return need_mib(*draft_.units[a].workload) > need_mib(*draft_.units[b].workload);
        });
        return left;
    }

    void place_shared() {
        for (const GpuPool& pool : draft_.request.pools) {
            auto left = remaining();
            if (left.empty()) return;
            std::vector<Slot*> slots;
            for (Slot& slot : draft_.slots) {
                if (slot.pool == &pool && !slot.whole) slots.push_back(&slot);
            }
            if (slots.empty()) continue;
            if (left.size() == 1) {
                draft_.plan.reasons.push_back({"PLN007", draft_.units[left[0]].workload->name +
                                                             " is alone: nothing is to be shared"});
                give(left, slots, Mode::kExclusive);
                continue;
            }
            const Mode mode = choose_mode(draft_, pool, left,
                                          {.mig = !relaxation_.no_mig, .mps = !relaxation_.loose});
            draft_.plan.mode = mode;
            if (mode == Mode::kExclusive) {
                give_by_group(left, slots);
            } else {
                give(left, slots, mode);
            }
        }
        auto left = remaining();
        for (const std::size_t index : left) leave_out(draft_.units[index], 0);
        std::erase_if(left, [this](std::size_t index) {
            return room_.never_holds(*draft_.units[index].workload);
        });
        draft_.plan.gpus_missing +=
            gpus_for(draft_, left, [this](const Workload& w) { return room_.duty_of(w); });
    }

    /// Every group has GPUs of its own; within one they are shared.
    void give_by_group(const std::vector<std::size_t>& left, std::vector<Slot*> slots) {
        std::map<std::string, std::vector<std::size_t>> groups;
        const GpuPool& pool = *slots.front()->pool;
        if (is_one_device(pool)) slots.resize(1);
        for (const std::size_t index : left) groups[room_.group_of(index, pool)].push_back(index);
        std::size_t next = 0;
        std::vector<std::size_t> waiting;
        for (const auto& [group, units] : groups) {
            const Mode within = units.size() == 1 ? Mode::kExclusive : room_.turns_on(pool);
            for (; next < slots.size(); ++next) {
                std::vector<std::size_t> open;
                for (const std::size_t index : units) {
                    if (!done_.contains(index)) open.push_back(index);
                }
                if (open.empty()) break;
                give(open, {slots[next]}, within);
            }
            for (const std::size_t index : units) {
                if (!done_.contains(index)) waiting.push_back(index);
            }
        }
        for (const std::size_t index : waiting) queue(index, slots);
    }

    /// A job waits until a GPU is free on which only jobs run; a service never ends.
    void queue(std::size_t index, const std::vector<Slot*>& slots) {
        const Unit& unit = draft_.units[index];
        if (!can_wait(*unit.workload)) return;
        for (Slot* const slot : slots) {
            const bool jobs = std::ranges::all_of(slot->units, [this](std::size_t other) {
                return can_wait(*draft_.units[other].workload);
            });
            if (!jobs || slot->units.empty() || !room_.machine_takes(*slot, *unit.workload))
                continue;
            if (need_mib(*unit.workload) > memory_mib(*slot->pool)) continue;
            draft_.plan.reasons.push_back({"PLN051", "more of them than GPUs: " + name_of(unit) +
                                                         " waits until a GPU is free"});
            done_.insert(index);
            add_whole(unit, *slot, Mode::kSerial);
            return;
        }
    }

    void give(const std::vector<std::size_t>& units, const std::vector<Slot*>& slots, Mode mode) {
        std::size_t from = 0;
        const Workload* last = nullptr;
        for (const std::size_t index : units) {
            // A GPU that has no room for one replica has none for its sister.
            const Workload* const workload = draft_.units[index].workload;
            if (workload != last) from = 0;
            last = workload;
            while (from < slots.size() && !room_.has_room(*slots[from], index, mode)) ++from;
            if (from == slots.size()) continue;
            Slot* chosen = slots[from];
            if (mode == Mode::kSerial) {  // any number waits: to the shortest queue
                for (Slot* const slot : slots) {
                    const bool shorter = slot->units.size() < chosen->units.size();
                    if (shorter && room_.has_room(*slot, index, mode)) chosen = slot;
                }
            }
            chosen->units.push_back(index);
            done_.insert(index);
        }
        for (Slot* const slot : slots) finish(*slot, mode);
    }

    void finish(Slot& slot, Mode mode) {
        if (slot.units.empty() || finished_.contains(slot.index)) return;
        finished_.insert(slot.index);
        if (mode == Mode::kMig) {
            finish_mig(slot);
            return;
        }
        const bool alone = slot.units.size() == 1 && mode != Mode::kSerial;
        if (alone || mode == Mode::kSerial) {
            for (const std::size_t index : slot.units) {
                add_whole(draft_.units[index], slot, alone ? Mode::kExclusive : Mode::kSerial);
            }
            slot.whole = true;
            return;
        }
        double sum = 0;
        double most = 0;
        for (const std::size_t index : slot.units) {
            sum += need_mib(*draft_.units[index].workload);
            most = std::max(most, need_mib(*draft_.units[index].workload));
        }
        if (mode == Mode::kFraction && most > share_mib(*slot.pool, slot.units.size())) {
            mode = Mode::kTimeSlicing;
            unequal_ = true;
            tell_unequal(draft_.plan, *slot.pool, slot.units.size(), most, sum);
        }
        GpuUse use = use_of(slot, mode);
        use.replicas = static_cast<unsigned>(slot.units.size());
        use.share_mib = share_mib(*slot.pool, slot.units.size());
        for (const std::size_t index : slot.units) {
            Share share = share_of(draft_.units[index], slot, mode);
            share.memory_mib = use.share_mib;
            // Without limits each keeps to its part of what is there, in proportion to its need.
            constexpr double kStepMib = 64;
            if (mode == Mode::kTimeSlicing) {
                share.memory_mib =
                    std::max(share.need_mib,
                             std::floor(usable_mib(*slot.pool) * share.need_mib / sum / kStepMib) *
                                 kStepMib);
            }
            share.headroom_mib = share.memory_mib - share.need_mib;
            share.compute_percent = static_cast<unsigned>(kPercent) / use.replicas;
            share.risk = risk_of(share, use.replicas);
            add(use, std::move(share));
        }
        draft_.plan.gpus.push_back(std::move(use));
    }

    void finish_mig(Slot& slot) {
        const auto layout = place_needs(room_.mig_needs_of(slot));
        if (!layout) return;  // cannot be: every unit was tried before it was taken
        // The layout is sorted by size; give each unit the smallest slot that holds it.
        std::vector<bool> given(layout->size(), false);
        GpuUse use = use_of(slot, Mode::kMig);
        use.replicas = static_cast<unsigned>(slot.units.size());
        for (const std::size_t index : slot.units) {
            const Workload& w = *draft_.units[index].workload;
            const auto need = room_.mig_need_of(slot, index);
            std::size_t best = layout->size();
            for (std::size_t i = 0; i < layout->size(); ++i) {
                const auto* const profile = (*layout)[i].profile;
                if (given[i] || std::ranges::find(need.choices, profile) == need.choices.end()) {
                    continue;
                }
                if (best == layout->size() ||
                    profile->memory_gib < (*layout)[best].profile->memory_gib) {
                    best = i;
                }
            }
            if (best == layout->size()) continue;
            given[best] = true;
            const MigSlot& place = (*layout)[best];
            Share share = share_of(draft_.units[index], slot, Mode::kMig);
            share.memory_mib = place.profile->memory_gib * kMibPerGib;
            share.headroom_mib = share.memory_mib - need_mib(w);
            share.compute_percent = static_cast<unsigned>(kPercent * place.profile->slices /
                                                          catalog::mig_slices(*slot.pool->model));
            share.profile = place.profile->name;
            share.slot = place.start;
            share.resource = catalog::mig_resource(*place.profile);
            share.risk = risk_of(share, use.replicas);
            const bool told = w.duty_certainty != Certainty::kGuessed;
            if (told && w.duty_percent.value_or(0) > share.compute_percent) {
                share.risk += "; busy " + decimal_text(*w.duty_percent) +
                              " % of a whole GPU, so slower at its peaks";
            }
            use.share_mib = std::max(use.share_mib, share.memory_mib);
            add(use, std::move(share));
        }
        draft_.plan.gpus.push_back(std::move(use));
    }

    // The result ------------------------------------------------------------------------------

    void add(GpuUse& use, Share share) {
        use.needed_mib += share.need_mib;
        use.shares.push_back(draft_.plan.shares.size());
        draft_.plan.shares.push_back(std::move(share));
    }

    /// One replica with a whole GPU; further ones join its entry when they wait for it.
    void add_whole(const Unit& unit, const Slot& slot, Mode mode) {
        auto& gpus = draft_.plan.gpus;
        auto use = std::ranges::find(gpus, slot.index, &GpuUse::gpu);
        if (use == gpus.end()) {
            GpuUse fresh = use_of(slot, mode);
            fresh.reserve_mib = 0;
            fresh.share_mib = fresh.memory_mib;
            gpus.push_back(std::move(fresh));
            use = std::prev(gpus.end());
        }
        if (mode == Mode::kSerial) make_serial(draft_.plan, *use);
        Share share = share_of(unit, slot, mode);
        if (unit.workload->memory_gib == 0) share.need_mib = 0;
        share.memory_mib = memory_mib(*slot.pool);
        share.headroom_mib = share.need_mib > 0 ? share.memory_mib - share.need_mib : 0;
        share.risk = risk_of(share, 1);
        const double before = use->needed_mib;
        add(*use, std::move(share));
        // One at a time: the largest counts, not the sum.
        if (mode == Mode::kSerial) {
            use->needed_mib = std::max(before, draft_.plan.shares.back().need_mib);
        }
    }

    void add_cpu(const Unit& unit) {
        Share share;
        share.workload = unit.workload->name;
        share.replica = unit.replica;
        share.mode = Mode::kCpu;
        share.compute_percent = 0;
        share.risk = "slower than on a GPU, but fast enough";
        draft_.plan.shares.push_back(std::move(share));
    }

    void leave_out(const Unit& unit, unsigned gpus) {
        draft_.plan.unplaced.push_back(name_of(unit));
        if (!can_wait(*unit.workload)) ++services_left_;
        const Workload& w = *unit.workload;
        const unsigned spare = std::min(gpus, free_gpus(draft_, w, promised_));
        promised_ += spare;  // a free GPU counts for one only
        if (!room_.never_holds(w)) draft_.plan.gpus_missing += gpus - spare;
        reject(draft_.plan, "PLN052", Mode::kExclusive, w.name, room_.why_left_out(w));
    }

    Draft& draft_;
    Relaxation relaxation_;
    Room room_;
    unsigned promised_ = 0;
    std::size_t services_left_ = 0;
    bool unequal_ = false;
    std::set<std::size_t> done_;
    std::set<int> finished_;
    std::set<int> of_jobs_;  // GPUs that a job has whole
    std::map<int, std::size_t> queued_;
    bool told_queue_ = false;
};

}  // namespace

void place(Draft& draft) {
    const Plan empty = draft.plan;
    const std::vector<Slot> slots = draft.slots;
    std::optional<Draft> best;
    std::pair<std::size_t, std::size_t> least{};
    for (const Relaxation& relaxation : kRelaxations) {
        Draft tried{draft.request, empty, slots, draft.units};
        if (relaxation.together) share_large(tried);
        Placer placer(tried, relaxation);
        placer.run();
        const auto left = placer.left_out();
        if (best && left >= least) continue;
        if (relaxation.crowded) tell_crowded(tried.plan);
        least = left;
        best.emplace(std::move(tried));
        if (left.second == 0) break;
    }
    draft.plan = std::move(best->plan);
    draft.slots = std::move(best->slots);
}

}  // namespace aliquot::plan
