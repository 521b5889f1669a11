// SPDX-License-Identifier: Apache-2.0
#include "scheduling/neighbours.h"

#include <algorithm>

#include "scheduling/bookings.h"

namespace aliquot::scheduling {
namespace {

constexpr char kHostLabel[] = "kubernetes.io/hostname";
constexpr int kAvoid = 100;  // an untolerated PreferNoSchedule, as the highest weight

const std::string* value_of(const k8s::Labels& labels, const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
}

bool any_collide(const std::vector<k8s::HostPort>& a, const std::vector<k8s::HostPort>& b) {
    return std::ranges::any_of(a, [&](const k8s::HostPort& one) {
        return std::ranges::any_of(b, [&](const auto& other) { return k8s::collide(one, other); });
    });
}

/// The first that has not gone; nullptr: none.
const GpuPod* who_stays(const std::vector<const GpuPod*>& pods, const Neighbours::Gone& gone) {
    const auto found =
        std::ranges::find_if(pods, [&](const auto* one) { return !gone.contains(one); });
    return found == pods.end() ? nullptr : *found;
}

bool prefers_others(const GpuPod& pod, const k8s::Taint& taint) {
    return !taint.keeps_away() && !k8s::tolerates(pod.tolerations, taint);
}

}  // namespace

/// Another pod, where it is or may come to be.
struct Neighbours::Other {
    const GpuPod& pod;
    std::vector<std::pair<std::string, const k8s::Labels*>> nodes;  // name and labels
    bool is_planned = false;
};

bool Neighbours::matter(const GpuPod& pod, const Bookings& bookings) {
    if (!pod.affinity.empty() || bookings.has_pods_apart()) return true;
    return std::ranges::any_of(bookings.nodes(), [&](const auto& node) {
        return std::ranges::any_of(node.second.taints, [&](const k8s::Taint& taint) {
            return prefers_others(pod, taint);
        });
    });
}

Neighbours::Neighbours(const GpuPod& pod, const Bookings& bookings)
    : pod_(pod), bookings_(bookings) {
    for (const k8s::PodTerm& term : pod.affinity.with)
        wanted_.push_back(
            {.key = term.topology_key,
             .pods = {},
             .is_such_pod = term.selects(pod.name_space, pod.name_space, pod.labels)});
    for (const k8s::SpreadConstraint& one : pod.affinity.spread)
        spread_.push_back({.key = one.topology_key,
                           .max_skew = one.max_skew,
                           .is_required = one.is_required,
                           .pods = {}});
    bookings.visit([&](const GpuPod& one, const std::vector<Target>& targets) {
        if (one.uid == pod.uid) return;
        Other other{.pod = one, .nodes = {}, .is_planned = one.node.empty()};
        for (const Target& target : targets) {
            const k8s::Labels* const labels = bookings.labels_of(target.node);
            if (labels != nullptr) other.nodes.emplace_back(target.node, labels);
        }
        look_at(other);
    });
    add_least();
}

void Neighbours::look_at(const Other& other) {
    look_at_terms(other);
    count(other);
    if (!any_collide(pod_.affinity.ports, other.pod.affinity.ports)) return;
    for (const auto& [node, labels] : other.nodes) {
        if (other.is_planned)
            ++may_conflict_[{kHostLabel, node}];
        else
            ports_[node].push_back(&other.pod);
    }
}

void Neighbours::look_at_terms(const Other& other) {
    const std::string& own = pod_.name_space;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        if (!pod_.affinity.with[i].selects(own, other.pod.name_space, other.pod.labels)) continue;
        for (const auto& [node, labels] : other.nodes) {
            const std::string* const value = value_of(*labels, wanted_[i].key);
            if (value != nullptr) wanted_[i].pods[*value].push_back(&other.pod);
        }
    }
    const auto keep_apart = [&](const k8s::PodTerm& term) {
        for (const auto& [node, labels] : other.nodes) {
            const std::string* const value = value_of(*labels, term.topology_key);
            if (value == nullptr) continue;
            if (other.is_planned)
                ++may_conflict_[{term.topology_key, *value}];
            else
                forbidden_[term.topology_key][*value].push_back(&other.pod);
        }
    };
    for (const k8s::PodTerm& term : pod_.affinity.without) {
        if (term.selects(own, other.pod.name_space, other.pod.labels)) keep_apart(term);
    }
    for (const k8s::PodTerm& term : other.pod.affinity.without) {
        if (term.selects(other.pod.name_space, own, pod_.labels)) keep_apart(term);
    }
}

void Neighbours::count(const Other& other) {
    if (other.nodes.empty() || other.pod.name_space != pod_.name_space || other.pod.is_leaving)
        return;
    for (std::size_t i = 0; i < spread_.size(); ++i) {
        const auto& selector = pod_.affinity.spread[i].selector;
        if (!selector || !k8s::matches(*selector, other.pod.labels)) continue;
        const std::string* const value = value_of(*other.nodes.front().second, spread_[i].key);
        if (value != nullptr) ++spread_[i].pods[*value];
    }
}

