// SPDX-License-Identifier: Apache-2.0
#include "k8s/pod_affinity.h"

#include <algorithm>

#include "base/number.h"
#include "document/path.h"

namespace aliquot::k8s {
namespace {

using document::Value;

constexpr std::size_t kMostTerms = 64;
constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";

std::optional<LabelSelector> selector_of(const Value& holder) {
    const Value* const selector = holder.find("labelSelector");
    if (selector == nullptr || !selector->is_mapping()) return std::nullopt;
    return read_label_selector(selector);
}

std::vector<PodTerm> read_terms(const Value& spec, std::string_view kind) {
    std::vector<PodTerm> terms;
    for (const Value& one : document::items_at(spec, {"affinity", kind, kRequired})) {
        if (terms.size() == kMostTerms) break;
        PodTerm term{.selector = selector_of(one),
                     .topology_key = document::text_at(one, {"topologyKey"})};
        for (const Value& name : document::items_at(one, {"namespaces"}))
            term.namespaces.insert(document::text_of(&name));
        const Value* const by_label = one.find("namespaceSelector");
        term.any_namespace = by_label != nullptr && by_label->is_mapping();
        terms.push_back(std::move(term));
    }
    return terms;
}

bool is_every_address(const std::string& address) {
    return address.empty() || address == "0.0.0.0" || address == "::";
}

void read_ports(const Value& container, std::vector<HostPort>& ports) {
    for (const Value& one : document::items_at(container, {"ports"})) {
        const auto port = parse_number<std::uint16_t>(document::text_at(one, {"hostPort"}));
        if (!port || *port == 0 || ports.size() == kMostTerms) continue;
        const std::string protocol = document::text_at(one, {"protocol"});
        ports.push_back({.address = document::text_at(one, {"hostIP"}),
                         .protocol = protocol.empty() ? "TCP" : protocol,
                         .port = *port});
    }
}

}  // namespace

bool PodTerm::selects(const std::string& own, const std::string& name_space,
                      const Labels& labels) const {
    if (!selector) return false;
    const bool named = namespaces.empty() ? name_space == own : namespaces.contains(name_space);
    return (any_namespace || named) && matches(*selector, labels);
}

bool collide(const HostPort& a, const HostPort& b) {
    return a.port == b.port && a.protocol == b.protocol &&
           (a.address == b.address || is_every_address(a.address) || is_every_address(b.address));
}

PodAffinity read_pod_affinity(const Value& spec) {
    PodAffinity made{.with = read_terms(spec, "podAffinity"),
                     .without = read_terms(spec, "podAntiAffinity")};
    for (const Value& one : document::items_at(spec, {"topologySpreadConstraints"})) {
        if (made.spread.size() == kMostTerms) break;
        made.spread.push_back(
            {.selector = selector_of(one),
             .topology_key = document::text_at(one, {"topologyKey"}),
             .max_skew = std::max(
                 1U, parse_number<unsigned>(document::text_at(one, {"maxSkew"})).value_or(1)),
             .is_required = document::text_at(one, {"whenUnsatisfiable"}) != "ScheduleAnyway"});
    }
    for (const Value& one : document::items_at(spec, {"containers"})) read_ports(one, made.ports);
    for (const Value& one : document::items_at(spec, {"initContainers"})) {
        if (document::text_at(one, {"restartPolicy"}) == "Always") read_ports(one, made.ports);
    }
    for (const Value& one : document::items_at(
             spec,
             {"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"})) {
        const Value* const term = one.find("preference");
        if (term == nullptr || made.preferred.size() == kMostTerms) continue;
        made.preferred.push_back(
            {.weight = parse_number<int>(document::text_at(one, {"weight"})).value_or(0),
             .term = {.labels = read_requirements(term->find("matchExpressions")),
                      .fields = read_requirements(term->find("matchFields"))}});
    }
    return made;
}

}  // namespace aliquot::k8s
