// SPDX-License-Identifier: Apache-2.0
#include "scaling/answer.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "document/json.h"
#include "document/write.h"
#include "scaling/discovery.h"
#include "scaling/value_list.h"

namespace aliquot::scaling {
namespace {

using Operator = k8s::Requirement::Operator;

using document::make_mapping;

ApiAnswer not_found(const std::string& message) { return failure(404, "NotFound", message); }

ApiAnswer from_error(const Error& error) {
    if (error.code == ErrorCode::kInvalidInput) return failure(400, "BadRequest", error.message);
    return failure(503, "ServiceUnavailable", error.message);
}

/// Several values as one; empty: there is none.
std::optional<Value> folded(Fold fold, const std::vector<Value>& values) {
    if (values.empty()) return std::nullopt;
    Value made = values.front();
    std::int64_t sum = 0;
    for (const Value& value : values) {
        sum += value.thousandths;
        made.thousandths = std::min(made.thousandths, value.thousandths);
        made.at = std::min(made.at, value.at);
        made.window = std::max(made.window, value.window);
    }
    if (fold == Fold::kSum) made.thousandths = sum;
    if (fold == Fold::kMean) made.thousandths = sum / static_cast<std::int64_t>(values.size());
    return made;
}

bool belongs_to(const PodRecord& pod, const WorkloadKind& kind, const std::string& name) {
    if (kind.kind != "Deployment") {
        return pod.controller_kind == kind.kind && pod.controller_name == name;
    }
    // A deployment's pods are its ReplicaSets', which are named by the hash of their template.
    const auto hash = pod.labels.find("pod-template-hash");
    return pod.controller_kind == "ReplicaSet" && hash != pod.labels.end() &&
           pod.controller_name == name + "-" + hash->second;
}

/// One question to one version of one group.
class Asked {
public:
    Asked(const Question& question, const RecentMetrics& recent, const PodDirectory& directory)
        : question_(question), recent_(recent), directory_(directory) {}

    ApiAnswer custom(const std::vector<std::string>& path, bool v1beta2);
    ApiAnswer external(const std::vector<std::string>& path);

private:
    struct Pods {
        std::vector<Value> values;  // with names; one for each pod
        std::map<std::string, Labels> labels;
    };
    using Accepts = std::function<bool(const PodRecord&)>;

    [[nodiscard]] Result<Done> read_selectors();
    /// accepts   empty: any pod of the namespace
    [[nodiscard]] Result<Pods> pods_of(const std::string& namespace_name, const Accepts& accepts,
                                       bool needs_directory) const;
    ApiAnswer pods(const std::string& namespace_name, const std::string& name);
    ApiAnswer together(const Described& described, const Accepts& accepts, bool needs_directory);
    ApiAnswer node(const std::string& name);
    [[nodiscard]] bool fits_metric_selector(const Value& value) const;
    [[nodiscard]] ApiAnswer list(const std::vector<Item>& items) const {
        return custom_list({*metric_, metric_selector_, v1beta2_}, items);
    }

