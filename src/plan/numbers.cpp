// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "base/number.h"
#include "base/units.h"
#include "plan/steps.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

using sizing::gib_text;

constexpr double kHoursPerMonth = 730;

/// The price of one GPU for an hour, and where it comes from; 0: not known.
struct Price {
    double usd = 0;
    std::string source;
};

Price price_of(const GpuPool& pool) {
    if (pool.instance != nullptr && pool.instance->gpu_count > 0) {
        return {pool.instance->usd_per_hour / pool.instance->gpu_count,
                "list price of " + std::string(pool.instance->type) + ", " +
                    std::string(pool.instance->region) + ", " +
                    std::string(pool.instance->price_date)};
    }
    return {};
}

void add_prices(Plan& plan, const Request& request) {
    Numbers& numbers = plan.numbers;
    const GpuPool& pool = request.pools.front();
    const Price price = price_of(pool);
    if (price.usd > 0) {
        numbers.usd_per_month_before = price.usd * kHoursPerMonth * numbers.gpus_exclusive;
        numbers.usd_per_month_after =
            price.usd * kHoursPerMonth * (numbers.gpus_used + plan.gpus_missing);
        numbers.price_source = price.source;
    }
    double watts = 0;
    for (const GpuUse& use : plan.gpus) {
        const catalog::GpuModel* const model = catalog::find_gpu_model(use.model);
        if (model != nullptr)
            watts += model->tdp_watts / static_cast<double>(model->gpus_per_board);
    }
    constexpr double kKilo = 1000;
    numbers.kwh_per_month = watts * kHoursPerMonth / kKilo;
    if (price.usd == 0 && request.usd_per_kwh > 0 && !plan.gpus.empty()) {
        const double one =
            numbers.kwh_per_month * request.usd_per_kwh / static_cast<double>(plan.gpus.size());
        numbers.usd_per_month_before = one * numbers.gpus_exclusive;
        numbers.usd_per_month_after = one * numbers.gpus_used;
        numbers.price_source =
            "energy at full power, $" + decimal_text(request.usd_per_kwh) + "/kWh";
    }
}

/// Who runs out of memory when one takes too much.
void add_worst_case(Plan& plan) {
    for (const GpuUse& use : plan.gpus) {
        std::string who;
        for (const std::size_t index : use.shares) {
            const Share& share = plan.shares[index];
            const std::string name = share.workload + (share.replica > 0 || use.shares.size() > 1
                                                           ? "-" + std::to_string(share.replica)
                                                           : "");
            who += (who.empty() ? "" : ", ") + name;
        }
        std::string line("GPU ");
        line.append(std::to_string(use.gpu)).append(": ");
        if (use.mode == Mode::kTimeSlicing) {
            line.append("all of ").append(who).append(": nothing limits any of them");
        } else if (use.mode == Mode::kMps) {
            line.append("only the one above its limit; a fatal fault ends all of ").append(who);
        } else if (use.mode == Mode::kFraction) {
            line.append("only the one above its limit, with the guard; without it all of ");
            line.append(who);
        } else {
            line.append("only the one that takes too much (").append(who).append(")");
        }
        plan.numbers.worst_case.push_back(std::move(line));
    }
}

std::string disruption_of(Mode mode) {
    switch (mode) {
        case Mode::kFraction:
            return "none for running pods: the agent takes the new file while it runs";
        case Mode::kTimeSlicing:
            return "restart of NVIDIA's plugin; none with aliquot-agent";
        case Mode::kMps:
            return "restart of the plugin and the MPS daemon, then of the pods";
        case Mode::kMig:
            return "drain of the node and GPU reset to turn MIG on; a new layout only where the "
                   "slices are free";
        case Mode::kExclusive:
        case Mode::kSerial:
        case Mode::kCpu:
            break;
    }
    return "none";
}

}  // namespace

void add_numbers(Plan& plan, const Request& request) {
    Numbers& numbers = plan.numbers;
    for (const GpuPool& pool : request.pools) numbers.gpus += pool.count;
    numbers.gpus_used = static_cast<unsigned>(plan.gpus.size());
    double needed = 0;
    double has = 0;
    for (const GpuUse& use : plan.gpus) {
        needed += use.needed_mib;
        has += use.memory_mib;
    }
    numbers.packing_percent = has > 0 ? kPercent * needed / has : 0;
    numbers.slack_mib = has - needed;
    if (request.workloads.empty()) {
        for (const GpuUse& use : plan.gpus) numbers.gpus_exclusive += use.replicas;
        double shared = 0;
        for (const GpuUse& use : plan.gpus) shared += use.share_mib * use.replicas;
        numbers.packing_percent = has > 0 ? kPercent * shared / has : 0;
        numbers.slack_mib = has - shared;
    }
    for (const Workload& w : request.workloads) {
        const bool on_cpu = std::ranges::any_of(plan.shares, [&w](const Share& share) {
            return share.workload == w.name && share.mode == Mode::kCpu;
        });
        if (!on_cpu) numbers.gpus_exclusive += w.replicas * w.gpus;
    }
    if (plan.unplaced.empty()) {
        numbers.gpus_saved =
            static_cast<int>(numbers.gpus_exclusive) - static_cast<int>(numbers.gpus_used);
    }
    numbers.disruption = disruption_of(plan.mode);
    add_worst_case(plan);
    add_prices(plan, request);
}

