// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/units.h"
#include "grant/mechanism.h"
#include "plan/steps.h"
#include "sizing/card.h"
#include "sizing/instance.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

constexpr int kMostSlots = kMostGpus;

std::vector<Slot> slots_of(const Request& request) {
    std::vector<Slot> slots;
    int index = 0;
    for (const GpuPool& pool : request.pools) {
        for (unsigned i = 0; i < pool.count && index < kMostSlots; ++i) {
            Slot slot;
            slot.pool = &pool;
            slot.index = index++;
            slot.in_pool = i;
            slots.push_back(slot);
        }
    }
    return slots;
}

/// The head of the answer is about the shared GPUs, or else the first.
void fill_head(Plan& plan) {
    if (plan.gpus.empty()) {
        plan.mode = Mode::kCpu;
        plan.replicas = 0;
        return;
    }
    std::ranges::sort(plan.gpus, {}, &GpuUse::gpu);
    const auto shared = std::ranges::find_if(plan.gpus, [](const GpuUse& use) {
        return use.mode != Mode::kExclusive && use.mode != Mode::kSerial;
    });
    const GpuUse& use = shared == plan.gpus.end() ? plan.gpus.front() : *shared;
    plan.mode = use.mode;
    plan.replicas = use.replicas;
    plan.reserve_gib = use.reserve_mib / kMibPerGib;
    plan.usable_gib = (use.memory_mib - use.reserve_mib) / kMibPerGib;
    plan.per_pod_gib = use.share_mib / kMibPerGib;
    using sizing::gib_text;
    if (use.mode == Mode::kMig) {
        plan.formula = "smallest profile that holds each replica; placed by trying all layouts";
    } else if (use.mode == Mode::kTimeSlicing && use.replicas > 1) {
        plan.formula = "usable = " + gib_text(use.memory_mib / kMibPerGib) + " - " +
                       gib_text(plan.reserve_gib) +
                       " reserve (5 %, at least 0.5 GiB) = " + gib_text(plan.usable_gib) + "; " +
                       std::to_string(use.replicas) + " need " +
                       gib_text(use.needed_mib / kMibPerGib) + " together";
    } else if (use.replicas > 1) {
        plan.formula = "usable = " + gib_text(use.memory_mib / kMibPerGib) + " - " +
                       gib_text(plan.reserve_gib) +
                       " reserve (5 %, at least 0.5 GiB) = " + gib_text(plan.usable_gib) +
                       "; each of " + std::to_string(use.replicas) + " = " +
                       gib_text(plan.per_pod_gib) + " (in steps of 64 MiB)";
    } else {
        plan.formula = "a whole GPU each";
    }
}

/// A way to share that no GPU of the plan is shared in is no reason for it.
void forget_unused_ways(Plan& plan) {
    constexpr std::array<std::pair<std::string_view, Mode>, 5> kRules{
        {{"PLN010", Mode::kMig},
         {"PLN013", Mode::kMig},
         {"PLN030", Mode::kMps},
         {"PLN040", Mode::kFraction},
         {"PLN043", Mode::kTimeSlicing}}};
    std::erase_if(plan.reasons, [&](const Reason& reason) {
        const auto rule = std::ranges::find(kRules, std::string_view(reason.rule),
                                            &std::pair<std::string_view, Mode>::first);
        return rule != kRules.end() &&
               std::ranges::find(plan.gpus, rule->second, &GpuUse::mode) == plan.gpus.end();
    });
}

/// What a machine lacks for a pod; empty: nothing.
std::string lacks(const catalog::GpuInstance& machine, const sizing::PodNeed& need) {
    std::string why;
    for (const auto& reason : sizing::shortfalls(machine, need, {})) {
        why += (why.empty() ? "" : "; ") + reason.resource + " " + reason.needed + " needed, " +
               reason.available;
    }
    return why;
}

/// Whether the pods' CPU and memory fit a machine of the request at all. Of own hardware nobody told
/// what it has.
void check_host(Plan& plan, const Request& request) {
    for (const Workload& w : request.workloads) {
        sizing::PodNeed need;
        need.cpu = w.cpu;
        need.memory_mib = w.host_memory_mib;
        need.gpus = 0;
        const bool somewhere = std::ranges::any_of(request.pools, [&need](const GpuPool& pool) {
            return pool.instance == nullptr || lacks(*pool.instance, need).empty();
        });
        if (somewhere) continue;
        std::vector<std::string_view> seen;
        for (const GpuPool& pool : request.pools) {
            if (std::ranges::find(seen, pool.instance->type) != seen.end()) continue;
            seen.push_back(pool.instance->type);
            plan.never_schedulable = true;
            std::string text = w.name + " can never run on " + std::string(pool.instance->type) +
                               ": " + lacks(*pool.instance, need);
            sizing::PodNeed with_gpu = need;
            with_gpu.gpus = 1;
            with_gpu.gpu = pool.model->key;
            const auto other = sizing::choose_instance(with_gpu, {}, pool.instance->cloud, "");
            if (other && !other->fitting.empty()) {
                text += "; " + std::string(other->fitting.front().instance->type) + " takes it";
            }
            reject(plan, "PLN090", plan.mode, w.name, text);
            plan.warnings.push_back(std::move(text));
        }
    }
}