    const Question& question_;
    const RecentMetrics& recent_;
    const PodDirectory& directory_;
    const MetricInfo* metric_ = nullptr;
    k8s::LabelSelector pod_selector_;
    k8s::LabelSelector metric_selector_;
    bool v1beta2_ = false;
};

Result<Done> Asked::read_selectors() {
    auto pods = k8s::parse_label_selector(question_.label_selector);
    if (!pods) return std::move(pods).error();
    auto metric = k8s::parse_label_selector(question_.metric_label_selector);
    if (!metric) return std::move(metric).error();
    // The answer writes it as an object, which knows no > and <.
    const auto compared = std::ranges::find_if(*metric, [](const k8s::Requirement& one) {
        return one.operation == Operator::kGt || one.operation == Operator::kLt;
    });
    if (compared != metric->end()) {
        return Error{ErrorCode::kInvalidInput, "\"" +
                                                   std::string(k8s::to_text(compared->operation)) +
                                                   "\" is not a valid label selector operator"};
    }
    pod_selector_ = *std::move(pods);
    metric_selector_ = *std::move(metric);
    return Done{};
}

Result<Asked::Pods> Asked::pods_of(const std::string& namespace_name, const Accepts& accepts,
                                   bool needs_directory) const {
    std::map<std::string, PodRecord> by_name;
    std::map<std::string, std::string> name_by_uid;
    const auto visited = directory_.pods(namespace_name, [&](const PodRecord& pod) {
        if (accepts && !accepts(pod)) return;
        name_by_uid.emplace(pod.uid, pod.name);
        by_name.emplace(pod.name, pod);
    });
    if (!visited && needs_directory) return visited.error();
    Pods made;
    std::set<std::string> told;
    for (Value& value : recent_.pods(metric_->metric, namespace_name, question_.now)) {
        Subject& subject = value.subject;
        if (subject.name.empty() || subject.namespace_name.empty()) {
            const auto name = name_by_uid.find(subject.uid);
            if (name == name_by_uid.end()) continue;
            subject.name = name->second;
            subject.namespace_name = namespace_name;
        }
        if (visited) {
            const auto record = by_name.find(subject.name);
            if (record == by_name.end()) continue;
            // A pod of that name that was there before.
            if (!subject.uid.empty() && !record->second.uid.empty() &&
                subject.uid != record->second.uid) {
                continue;
            }
            made.labels[subject.name] = record->second.labels;
        }
        if (!fits_metric_selector(value) || !told.insert(subject.name).second) continue;
        made.values.push_back(std::move(value));
    }
    std::sort(made.values.begin(), made.values.end(),
              [](const Value& a, const Value& b) { return a.subject.name < b.subject.name; });
    return made;
}

bool Asked::fits_metric_selector(const Value& value) const {
    return metric_selector_.empty() ||
           k8s::matches(metric_selector_, {{"node", value.subject.node}});
}

ApiAnswer Asked::pods(const std::string& namespace_name, const std::string& name) {
    const bool all = name == "*";
    const Accepts accepts = [&](const PodRecord& pod) {
        return all ? k8s::matches(pod_selector_, pod.labels) : pod.name == name;
    };
    auto found = pods_of(namespace_name, accepts, all && !pod_selector_.empty());
    if (!found) return from_error(found.error());
    std::vector<Item> items;
    for (Value& value : found->values) {
        if (!all && value.subject.name != name) continue;
        items.push_back({.described = {.kind = "Pod",
                                       .namespace_name = namespace_name,
                                       .name = value.subject.name,
                                       .api_version = "/v1"},
                         .value = std::move(value)});
    }
    if (!all && items.empty()) {
        return not_found("the server could not find the metric " + std::string(metric_->name) +
                         " for pods " + name);
    }
    return list(items);
}

ApiAnswer Asked::together(const Described& described, const Accepts& accepts,
                          bool needs_directory) {
    const std::string namespace_name =
        described.kind == "Namespace" ? described.name : described.namespace_name;
    const auto found = pods_of(namespace_name, accepts, needs_directory);
    if (!found) return from_error(found.error());
    auto value = folded(metric_->fold, found->values);
    if (!value) {
        return not_found("the server could not find the metric " + std::string(metric_->name) +
                         " for " + described.kind + " " + described.name +
                         ": no pod of it that uses a GPU is known");
    }
    return list({{.described = described, .value = *std::move(value)}});
}

ApiAnswer Asked::node(const std::string& name) {
    auto value = recent_.node(metric_->metric, name, question_.now);
    if (!value) {
        return not_found("the server could not find the metric " + std::string(metric_->name) +
                         " for nodes " + name);
    }
    return list({{.described = {.kind = "Node", .name = name, .api_version = "/v1"},
                  .value = *std::move(value)}});
}

ApiAnswer no_metric(const std::string& name) {
    return not_found("the server could not find the metric " + name + "; there are " +
                     metric_names());
}

ApiAnswer Asked::custom(const std::vector<std::string>& path, bool v1beta2) {
    v1beta2_ = v1beta2;
    if (auto read = read_selectors(); !read) return from_error(read.error());
    metric_ = find_metric(path.back());
    if (path.size() == 3 && path[0] == "nodes") {
        return metric_ == nullptr ? no_metric(path[2]) : node(path[1]);
    }
    if (path.size() < 4 || path.size() > 5 || path[0] != "namespaces") {
        return not_found("the server could not find the requested resource");
    }
    if (metric_ == nullptr) return no_metric(path.back());
    const std::string& space = path[1];
    if (path.size() == 4) {
        if (path[2] != "metrics") {
            return not_found("the server could not find the requested resource");
        }
        return together({.kind = "Namespace", .name = space, .api_version = "/v1"}, {}, false);
    }
    if (path[2] == "pods") return pods(space, path[3]);
    const WorkloadKind* const kind = find_workload_kind(path[2]);
    if (kind == nullptr) {
        return not_found("there are no metrics of " + path[2] +
                         "; there are of pods, deployments.apps, statefulsets.apps, "
                         "replicasets.apps, daemonsets.apps, jobs.batch, namespaces and nodes");
    }
    return together(
        {.kind = std::string(kind->kind),
         .namespace_name = space,
         .name = path[3],
         .api_version = std::string(kind->api_version)},
        [&](const PodRecord& pod) { return belongs_to(pod, *kind, path[3]); }, true);
}

ApiAnswer Asked::external(const std::vector<std::string>& path) {
    if (auto read = read_selectors(); !read) return from_error(read.error());
    if (path.size() != 3 || path[0] != "namespaces") {
        return not_found("the server could not find the requested resource");
    }
    metric_ = find_metric(path[2]);
    if (metric_ == nullptr) return no_metric(path[2]);
    const bool by_pod_labels = std::ranges::any_of(
        pod_selector_, [](const auto& one) { return one.key != "pod" && one.key != "node"; });
    auto found = pods_of(path[1], {}, by_pod_labels);
    if (!found) return from_error(found.error());
    std::vector<Item> items;
    for (Value& value : found->values) {
        Item item{.value = std::move(value)};
        const Subject& subject = item.value.subject;
        if (const auto labels = found->labels.find(subject.name); labels != found->labels.end()) {
            item.labels = labels->second;
        }
        item.labels["pod"] = subject.name;
        item.labels["node"] = subject.node;
        if (k8s::matches(pod_selector_, item.labels)) items.push_back(std::move(item));
    }
    return external_list(*metric_, items);
}

}  // namespace

ApiAnswer failure(int code, const std::string& reason, const std::string& message) {
    document::Value root = make_mapping({{"kind", "Status"},
                                         {"apiVersion", "v1"},
                                         {"metadata", make_mapping()},
                                         {"status", "Failure"},
                                         {"message", message},
                                         {"reason", reason},
                                         {"code", code}});
    return {.status = code, .body = document::to_json(root)};
}

ApiAnswer answer(const Question& question, const RecentMetrics& recent,
                 const PodDirectory& directory) {
    const auto parts = split_list(question.path, '/');
    const auto unknown = [] {
        return not_found("the server could not find the requested resource");
    };
    if (parts.size() < 2 || parts[0] != "apis") return unknown();
    const std::string group(parts[1]);
    if (group != kCustomGroup && group != kExternalGroup) return unknown();
    if (parts.size() == 2) return group_document(group);
    const std::string version(parts[2]);
    const bool v1beta2 = version == "v1beta2" && group == kCustomGroup;
    if (!v1beta2 && version != "v1beta1") return unknown();
    if (parts.size() == 3) return resource_document(group, version);
    const std::vector<std::string> rest(parts.begin() + 3, parts.end());
    Asked asked(question, recent, directory);
    return group == kExternalGroup ? asked.external(rest) : asked.custom(rest, v1beta2);
}

}  // namespace aliquot::scaling
