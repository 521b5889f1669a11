// SPDX-License-Identifier: Apache-2.0
// Nodes of a cluster: reading them, choosing among them, writing their labels.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/json_value.h"
#include "base/nearest_word.h"
#include "cli/cluster/node_command.h"

namespace aliquot::cli {
namespace {

constexpr const char* kManager = "aliquot";

/// The whole object that the field manager owns from now on.
std::string apply_body(const node::GpuNode& node, const std::set<std::string>& ours,
                       const LabelChange& change) {
    nlohmann::json labels = nlohmann::json::object();
    for (const std::string& key : ours) {
        const auto value = change.set.find(key);
        labels[key] = value != change.set.end() ? value->second : *node.object.label(key);
    }
    return dumped(nlohmann::json{{"apiVersion", "v1"},
                                 {"kind", "Node"},
                                 {"metadata",
                                  {{"name", node.name()},
                                   {"resourceVersion", node.object.resource_version},
                                   {"labels", std::move(labels)}}}});
}

kube_client::Outcome<LabelOutcome> try_change(kube_client::Api& api, const ClusterOptions& words,
                                              const std::string& name, const LabelChange& change) {
    auto object = api.get(kube_client::resources::nodes(), {"", name}, call_of(words));
    if (!object) return std::move(object).failure();
    const auto node = node::read_gpu_node(object->json);
    if (!node) {
        return kube_client::Failure{.reason = kube_client::Reason::kMalformed,
                                    .message = node.error().message};
    }
    LabelOutcome outcome{.resource_version = object->resource_version};
    std::set<std::string> ours;
    for (const std::string& key : node->labels_of(kManager)) {
        if (node->object.label(key)) ours.insert(key);
    }
    for (const auto& [key, value] : change.set) {
        if (node->object.label(key) != value || !ours.contains(key)) outcome.changed = true;
        ours.insert(key);
    }
    for (const std::string& key : change.remove) {
        if (ours.erase(key) > 0) {
            outcome.changed = true;
        } else if (node->object.label(key)) {
            outcome.foreign.push_back(key);
        }
    }
    if (!outcome.changed) return outcome;
    auto written = api.apply(
        kube_client::resources::nodes(), {"", name}, apply_body(*node, ours, change), change.force,
        {.field_manager = kManager, .dry_run = change.dry_run, .call = call_of(words)});
    if (!written) return std::move(written).failure();
    if (!change.dry_run) outcome.resource_version = written->resource_version;
    // A label that somebody else has set to the same value is theirs as well, and stays.
    const auto now = node::read_gpu_node(written->json);
    for (const std::string& key : change.remove) {
        const bool stays = now && now->object.label(key);
        if (stays && std::ranges::find(outcome.foreign, key) == outcome.foreign.end()) {
            outcome.foreign.push_back(key);
        }
    }
    return outcome;
}

std::string why_not_read(const kube_client::Failure& failure) {
    const std::string right = missing_right(failure.message);
    return right.empty() ? failure.message : "a role must allow: " + right;
}

void no_such_node(Context& context, const std::string& name, const ClusterNodes& all) {
    std::vector<std::string_view> known;
    for (const auto& one : all.nodes) known.push_back(one.name());
    const auto near = nearest_word(name, known);
    fail(context, kUsage,
         "there is no node '" + name + "'" +
             (near.empty() ? "; the cluster has " + std::to_string(known.size()) + " nodes"
                           : ", did you mean '" + std::string(near) + "'?"));
}

}  // namespace

std::optional<ClusterNodes> read_nodes(Context& context, kube_client::Api& api,
                                       const ClusterOptions& words, const std::string& selector) {
    auto page =
        api.list(kube_client::resources::nodes(),
                 {.label_selector = selector, .keep_managed_fields = false}, call_of(words));
    if (!page) {
        fail(context, page.failure());
        return std::nullopt;
    }
    ClusterNodes all{.resource_version = page->resource_version};
    for (const kube_client::Object& object : page->items) {
        auto node = node::read_gpu_node(object.json);
        if (node) all.nodes.push_back(*std::move(node));
    }
    std::ranges::sort(all.nodes, {}, [](const node::GpuNode& one) { return one.name(); });
    return all;
}

std::optional<ClusterNodes> choose_nodes(Context& context, kube_client::Api& api,
                                         const ClusterOptions& words, const NodeChoice& choice) {
    const int ways =
        (choice.names.empty() ? 0 : 1) + (choice.selector.empty() ? 0 : 1) + (choice.all ? 1 : 0);
    if (ways != 1) {
        fail(context, kUsage, "which nodes? expected names, or -l SELECTOR, or --all");
        return std::nullopt;
    }
    auto all = read_nodes(context, api, words, choice.selector);
    if (!all) return std::nullopt;
    if (choice.names.empty()) {
        std::erase_if(all->nodes, [](const node::GpuNode& one) { return !one.has_gpus(); });
        if (!all->nodes.empty()) return all;
        fail(context, kUsage,
             choice.all ? "no node has a GPU"
                        : "no node with a GPU has the labels '" + choice.selector + "'");
        return std::nullopt;
    }
    ClusterNodes chosen{.resource_version = all->resource_version};
    for (const std::string& name : choice.names) {
        const auto found = std::ranges::find(all->nodes, name, &node::GpuNode::name);
        if (found == all->nodes.end()) {
            no_such_node(context, name, *all);
            return std::nullopt;
        }
        chosen.nodes.push_back(*found);
    }
    return chosen;
}

Holders read_holders(kube_client::Api& api, const ClusterOptions& words, const std::string& node,
                     std::string& problem) {
    constexpr unsigned kMostPages = 100;
    Holders holders;
    const kube_client::ListOptions options{
        .field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName" +
                          (node.empty() ? "!=" : "=" + node),
        .keep_managed_fields = false};
    std::string token;
    for (unsigned pages = 0; pages < kMostPages; ++pages) {
        const auto page =
            api.list_page(kube_client::resources::pods(), options, token, call_of(words));
        if (!page) {
            problem = why_not_read(page.failure());
            return {};
        }
        for (const kube_client::Object& pod : page->items) {
            auto holder = node::read_holder(pod.json);
            if (holder) holders[holder->node].push_back(*std::move(holder));
        }
        token = page->next;
        if (token.empty()) return holders;
    }
    problem = "there are more than 50,000 pods";
    return {};
}

void read_claims(kube_client::Api& api, const ClusterOptions& words, ClusterNodes& nodes,
                 Holders& holders, std::string& problem) {
    auto devices = node::read_claim_devices(api, call_of(words));
    if (!devices) {
        problem = why_not_read(devices.failure());
        return;
    }
    for (node::GpuNode& one : nodes.nodes) {
        const auto found = devices->find(one.name());
        if (found == devices->end()) continue;
        one.claim_devices = std::move(found->second);
        std::vector<node::Holder> all;
        if (const auto held = holders.find(one.name()); held != holders.end()) all = held->second;
        node::add_claimed(one, all);
        if (!all.empty()) holders[one.name()] = std::move(all);
    }
}

kube_client::Outcome<LabelOutcome> change_labels(kube_client::Api& api, const ClusterOptions& words,
                                                 const std::string& node,
                                                 const LabelChange& change) {
    constexpr unsigned kMostTries = 5;
    for (unsigned tries = 1;; ++tries) {
        auto outcome = try_change(api, words, node, change);
        if (outcome || tries == kMostTries) return outcome;
        // Without causes the node has changed since we read it; with them a label is somebody's.
        const kube_client::Failure& failure = outcome.failure();
        if (!failure.is(kube_client::Reason::kConflict) || !failure.causes.empty()) return outcome;
    }
}

}  // namespace aliquot::cli
