// SPDX-License-Identifier: Apache-2.0
// The decision table. Each rule has a number; what loses is told with it.
#include <algorithm>
#include <set>

#include "base/number.h"
#include "base/units.h"
#include "plan/mig.h"
#include "plan/share.h"
#include "plan/steps.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

using sizing::gib_text;

constexpr double kHalf = 0.5;
constexpr std::string_view kLarge = "PLN001";
constexpr double kBusy = 60;  // percent
constexpr catalog::Version kTensorCores{{7, 0}};

/// The largest GPU of the request, in GiB.
double largest_gib(const Request& request) {
    double most = 0;
    for (const GpuPool& pool : request.pools) most = std::max(most, memory_mib(pool) / kMibPerGib);
    return most;
}

struct Alone {
    std::string rule;
    std::string reason;
};

/// Why a workload needs a GPU of its own; an empty rule: it does not.
Alone needs_whole_gpu(const Workload& w, double gpu_gib) {
    if (w.gpus > 1 || w.uses("nccl") || w.uses("p2p")) {
        return {"PLN002", w.name + " works on " +
                              (w.gpus > 1 ? std::to_string(w.gpus) + " GPUs at once"
                                          : std::string("several GPUs (NCCL, P2P)"))};
    }
    if (w.uses("profiling"))
        return {"PLN004", w.name + " is profiled: counters need the whole GPU"};
    if (w.uses("whole")) return {"PLN005", w.name + " takes the memory of a whole GPU by itself"};
    if (w.memory_gib > kHalf * gpu_gib) {
        return {std::string(kLarge), w.name + " needs " + gib_text(w.memory_gib) +
                                         ", more than half of " + gib_text(gpu_gib)};
    }
    const double duty = w.duty_percent.value_or(0);
    if (duty > kBusy && w.latency_ms > 0) {
        return {"PLN003", w.name + " must answer within " + decimal_text(w.latency_ms) +
                              " ms and keeps the GPU busy " + decimal_text(duty) +
                              " % of the time"};
    }
    if (duty > kBusy && (w.kind == Kind::kTraining || w.memory_gib == 0)) {
        return {"PLN006", w.name + " keeps the GPU busy " + decimal_text(duty) + " % of the time" +
                              (w.memory_gib == 0 ? " and its memory is not known" : "") +
                              ": sharing would only slow it down"};
    }
    return {};
}

/// Why a workload can stay on the CPU; empty: it cannot.
std::string keeps_cpu(const Workload& w) {
    if (w.cpu_seconds <= 0 || w.enough_seconds <= 0 || w.cpu_seconds > w.enough_seconds) return {};
    return w.name + " takes " + decimal_text(w.cpu_seconds) + " s on the CPU and may take " +
           decimal_text(w.enough_seconds) + " s";
}

bool several_tenants(const std::vector<const Workload*>& shared) {
    std::set<std::string> tenants;
    bool security = false;
    for (const Workload* const w : shared) {
        tenants.insert(w->tenant);
        security = security || w->isolation == Isolation::kSecurity;
    }
    return tenants.size() > 1 || (security && shared.size() > 1);
}

/// Something asks that a fault of another one does not reach it, and there is another one.
bool wants_faults_apart(const std::vector<const Workload*>& shared) {
    unsigned replicas = 0;
    for (const Workload* const w : shared) replicas += w->replicas;
    return replicas > 1 && std::ranges::any_of(shared, [](const Workload* w) {
               return w->isolation == Isolation::kFault;
           });
}

bool all_steady(const std::vector<const Workload*>& shared) {
    return std::ranges::all_of(
        shared, [](const Workload* w) { return !w->bursty && w->kind == Kind::kInference; });
}

bool wants_hardware(const std::vector<const Workload*>& shared) {
    return std::ranges::any_of(shared, [](const Workload* w) {
        return w->isolation == Isolation::kFault || w->isolation == Isolation::kSecurity;
    });
}

/// Whether every need has a profile; the packing itself comes later.
std::string no_profile(const GpuPool& pool, const std::vector<const Workload*>& shared) {
    for (const Workload* const w : shared) {
        const auto need = mig_need(*pool.model, slice_need_gib(*w), 0);
        if (need.choices.empty()) {
            return w->name + " (" + gib_text(w->memory_gib) + ") fits into no profile of " +
                   std::string(pool.model->key);
        }
    }
    return {};
}

/// A decision in the making: what is shared on one model of GPU.
struct Question {
    Plan& plan;
    const Request& request;
    const GpuPool& pool;
    std::vector<const Workload*> shared;