std::string missing_text(unsigned gpus) {
    if (gpus == 0) return "larger or newer GPUs are needed";
    return std::to_string(gpus) + (gpus == 1 ? " more GPU is needed" : " more GPUs are needed");
}

namespace {

bool unequal(const Plan& plan) {
    return std::ranges::any_of(plan.reasons,
                               [](const Reason& one) { return one.rule == "PLN044"; });
}

/// The reason for the technique of the head; of the shared GPUs, if there are any.
const Reason& head_reason(const Plan& plan) {
    const bool alone = plan.mode == Mode::kExclusive || plan.mode == Mode::kSerial;
    constexpr std::array<std::string_view, 8> kShared{"PLN010", "PLN013", "PLN030", "PLN040",
                                                      "PLN043", "PLN044", "PLN050", "PLN060"};
    for (auto one = plan.reasons.rbegin(); !alone && one != plan.reasons.rend(); ++one) {
        if (std::ranges::find(kShared, std::string_view(one->rule)) != kShared.end()) return *one;
    }
    return plan.reasons.back();
}

}  // namespace

std::string recommend(const Plan& plan, const Request& request) {
    std::string gpu;
    constexpr std::size_t kMostNamed = 4;
    std::vector<std::pair<std::string_view, unsigned>> kinds;
    for (const GpuPool& pool : request.pools) {
        const auto known = std::ranges::find(kinds, pool.model->key,
                                             &std::pair<std::string_view, unsigned>::first);
        if (known == kinds.end()) {
            kinds.emplace_back(pool.model->key, pool.count);
        } else {
            known->second += pool.count;
        }
    }
    for (std::size_t i = 0; i < std::min(kMostNamed, kinds.size()); ++i) {
        gpu += (gpu.empty() ? "" : ", ") + std::to_string(kinds[i].second) + " x " +
               std::string(kinds[i].first);
    }
    if (kinds.size() > kMostNamed) gpu += ", ...";
    std::string reason = plan.reasons.empty() ? "" : ": " + head_reason(plan).text;
    const auto refused = std::ranges::find(plan.rejected, "PLN052", &Rejected::rule);
    const bool alone = !plan.reasons.empty() && head_reason(plan).rule == "PLN007";
    if ((plan.shares.empty() || plan.reasons.empty() || alone) && refused != plan.rejected.end())
        reason = ": " + refused->reason;
    const auto shared = std::ranges::find_if(
        plan.gpus, [](const GpuUse& use) { return use.replicas > 1 && use.share_mib > 0; });
    const double most_gib =  // what the driver has may be less than what was sold
        shared == plan.gpus.end() ? plan.per_pod_gib : shared->share_mib / kMibPerGib;
    const std::string each = gib_text(std::min(plan.per_pod_gib, most_gib)) + " each";
    std::string text;
    switch (plan.mode) {
        case Mode::kFraction:
            text = gpu + ": " + std::to_string(plan.replicas) +
                   " shares per GPU with limits (time-slicing), " + each;
            break;
        case Mode::kTimeSlicing:
            text = gpu + ": time-slicing with " + std::to_string(plan.replicas) + " replicas, " +
                   (unequal(plan) ? "each with what it needs" : "about " + each) +
                   " (not enforced)";
            break;
        case Mode::kMps:
            text = gpu + ": MPS with " + std::to_string(plan.replicas) + " replicas, " + each;
            break;
        case Mode::kMig:
            text = gpu + ": MIG, " + std::to_string(plan.shares.size()) + " instances";
            break;
        case Mode::kExclusive:
            text = gpu + ": a whole GPU for each";
            break;
        case Mode::kSerial:
            text = gpu + ": one after the other, a whole GPU at a time";
            break;
        case Mode::kCpu:
            text = plan.unplaced.empty() || !plan.shares.empty() ? "stay on the CPU"
                                                                 : gpu + ": no place";
            break;
    }
    if (!plan.unplaced.empty()) text += "; " + missing_text(plan.gpus_missing);
    return text + (request.workloads.empty() ? "" : reason);
}

void add_confidence(Plan& plan, const Request& request) {
    for (const GpuPool& pool : request.pools) {
        plan.confidence.push_back(
            {"memory of " + std::string(pool.model->key) + " (" +
                 gib_text(request.workloads.empty() ? pool.model->memory_gib
                                                    : memory_mib(pool) / kMibPerGib) +
                 ")",
             Certainty::kDeclared,
             pool.unlisted != nullptr ? "as told" : "table of GPU models; a driver knows better"});
    }
    for (const Workload& w : request.workloads) {
        if (w.memory_gib > 0) {
            plan.confidence.push_back({"memory of " + w.name + " (" + gib_text(w.memory_gib) + ")",
                                       w.memory_certainty, w.memory_reason});
        } else {
            plan.confidence.push_back({"memory of " + w.name, Certainty::kGuessed,
                                       "not told: 2.5 GiB assumed where it is shared"});
        }
        plan.confidence.push_back(
            {"duty of " + w.name + " (" + decimal_text(w.duty_percent.value_or(0)) + " %)",
             w.duty_certainty,
             w.duty_certainty == Certainty::kGuessed ? "usual for " + std::string(to_text(w.kind))
                                                     : "from the file"});
    }
    if (plan.numbers.usd_per_month_after) {
        plan.confidence.push_back({"price", Certainty::kDeclared, plan.numbers.price_source});
    }
}

}  // namespace aliquot::plan