/// Whether all pods that share one machine fit it together.
void check_host_sum(Plan& plan, const Request& request) {
    int first = 0;
    for (const GpuPool& pool : request.pools) {
        const int begin = first;
        first += static_cast<int>(pool.count);
        if (pool.instance == nullptr || plan.never_schedulable) continue;
        const int per_node = static_cast<int>(std::max(1U, pool.count / std::max(1U, pool.nodes)));
        sizing::PodNeed sum;
        sum.gpus = 0;
        std::string names;
        for (const Share& share : plan.shares) {
            // The first node is the fullest.
            if (share.gpu < begin || share.gpu >= begin + per_node) continue;
            if (share.mode == Mode::kSerial) continue;
            const auto w = std::ranges::find(request.workloads, share.workload, &Workload::name);
            if (w == request.workloads.end()) continue;
            sum.cpu += w->cpu;
            sum.memory_mib += w->host_memory_mib;
            names +=
                (names.empty() ? "" : ", ") + share.workload + "-" + std::to_string(share.replica);
        }
        const std::string why = lacks(*pool.instance, sum);
        if (why.empty()) continue;
        plan.node_too_small = true;
        std::string text("on one ");
        text.append(pool.instance->type)
            .append(" together (")
            .append(names)
            .append("): ")
            .append(why);
        reject(plan, "PLN091", plan.mode, "", text);
        plan.warnings.push_back(std::move(text));
    }
}

/// What would help without a further GPU: turns of whole programs, where each fits alone.
void add_way_out(Plan& plan, const Request& request) {
    if (request.workloads.empty()) return;
    double most = 0;
    for (const GpuPool& pool : request.pools) {
        most = std::max(most, (memory_mib(pool) - reserve_mib(pool)) / kMibPerGib);
    }
    bool tenants = false;
    std::string names;
    for (const Workload& w : request.workloads) {
        if (w.gpus > 1 || w.memory_gib > most) return;
        tenants = tenants || w.tenant != request.workloads.front().tenant;
        if (w.never_together) return;
        names += (names.empty() ? "" : ", ") + w.name;
    }
    if (tenants || request.workloads.size() < 2) return;
    plan.warnings.push_back(
        "without another GPU: a smaller model or fewer bits; what is fast enough "
        "on the CPU stays there (cpu_seconds, enough_seconds); or "
        "never_together: true for all that can wait for each other (" +
        names + "): then they take the whole GPU one after the other");
}

void add_general_warnings(Plan& plan, const Request& request) {
    const bool has_fraction = std::ranges::any_of(
        plan.gpus, [](const GpuUse& use) { return use.mode == Mode::kFraction; });
    if (has_fraction) {
        plan.warnings.push_back(
            "the limits of a share stand in the configuration and in every grant; until the guard "
            "is installed nothing enforces them: set the limit in the application as well (see "
            "environment)");
    }
    const bool has_mps =
        std::ranges::any_of(plan.gpus, [](const GpuUse& use) { return use.mode == Mode::kMps; });
    if (has_mps) {
        plan.warnings.push_back(
            "under MPS a fatal fault of one process ends all processes on its GPU, and a limit is "
            "of each process, not of its pod: let a pod run one process");
    }
    if (std::ranges::any_of(plan.gpus, [](const GpuUse& use) {
            return use.mode == Mode::kTimeSlicing && use.replicas > 1;
        })) {
        plan.warnings.push_back(
            "nothing holds a share of plain time-slicing to its memory: set the limit in each "
            "application (see environment); `aliquot run --gpu-memory` can start one under it");
    }
    if (!plan.unplaced.empty() && !request.workloads.empty()) {
        plan.warnings.push_back(std::to_string(plan.unplaced.size()) +
                                (plan.unplaced.size() == 1 ? " replica has" : " replicas have") +
                                " no place: " + missing_text(plan.gpus_missing));
        add_way_out(plan, request);
    }
    for (const GpuPool& pool : request.pools) {
        if (pool.unlisted == nullptr) continue;
        std::string text = std::string(pool.model->name) +
                           " is not in the table: Volta or newer without MIG is assumed";
        if (std::ranges::find(plan.warnings, text) == plan.warnings.end()) {
            plan.warnings.push_back(std::move(text));
        }
    }
    for (const Workload& w : request.workloads) {
        if (const std::string name = object_name(w.name); name != w.name) {
            plan.warnings.push_back("'" + w.name +
                                    "' is not a name of a Kubernetes object: commands say " + name);
        }
        const bool keeps_only =
            w.load && std::ranges::any_of(request.pools, [&w](const GpuPool& pool) {
                return sizing::format_problem(*pool.model, *w.load).empty() &&
                       !sizing::computes_in(*pool.model, *w.load);
            });
        if (keeps_only) {
            plan.warnings.push_back(w.name +
                                    ": fp8 of the weights only, and computed in 16 bits, on GPUs "
                                    "before compute capability 8.9");
        }
        if (!w.part_problem.empty()) plan.warnings.push_back(w.name + ": " + w.part_problem);
        if (w.memory_gib > 0 || w.gpus > 1) continue;
        plan.warnings.push_back(w.name + ": its memory is not known; measure it, then plan again");
    }
}