void Neighbours::add_least() {
    for (Spread& one : spread_) {
        bool any = false;
        for (const auto& [name, node] : bookings_.nodes()) {
            const std::string* const value = value_of(node.labels, one.key);
            if (value == nullptr || !pod_.where.matches(name, node.labels)) continue;
            const auto found = one.pods.find(*value);
            const unsigned pods = found == one.pods.end() ? 0 : found->second;
            one.least = any ? std::min(one.least, pods) : pods;
            any = true;
        }
    }
}

std::string Neighbours::keeps_off(const ServedNode& node, const Gone& gone) const {
    for (const Wanted& one : wanted_) {
        const std::string* const value = value_of(node.labels, one.key);
        const auto here = value == nullptr ? one.pods.end() : one.pods.find(*value);
        if (here != one.pods.end() && who_stays(here->second, gone) != nullptr) continue;
        const bool is_first =
            one.is_such_pod && std::ranges::none_of(one.pods, [&](const auto& place) {
                return who_stays(place.second, gone) != nullptr;
            });
        if (value == nullptr || !is_first)
            return "has no pod beside it that the pod's affinity asks for";
    }
    for (const auto& [key, places] : forbidden_) {
        const std::string* const value = value_of(node.labels, key);
        const auto here = value == nullptr ? places.end() : places.find(*value);
        const GpuPod* const by = here == places.end() ? nullptr : who_stays(here->second, gone);
        if (by != nullptr) return "is kept from the pod by anti-affinity with " + by->full_name();
    }
    const auto port = ports_.find(node.name);
    const GpuPod* const by = port == ports_.end() ? nullptr : who_stays(port->second, gone);
    return by == nullptr ? "" : "has a port in use that the pod asks for, by " + by->full_name();
}

bool Neighbours::breaks_spread(const ServedNode& node, std::size_t index, const Gone& gone) const {
    const Spread& spread = spread_[index];
    const auto& selector = pod_.affinity.spread[index].selector;
    const std::string* const value = value_of(node.labels, spread.key);
    if (value == nullptr) return true;
    std::map<std::string, unsigned> fewer;  // by value: those of the pods counted that have gone
    for (const GpuPod* const one : gone) {
        const k8s::Labels* const labels = bookings_.labels_of(one->node);
        if (labels == nullptr || one->is_leaving || one->name_space != pod_.name_space) continue;
        if (!selector || !k8s::matches(*selector, one->labels)) continue;
        const std::string* const where = value_of(*labels, spread.key);
        if (where != nullptr) ++fewer[*where];
    }
    const auto pods_at = [&](const std::string& place) {
        const auto found = spread.pods.find(place);
        const auto less = fewer.find(place);
        const unsigned pods = found == spread.pods.end() ? 0 : found->second;
        return pods - std::min(pods, less == fewer.end() ? 0 : less->second);
    };
    unsigned least = spread.least;
    for (const auto& [place, count] : fewer) least = std::min(least, pods_at(place));
    return pods_at(*value) + 1 > least + spread.max_skew;
}

bool Neighbours::lets_in(const ServedNode& node, const Gone& gone) const {
    if (!keeps_off(node, gone).empty()) return false;
    for (std::size_t i = 0; i < spread_.size(); ++i) {
        if (spread_[i].is_required && breaks_spread(node, i, gone)) return false;
    }
    return true;
}

NodeRank Neighbours::rank(const ServedNode& node) const {
    NodeRank rank;
    for (const auto& [place, times] : may_conflict_) {
        const std::string* const value = value_of(node.labels, place.first);
        const bool is_here = value != nullptr
                                 ? *value == place.second
                                 : place.first == kHostLabel && node.name == place.second;
        if (is_here) rank.conflicts += times;
    }
    for (std::size_t i = 0; i < spread_.size(); ++i) {
        const Spread& one = spread_[i];
        const std::string* const value = value_of(node.labels, one.key);
        const auto found = value == nullptr ? one.pods.end() : one.pods.find(*value);
        const unsigned pods = found == one.pods.end() ? 0 : found->second;
        if (one.is_required)
            rank.conflicts += breaks_spread(node, i, {}) ? 1 : 0;
        else
            rank.dislike += static_cast<int>(std::min(pods, 1000U));
    }
    for (const k8s::NodePreference& one : pod_.affinity.preferred) {
        if (!one.term.matches(node.name, node.labels)) rank.dislike += one.weight;
    }
    for (const k8s::Taint& taint : node.taints) {
        if (prefers_others(pod_, taint)) rank.dislike += kAvoid;
    }
    return rank;
}

}  // namespace aliquot::scheduling
