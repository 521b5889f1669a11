// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

// What make_plan() does, one after another. Only for the files of this folder.
namespace aliquot::plan {

/// One GPU of the request.
struct Slot {
    const GpuPool* pool = nullptr;
    int index = 0;                   // among all GPUs of the request
    unsigned in_pool = 0;            // among those of its pool
    std::vector<std::size_t> units;  // what is placed on it
    bool whole = false;              // taken by one alone
};

/// One replica that wants a place.
struct Unit {
    const Workload* workload = nullptr;
    unsigned replica = 0;
    bool exclusive = false;
    bool large = false;  // exclusive for no other reason than its memory
    Mode mode = Mode::kExclusive;
};

struct Draft {
    const Request& request;
    Plan plan;
    std::vector<Slot> slots;
    std::vector<Unit> units;
};

/// 5 % of the memory, at least 512 MiB.
double reserve_mib(const GpuPool& pool);

/// The most that a workload with a GPU of its own may need: all of it, or what `aliquot size` takes as usable
/// by a model.
double most_need_mib(const GpuPool& pool, const Workload& workload);
bool holds_alone(const GpuPool& pool, const Workload& workload);

/// Chooses exclusive or shared for each replica, CPU for those that are fast enough on it.
void classify(Draft& draft);

/// Takes the GPU of their own from those that have it for their memory alone.
void share_large(Draft& draft);

/// Techniques that are open where nothing asks for isolation.
struct Ways {
    bool mig = true;
    bool mps = true;  // its shares are equal
};

/// The technique for what is to be shared on a pool of this model, with the reasons.
/// ways     what may be chosen although nothing asks for isolation
Mode choose_mode(Draft& draft, const GpuPool& pool, const std::vector<std::size_t>& shared,
                 Ways ways);

/// Gives every unit a GPU, or says that none is left.
void place(Draft& draft);

void add_files(Plan& plan, const Request& request);
void add_numbers(Plan& plan, const Request& request);
void add_speed(Plan& plan, const Request& request);
void add_migration(Plan& plan, const Request& request);
void add_confidence(Plan& plan, const Request& request);

/// Notes a loser, once.
void reject(Plan& plan, std::string rule, Mode mode, std::string subject, std::string reason);

/// "2 more GPUs are needed".
std::string missing_text(unsigned gpus);

/// The plan for a card without workloads.
void plan_cards(Draft& draft);

/// "2 shares of 7 GiB on 1 x a2": the one line.
std::string recommend(const Plan& plan, const Request& request);

}  // namespace aliquot::plan