void add_environment(Plan& plan) {
    std::vector<std::string> seen;
    for (const Share& share : plan.shares) {
        if (share.mode != Mode::kFraction && share.mode != Mode::kTimeSlicing) continue;
        if (std::ranges::find(seen, share.workload) != seen.end()) continue;
        seen.push_back(share.workload);
        const std::string mib = decimal_text(share.memory_mib, 0);
        const std::string who = " (" + share.workload + ")";
        std::string limit("GPU memory limit of the application = ");
        limit.append(mib).append(" MB").append(who);
        limit.append(", such as CAT_WATCHER__INFERENCE__GPU_MEMORY_LIMIT=").append(mib);
        plan.environment.push_back(std::move(limit));
        const bool whisper = share.workload.find("whisper") != std::string::npos;
        if (whisper) plan.environment.push_back("WHISPER__INFERENCE_DEVICE=cuda" + who);
    }
    if (!seen.empty()) plan.environment.emplace_back("TF_FORCE_GPU_ALLOW_GROWTH=true (TensorFlow)");
}

}  // namespace

std::string_view to_text(Mode mode) {
    switch (mode) {
        case Mode::kExclusive:
            return grant::plan_text(grant::Mechanism::kNone);
        case Mode::kTimeSlicing:
            return grant::plan_text(grant::Mechanism::kTimeSlicing);
        case Mode::kFraction:
            return grant::plan_text(grant::Mechanism::kGuarded);
        case Mode::kMps:
            return grant::plan_text(grant::Mechanism::kMps);
        case Mode::kMig:
            return grant::plan_text(grant::Mechanism::kMig);
        case Mode::kSerial:
            return "serial";
        case Mode::kCpu:
            break;
    }
    return "cpu";
}

std::string_view technique_of(Mode mode) {
    return mode == Mode::kFraction ? to_text(Mode::kTimeSlicing) : to_text(mode);
}

namespace {

/// A model that no GPU of the request holds is parted over the GPUs of one node, as far as they do.
Request with_parts(const Request& request) {
    Request parted = request;
    for (Workload& w : parted.workloads) {
        const auto holds = [&w](const GpuPool& pool, unsigned gpus, double gib) {
            const unsigned per_node = std::max(1U, pool.count / std::max(1U, pool.nodes));
            return w.gpus <= per_node && gpus <= per_node &&
                   gib * kMibPerGib <= most_need_mib(pool, w);
        };
        const auto held = [&](unsigned gpus, double gib) {
            return std::ranges::any_of(request.pools,
                                       [&](const GpuPool& pool) { return holds(pool, gpus, gib); });
        };
        if (w.parted.empty() || held(1, w.memory_gib)) continue;
        const auto part = [&w](const std::pair<unsigned, double>& way) {
            w.gpus = way.first;
            w.memory_gib = way.second;
        };
        // What the nodes do not have is asked for: more of these GPUs, or as many as there are and larger.
        const auto holds_anywhere = [&](const std::pair<unsigned, double>& way) {
            return std::ranges::any_of(request.pools, [&](const GpuPool& pool) {
                return way.second * kMibPerGib <= most_need_mib(pool, w);
            });
        };
        const auto here = std::ranges::find_if(
            w.parted, [&](const auto& way) { return held(way.first, way.second); });
        const auto more = std::ranges::find_if(w.parted, holds_anywhere);
        part(here != w.parted.end() ? *here : more != w.parted.end() ? *more : w.parted.back());
    }
    return parted;
}

}  // namespace

Plan make_plan(const Request& asked) {
    const Request request = with_parts(asked);
    Draft draft{request, {}, slots_of(request), {}};
    if (request.pools.empty()) return std::move(draft.plan);
    if (request.workloads.empty()) {
        plan_cards(draft);
    } else {
        classify(draft);
        place(draft);
        fill_head(draft.plan);
        forget_unused_ways(draft.plan);
        check_host(draft.plan, request);
        check_host_sum(draft.plan, request);
    }
    Plan& plan = draft.plan;
    plan.technique = technique_of(plan.mode);
    // Equal nodes have equal reasons.
    std::vector<Reason> reasons;
    for (Reason& reason : plan.reasons) {
        const bool known = std::ranges::any_of(reasons, [&reason](const Reason& one) {
            return one.rule == reason.rule && one.text == reason.text;
        });
        if (!known) reasons.push_back(std::move(reason));
    }
    plan.reasons = std::move(reasons);
    add_general_warnings(plan, request);
    add_environment(plan);
    add_numbers(plan, request);
    add_speed(plan, request);
    add_files(plan, request);
    add_migration(plan, request);
    add_confidence(plan, request);
    plan.recommendation = recommend(plan, request);
    return std::move(draft.plan);
}

}  // namespace aliquot::plan