    void lose(const char* rule, Mode mode, const std::string& reason) const {
        reject(plan, rule, mode, "", reason);
    }
    [[nodiscard]] unsigned replicas() const {
        unsigned all = 0;
        for (const Workload* const w : shared) all += w->replicas;
        return all;
    }
    Mode win(const char* rule, Mode mode, const std::string& reason) const {
        plan.reasons.push_back({rule, reason});
        return mode;
    }
};

/// MIG, if it is possible and sensible here.
bool mig_wins(const Question& q, bool tenants) {
    const std::string name(q.pool.model->name);
    if (!q.pool.model->has_mig()) {
        q.lose("PLN011", Mode::kMig,
               q.pool.unlisted == nullptr ? name + " has no MIG"
                                          : "whether " + name + " has MIG is not known");
        return false;
    }
    if (!q.pool.model->has_known_mig()) {
        q.lose("PLN015", Mode::kMig, "which profiles " + name + " has only its driver knows");
        return false;
    }
    const std::string misfit = no_profile(q.pool, q.shared);
    if (!misfit.empty()) {
        q.lose("PLN012", Mode::kMig, misfit);
        return false;
    }
    if (q.request.no_reboot) {
        q.lose("PLN014", Mode::kMig,
               "the change of the MIG mode drains the node and resets the "
               "GPU, and --no-reboot was asked");
        return false;
    }
    if (!tenants && !wants_hardware(q.shared) && !all_steady(q.shared)) {
        q.lose("PLN016", Mode::kMig,
               "the load comes in bursts and nothing asks for isolation: fixed slices would stand "
               "idle");
        return false;
    }
    return true;
}

/// MPS, if it is possible and sensible here.
bool mps_wins(const Question& q) {
    const catalog::GpuModel& model = *q.pool.model;
    const std::string name(model.name);
    if (model.compute < kTensorCores) {
        q.lose("PLN031", Mode::kMps,
               name + " (" + std::string(model.architecture) +
                   ") is older than Volta: no memory limits, and one fault "
                   "ends all clients");
        return false;
    }
    if (q.pool.wsl) {
        q.lose("PLN034", Mode::kMps, "WSL has no MPS");
        return false;
    }
    const auto breaks = std::ranges::find_if(q.shared, [](const Workload* w) {
        return w->kind == Kind::kCi || w->kind == Kind::kNotebook ||
               w->isolation == Isolation::kFault || w->uses("ipc");
    });
    if (breaks != q.shared.end()) {
        q.lose("PLN032", Mode::kMps,
               (*breaks)->name +
                   " may crash or ask for isolation: one fatal fault ends every "
                   "client of an MPS server");
        return false;
    }
    if (!all_steady(q.shared)) {
        q.lose("PLN035", Mode::kMps,
               "the load comes in bursts: fixed thread shares would leave multiprocessors idle; "
               "the second choice");
        return false;
    }
    unsigned replicas = 0;
    for (const Workload* const w : q.shared) replicas += w->replicas;
    constexpr unsigned kMany = 3;
    if (replicas < kMany) {
        q.lose("PLN036", Mode::kMps,
               decimal_text(replicas) +
                   " processes: MPS pays with many small ones; the second "
                   "choice");
        return false;
    }
    return true;
}

/// Isolation that is asked for and that nothing but a GPU of its own gives here.
bool apart_without_mig(const Question& q, bool tenants) {
    if (tenants) {
        q.lose("PLN020", Mode::kTimeSlicing,
               "several tenants on one GPU without hardware isolation: a fault or a side channel "
               "of one reaches the others");
        q.lose("PLN020", Mode::kMps, "one fault ends the processes of all tenants");
        q.win("PLN021", Mode::kExclusive,
              "tenants that do not trust each other and no MIG: a GPU for each tenant, or "
              "one after the other");
        return true;
    }
    if (wants_faults_apart(q.shared)) {
        q.lose("PLN022", Mode::kFraction,
               "a fatal error of one process can end all processes of its GPU, limits or not");
        q.win("PLN022", Mode::kExclusive,
              "isolation of faults is asked and no MIG: a GPU of its own for each that asks");
        return true;
    }
    const auto limited = std::ranges::find_if(
        q.shared, [](const Workload* w) { return w->isolation == Isolation::kMemory; });
    const bool limits = q.request.guard && !q.pool.wsl;
    if (!limits && limited != q.shared.end() && q.replicas() > 1) {
        q.lose("PLN041", Mode::kTimeSlicing,
               (*limited)->name + " asks for isolation of memory, and " +
                   (q.pool.wsl ? "turns under WSL have no limits" : "--guard off enforces none"));
        q.win("PLN022", Mode::kExclusive,
              "isolation of memory is asked and nothing enforces it here: a GPU of its own "
              "for each that asks");
        return true;
    }
    return false;
}

}  // namespace

