// SPDX-License-Identifier: Apache-2.0
#include "admission/choice.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_set>

#include "admission/miss.h"
#include "admission/separation.h"
#include "k8s/memory_amount.h"

namespace aliquot::admission {
namespace {

constexpr unsigned kMibShift = 20;

/// Smaller is better.
using Rank = std::tuple<std::int64_t, std::int64_t, bool, std::string>;

Rank rank_of(const Demand& demand, const Share& share) {
    const std::int64_t memory = share.memory_mib;
    const std::int64_t compute = share.compute_percent;
    const bool loose = !share.is_limited;
    if (!demand.request->has_size()) return {-memory, -compute, loose, share.resource};
    if (!demand.request->memory_mib) return {compute, memory, loose, share.resource};
    return {memory, compute, loose, share.resource};
}

class Chooser {
public:
    Chooser(const PodFacts& pod, const std::vector<GpuRequest>& requests, const Cluster& cluster)
        : pod_(pod), cluster_(cluster) {
        const bool anywhere = pod.where.is_anywhere();
        std::unordered_set<std::uint64_t> kinds;
        for (const auto& node : cluster) {
            if (!anywhere && !pod.where.matches(node->name, node->labels)) continue;
            allowed_.push_back(node.get());
            if (kinds.insert(node->kind).second) candidates_.push_back(node.get());
        }
        for (const GpuRequest& request : requests) add_demand(request);
    }

    Choice choose() {
        if (demands_.empty()) return std::move(choice_);
        Nodes fitting = feasible();
        if (fitting.empty() && relax()) fitting = feasible();
        if (fitting.empty()) {
            choice_.miss = describe_miss(pod_, demands_, candidates_, cluster_);
            require_without_fit();
            return std::move(choice_);
        }
        for (Demand& demand : demands_) {
            demand.resource = best_resource(demand, fitting);
            std::erase_if(fitting, [&](const GpuNode* node) { return !fits_all(*node); });
            choice_.assignments.push_back({.container = demand.request->container,
                                           .resource = demand.resource,
                                           .count = demand.count});
        }
        require(fitting);
        prefer(fitting);
        warn_of_loose(fitting);
        return std::move(choice_);
    }

private:
    /// A container that names GPU resources itself keeps them.
    void add_demand(const GpuRequest& request) {
        const ContainerFacts& container = pod_.containers[request.container];
        Demand demand{.request = &request, .count = request.devices()};
        if (container.gpu_resources.size() > 1) {
            choice_.warnings.push_back("container '" + container.name +
                                       "' asks for several GPU resources itself; what is written "
                                       "for it is not looked at");
            return;
        }
        if (!container.gpu_resources.empty()) {
            const auto& [resource, amount] = *container.gpu_resources.begin();
            demand.resource = resource;
            demand.is_named = true;
            if (request.count && amount != *request.count) {
                choice_.warnings.push_back("container '" + container.name + "' asks for " +
                                           std::to_string(amount) + " " + resource +
                                           " itself; gpu-count " + std::to_string(*request.count) +
                                           " is not applied");
            }
            constexpr std::uint64_t kMost = 1'000'000;
            demand.count = static_cast<unsigned>(std::min(amount, kMost));
        }
        demand.only_whole = !demand.is_named && (demand.count > 1 || !request.has_size());
        demands_.push_back(demand);
    }

    /// Shares will do where there is no whole GPU. False: nobody can do with less.
    bool relax() {
        bool changed = false;
        for (Demand& demand : demands_) {
            if (!demand.only_whole || demand.count > 1) continue;
            demand.only_whole = false;
            changed = true;
        }
        return changed;
    }

    [[nodiscard]] bool fits_all(const GpuNode& node) const {
        return std::ranges::all_of(demands_, [&](const Demand& demand) {
            return demand.allows(node) && std::ranges::any_of(node.shares, [&](const Share& share) {
                       return demand.fits(share);
                   });
        });
    }

    [[nodiscard]] Nodes feasible() const {
        Nodes nodes;
        std::ranges::copy_if(candidates_, std::back_inserter(nodes),
                             [&](const GpuNode* node) { return fits_all(*node); });
        return nodes;
    }

    static std::string best_resource(const Demand& demand, const Nodes& nodes) {
        const Share* best = nullptr;
        for (const GpuNode* const node : nodes) {
            for (const Share& share : node->shares) {
                if (!demand.fits(share)) continue;
                if (best == nullptr || rank_of(demand, share) < rank_of(demand, *best)) {
                    best = &share;
                }
            }
        }
        return best->resource;
    }

    [[nodiscard]] bool is_typed() const {
        return std::ranges::any_of(demands_,
                                   [](const Demand& one) { return !one.request->types.empty(); });
    }
    [[nodiscard]] std::uint64_t memory_mib() const {
        std::uint64_t most = 0;
        for (const Demand& one : demands_)
            most = std::max(most, one.request->memory_mib.value_or(0));
        return most;
    }

    static const Share* share_of(const GpuNode& node, const std::string& resource) {
        const auto found = std::ranges::find(node.shares, resource, &Share::resource);
        return found == node.shares.end() ? nullptr : &*found;
    }

