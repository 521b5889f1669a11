// SPDX-License-Identifier: Apache-2.0
#include "sizing/instance.h"

#include <algorithm>
#include <tuple>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/units.h"

namespace aliquot::sizing {
namespace {

constexpr double kMilli = 1000;

/// What kubelet keeps back of `vcpu` cores: 6 % of the first, 1 % of the second, half a percent
/// of the next two, a quarter of the rest.
double reserved_cpu(unsigned vcpu) {
    const double cores = vcpu;
    double reserved = 0.06 * std::min(cores, 1.0);
    if (cores > 1) reserved += 0.01;
    if (cores > 2) reserved += 0.005 * std::min(cores - 2, 2.0);
    if (cores > 4) reserved += 0.0025 * (cores - 4);
    return reserved;
}

std::string mib_text(double mib) {
    return mib >= 10 * kMibPerGib ? decimal_text(mib / kMibPerGib) + " GiB"
                                  : decimal_text(mib, 0) + " MiB";
}

std::string with_daemons(const std::string& sum, const std::string& pod, const std::string& rest) {
    return sum + " (" + pod + " and " + rest + " for daemon sets)";
}

double price_order(const catalog::GpuInstance& one) { return one.usd_per_hour; }

/// The nearest miss: what the machine with the most of each resource still lacks.
std::vector<Shortfall> what_none_has(const std::vector<RefusedInstance>& refused) {
    const RefusedInstance* best = nullptr;
    for (const RefusedInstance& one : refused) {
        const bool other_model = std::ranges::any_of(
            one.reasons, [](const Shortfall& reason) { return reason.resource == "gpu model"; });
        if (other_model) continue;
        const auto rank = [](const RefusedInstance& r) {
            return std::tuple(r.reasons.size(), -r.instance->usd_per_hour);
        };
        if (best == nullptr || rank(one) < rank(*best)) best = &one;
    }
    if (best == nullptr) return {};
    std::vector<Shortfall> reasons = best->reasons;
    for (Shortfall& reason : reasons) {
        reason.available += " on " + std::string(best->instance->type);
    }
    return reasons;
}

}  // namespace

bool has_gpu(const catalog::GpuInstance& instance, std::string_view gpu) {
    const catalog::GpuModel* const wanted = catalog::find_gpu_model(gpu);
    if (wanted == nullptr) return false;
    if (instance.model == wanted) return true;
    // "a100" names the family: both sizes will do.
    return catalog::plain_gpu_name(gpu) == catalog::plain_gpu_name(instance.gpu);
}

Allocatable allocatable_of(const catalog::GpuInstance& instance) {
    if (instance.allocatable_cpu_milli > 0) {
        return {instance.allocatable_cpu_milli / kMilli,
                static_cast<double>(instance.allocatable_memory_mib), false};
    }
    // 7.5 % for the machine, kubelet's share for 110 pods, and the eviction threshold.
    constexpr double kOfMachine = 0.925;
    constexpr double kKubelet = 255 + 11 * 110;
    constexpr double kEviction = 100;
    return {instance.vcpu - reserved_cpu(instance.vcpu),
            instance.memory_gib * kMibPerGib * kOfMachine - kKubelet - kEviction, true};
}

std::vector<Shortfall> shortfalls(const catalog::GpuInstance& instance, const PodNeed& need,
                                  const DaemonSets& daemon_sets) {
    std::vector<Shortfall> reasons;
    const Allocatable has = allocatable_of(instance);
    if (!need.gpu.empty() && !has_gpu(instance, need.gpu)) {
        reasons.push_back({"gpu model", need.gpu, std::string(instance.model->key)});
    }
    if (instance.gpu_count < need.gpus) {
        reasons.push_back({"gpu", std::to_string(need.gpus),
                           instance.gpu_count == 0 ? "a fraction of one, which Kubernetes does not "
                                                     "count"
                                                   : std::to_string(instance.gpu_count)});
    }
    if (need.gpu_memory_mib > instance.gpu_memory_mib) {
        reasons.push_back(
            {"gpu memory", mib_text(need.gpu_memory_mib), mib_text(instance.gpu_memory_mib)});
    }
    constexpr double kRounding = 1e-9;
    if (need.cpu > 0 && need.cpu + daemon_sets.cpu > has.cpu + kRounding) {
        reasons.push_back(
            {"cpu",
             with_daemons(decimal_text(need.cpu + daemon_sets.cpu, 3), decimal_text(need.cpu, 3),
                          decimal_text(daemon_sets.cpu, 3)),
             decimal_text(has.cpu, 3) + " allocatable" + (has.estimated ? " (estimated)" : "")});
    }
    if (need.memory_mib > 0 && need.memory_mib + daemon_sets.memory_mib > has.memory_mib) {
        reasons.push_back(
            {"memory",
             with_daemons(mib_text(need.memory_mib + daemon_sets.memory_mib),
                          mib_text(need.memory_mib), mib_text(daemon_sets.memory_mib)),
             mib_text(has.memory_mib) + " allocatable" + (has.estimated ? " (estimated)" : "")});
    }
    return reasons;
}

Result<InstanceChoice> choose_instance(const PodNeed& need, const DaemonSets& daemon_sets,
                                       std::string_view cloud, std::string_view type) {
    if (!need.gpu.empty() && catalog::find_gpu_model(need.gpu) == nullptr) {
        const auto near = catalog::nearest_gpu_model(need.gpu);
        return Error{ErrorCode::kNotFound,
                     "GPU '" + need.gpu + "' is not known" + did_you_mean(near)};
    }
    if (!type.empty() && catalog::find_gpu_instance(type) == nullptr) {
        const auto near = catalog::nearest_gpu_instance(type);
        return Error{ErrorCode::kNotFound, "machine type '" + std::string(type) +
                                               "' is not in the table" + did_you_mean(near)};
    }
    InstanceChoice choice;
    std::vector<RefusedInstance> refused;
    for (const catalog::GpuInstance& instance : catalog::gpu_instances()) {
        if (!cloud.empty() && !same_letters(instance.cloud, cloud)) continue;
        if (!type.empty() && !same_letters(instance.type, type)) continue;
        auto reasons = shortfalls(instance, need, daemon_sets);
        if (reasons.empty()) {
            choice.fitting.push_back({&instance, allocatable_of(instance)});
        } else {
            refused.push_back({&instance, std::move(reasons)});
        }
    }
    std::ranges::stable_sort(choice.fitting, {}, [](const FittingInstance& one) {
        return std::tuple(price_order(*one.instance), one.allocatable.estimated);
    });
    if (choice.fitting.empty()) choice.never = what_none_has(refused);
    const double least = choice.fitting.empty() ? 0 : choice.fitting.front().instance->usd_per_hour;
    for (RefusedInstance& one : refused) {
        const bool other_model = std::ranges::any_of(
            one.reasons, [](const Shortfall& reason) { return reason.resource == "gpu model"; });
        if (other_model || (least > 0 && one.instance->usd_per_hour >= least)) continue;
        choice.cheaper.push_back(std::move(one));
    }
    std::ranges::stable_sort(choice.cheaper, {},
                             [](const RefusedInstance& one) { return price_order(*one.instance); });
    return choice;
}

}  // namespace aliquot::sizing