void reject(Plan& plan, std::string rule, Mode mode, std::string subject, std::string reason) {
    const bool known = std::ranges::any_of(plan.rejected, [&](const Rejected& one) {
        return one.rule == rule && one.subject == subject && one.reason == reason;
    });
    if (known) return;
    plan.rejected.push_back(
        {std::move(rule), std::string(to_text(mode)), std::move(subject), std::move(reason)});
}

void classify(Draft& draft) {
    const double gpu_gib = largest_gib(draft.request);
    for (const Workload& w : draft.request.workloads) {
        const std::string cpu = keeps_cpu(w);
        const Alone alone = needs_whole_gpu(w, gpu_gib);
        if (!cpu.empty()) {
            draft.plan.reasons.push_back(
                {"PLN070", cpu + ": no driver, no sharing, no further watts, and the GPU stays "
                                 "free for what needs it"});
        } else if (!alone.rule.empty()) {
            draft.plan.reasons.push_back({alone.rule, alone.reason + ": a GPU of its own"});
        }
        for (unsigned i = 0; i < w.replicas && draft.units.size() < kMostReplicas; ++i) {
            Unit unit;
            unit.workload = &w;
            unit.replica = i;
            unit.exclusive = cpu.empty() && !alone.rule.empty();
            unit.large = unit.exclusive && alone.rule == kLarge;
            unit.mode = cpu.empty() ? Mode::kExclusive : Mode::kCpu;
            draft.units.push_back(unit);
        }
    }
}

void share_large(Draft& draft) {
    for (Unit& unit : draft.units) {
        if (unit.large) unit.exclusive = false;
    }
    std::erase_if(draft.plan.reasons, [](const Reason& one) { return one.rule == kLarge; });
}

Mode choose_mode(Draft& draft, const GpuPool& pool, const std::vector<std::size_t>& shared,
                 Ways ways) {
    Question q{draft.plan, draft.request, pool, {}};
    for (const std::size_t index : shared) {
        const Workload* const w = draft.units[index].workload;
        if (std::ranges::find(q.shared, w) == q.shared.end()) q.shared.push_back(w);
    }
    const bool one_after_other =
        std::ranges::all_of(q.shared, [](const Workload* w) { return w->never_together; });
    if (one_after_other && shared.size() > 1) {
        return q.win("PLN050", Mode::kSerial,
                     "they never work at the same time: one after the other, a queue with one at "
                     "a time for each GPU; the simplest that there is");
    }
    const bool tenants = several_tenants(q.shared);
    if (pool.wsl) {
        q.lose("PLN060", Mode::kMig, "WSL shows one device for all GPUs");
        if (apart_without_mig(q, tenants)) return Mode::kExclusive;
        return q.win("PLN060", Mode::kTimeSlicing,
                     "under WSL the GPUs are one device and only "
                     "turns are possible");
    }
    const bool isolated = tenants || wants_hardware(q.shared);
    if (!ways.mig && !isolated && pool.model->has_mig()) {
        q.lose("PLN017", Mode::kMig,
               "no layout has a slice with the memory and the compute for each of them; nothing "
               "asks for isolation, and another way holds more of them");
    } else if (mig_wins(q, tenants)) {
        return q.win(tenants ? "PLN010" : "PLN013", Mode::kMig,
                     tenants ? "the tenants do not trust each other: only slices of the hardware "
                               "keep them apart"
                             : "a steady mix that fits profiles: the hardware keeps memory, time "
                               "and faults apart");
    }
    if (apart_without_mig(q, tenants)) return Mode::kExclusive;
    const bool mps = mps_wins(q);
    if (mps && !ways.mps) {
        q.lose(
            "PLN044", Mode::kMps,
            "its shares are equal, and one for each with the largest need is more than there is");
    } else if (mps) {
        q.lose("PLN037", Mode::kTimeSlicing,
               "turns without limits: each process waits for all others");
        return q.win("PLN030", Mode::kMps,
                     "many small steady processes of one owner: their kernels run side by side, "
                     "with a memory limit for each");
    }
    if (!draft.request.guard) {
        q.lose("PLN041", Mode::kFraction, "the limits of a share are not enforced (--guard off)");
        return q.win("PLN043", Mode::kTimeSlicing,
                     "one owner and memory that fits: turns, without limits");
    }
    q.lose("PLN042", Mode::kTimeSlicing, "without limits one share can take the memory of all");
    return q.win("PLN040", Mode::kFraction,
                 "one owner, idle much of the time, and the memory fits: turns, with a memory "
                 "limit for each share");
}

}  // namespace aliquot::plan