    /// Keeps the pod away from nodes that have the resource in another size.
    void require(const Nodes& fitting) {
        Nodes others;
        std::size_t next = 0;  // of `fitting`, which is in the order of the candidates
        for (const GpuNode* const node : candidates_) {
            if (next < fitting.size() && fitting[next] == node) {
                ++next;
                continue;
            }
            const bool has = std::ranges::all_of(demands_, [&](const Demand& demand) {
                return share_of(*node, demand.resource) != nullptr;
            });
            if (has) others.push_back(node);
        }
        auto separation = separate(fitting, std::move(others),
                                   {.always_by_product = is_typed(), .memory_mib = memory_mib()});
        choice_.required = std::move(separation.requirements);
        if (!separation.left.empty()) keep_away(separation.left);
    }

    /// From nodes of kinds that labels do not tell apart.
    void keep_away(const Nodes& kinds) {
        Nodes nodes;
        for (const GpuNode* const node : allowed_) {
            if (std::ranges::find(kinds, node->kind, &GpuNode::kind) != kinds.end()) {
                nodes.push_back(node);
            }
        }
        Requirement names = away_from(nodes);
        if (!names.values.empty()) {
            choice_.required.push_back(std::move(names));
            return;
        }
        choice_.warnings.push_back(
            "node labels do not tell apart " + std::to_string(nodes.size()) + " nodes that offer " +
            choice_.assignments[0].resource +
            " in another size: the pod may be put there; give each size a name of its own "
            "(rename in the sharing configuration)");
    }

    [[nodiscard]] std::uint64_t memory_taken(const GpuNode& node) const {
        std::uint64_t sum = 0;
        for (const Demand& demand : demands_) {
            const Share* const share = share_of(node, demand.resource);
            if (share != nullptr) sum += std::uint64_t{share->memory_mib} * demand.count;
        }
        return sum;
    }

    /// Where the smallest share is given away.
    void prefer(const Nodes& fitting) {
        const bool sized = std::ranges::any_of(
            demands_, [](const Demand& one) { return one.request->has_size(); });
        if (!sized) return;
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (const GpuNode* const node : fitting) least = std::min(least, memory_taken(*node));
        Nodes best;
        Nodes others;
        for (const GpuNode* const node : fitting) {
            constexpr std::uint64_t kAlike = 20;  // within 5 %
            const bool is_best = memory_taken(*node) <= least + least / kAlike;
            (is_best ? best : others).push_back(node);
        }
        if (others.empty()) return;
        choice_.preferred = separate(best, std::move(others), {}).requirements;
    }

    /// Shares that nobody keeps to their size.
    void warn_of_loose(const Nodes& fitting) {
        std::set<std::string> told;
        for (const Demand& demand : demands_) {
            if (!demand.request->has_size()) {
                warn_of_share(demand, fitting);
                continue;
            }
            for (const GpuNode* const node : fitting) {
                const Share* const share = share_of(*node, demand.resource);
                if (share == nullptr || share->is_limited || share->per_gpu <= 1) continue;
                if (!told.insert(demand.resource).second) break;
                choice_.warnings.push_back(
                    demand.resource + " of node " + node->name + " is a GPU that " +
                    std::to_string(share->per_gpu) +
                    " share without limits: nothing keeps a pod to its part");
                break;
            }
        }
    }

    void warn_of_share(const Demand& demand, const Nodes& fitting) {
        if (demand.is_named || demand.only_whole || fitting.empty()) return;
        const Share* const share = share_of(*fitting[0], demand.resource);
        choice_.warnings.push_back("container '" + pod_.containers[demand.request->container].name +
                                   "' gets a share of a GPU (" + demand.resource + ", " +
                                   k8s::bytes_text(std::uint64_t{share->memory_mib} << kMibShift) +
                                   "): no node offers a whole one");
    }

    /// So that the pod at least lands where its GPU would be, when there is one some day.
    void require_without_fit() {
        if (is_typed()) {
            std::set<std::string> products;
            for (const Demand& demand : demands_) add_products(demand, products);
            if (!products.empty()) {
                choice_.required.push_back({.key = kProductLabel,
                                            .operation = Requirement::Operator::kIn,
                                            .values = {products.begin(), products.end()}});
            }
        }
        const bool keeps_its_own =
            std::ranges::any_of(demands_, [](const Demand& one) { return one.is_named; });
        if (memory_mib() > 0 && !keeps_its_own) {
            choice_.required.push_back({.key = kMemoryLabel,
                                        .operation = Requirement::Operator::kGt,
                                        .values = {std::to_string(memory_mib() - 1)}});
        }
    }

    void add_products(const Demand& demand, std::set<std::string>& products) const {
        bool seen = false;
        for (const auto& node : cluster_) {
            if (demand.request->types.empty() || !demand.allows(*node)) continue;
            products.insert(node->labels.find(kProductLabel)->second);
            seen = true;
        }
        if (seen) return;
        for (const GpuType& type : demand.request->types) {
            const auto usual = usual_products(type);
            products.insert(usual.begin(), usual.end());
        }
    }

    const PodFacts& pod_;
    const Cluster& cluster_;
    Nodes allowed_;     // where the pod may run
    Nodes candidates_;  // of these, one of each kind
    std::vector<Demand> demands_;
    Choice choice_;
};

}  // namespace

Choice choose(const PodFacts& pod, const std::vector<GpuRequest>& requests,
              const Cluster& cluster) {
    return Chooser(pod, requests, cluster).choose();
}

}  // namespace aliquot::admission
