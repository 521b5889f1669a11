// SPDX-License-Identifier: Apache-2.0
// Numbers of one object that do not fit together, and names of its own parts: FORM003, FORM005, REF001.
#include <algorithm>
#include <optional>

#include "base/number.h"
#include "document/path.h"
#include "lint/rules/links.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// `maxSurge: 0` and `maxUnavailable: 0`: no pod may come, none may go.
void check_roll_out(const Object& object, Report& report) {
    const Value* rolling = document::at_path(*object.node, "spec.strategy.rollingUpdate");
    if (rolling == nullptr) return;
    const Value* surge = rolling->find("maxSurge");
    const Value* unavailable = rolling->find("maxUnavailable");
    const auto is_none = [](const Value* value) {
        return value != nullptr && (value->scalar == "0" || value->scalar == "0%");
    };
    if (!is_none(surge) || !is_none(unavailable)) return;
    report.add("FORM005", unavailable->mark, "maxSurge and maxUnavailable are both 0")
        .expected("one of them above 0");
}

/// Bounds of one thing: "minReplicas" and "maxReplicas", "minReplicaCount" and "maxReplicaCount".
void check_bounds(const Value& node, Report& report, int depth) {
    constexpr int kDeepest = 12;
    if (depth > kDeepest) return;
    for (const Value& item : node.items) check_bounds(item, report, depth + 1);
    for (const Value::Entry& entry : node.entries) {
        if (entry.second.is_mapping() || entry.second.is_sequence()) {
            check_bounds(entry.second, report, depth + 1);
            continue;
        }
        const std::string& key = entry.first.scalar;
        if (!key.starts_with("min") || key.size() < 6 || key == "minReadySeconds") continue;
        const Value* high = node.find("max" + key.substr(3));
        const auto low = parse_number<double>(entry.second.scalar);
        const auto most =
            high == nullptr ? std::optional<double>() : parse_number<double>(high->scalar);
        if (!low || !most) continue;
        const Value* size = key == "minReplicas" ? node.find("replicas") : nullptr;
        const auto now =
            size == nullptr ? std::optional<double>() : parse_number<double>(size->scalar);
        if (*low > *most && *most > 0) {
            report
                .add("FORM003", high->mark,
                     "max" + key.substr(3) + " is " + high->scalar + ", below " + key + ": " +
                         entry.second.scalar)
                .expected("at least " + entry.second.scalar);
        } else if (now && *most > 0 && (*now > *most || *now < *low)) {
            report
                .add("FORM003", size->mark,
                     "replicas is " + size->scalar + ", outside of " + entry.second.scalar +
                         " to " + high->scalar)
                .expected(key + " <= replicas <= max" + key.substr(3));
        }
    }
}

/// Names inside one object: jobs of a JobSet, tasks of Volcano.
void check_inside(const Object& object, Report& report) {
    const Value* spec = object.node->find("spec");
    if (spec == nullptr) return;
    if (object.kind == "JobSet") {
        std::vector<std::string_view> names;
        for (const Value& job : document::items_at(spec, {"replicatedJobs"})) {
            const Value* name = job.find("name");
            names.push_back(name == nullptr ? std::string_view() : name->scalar);
        }
        std::vector<const Value*> used;
        const auto add = [&used](const std::vector<Value>& items) {
            for (const Value& one : items) used.push_back(&one);
        };
        add(document::items_at(spec, {"successPolicy", "targetReplicatedJobs"}));
        for (const Value& rule : document::items_at(spec, {"failurePolicy", "rules"}))
            add(document::items_at(&rule, {"targetReplicatedJobs"}));
        for (const Value& job : document::items_at(spec, {"replicatedJobs"})) {
            for (const Value& one : document::items_at(&job, {"dependsOn"})) {
                if (const Value* name = one.find("name"); name != nullptr) used.push_back(name);
            }
        }
        for (const Value* one : used) {
            if (one->scalar.empty() || is_placeholder(one->scalar) ||
                std::find(names.begin(), names.end(), one->scalar) != names.end()) {
                continue;
            }
            report.add("REF001", one->mark, "the JobSet has no job '" + one->scalar + '\'')
                .expected(names.empty() ? "a job of the set" : std::string(names.front()));
        }
    }
    if (object.kind == "Job" && contains(object.api_version, "batch.volcano.sh")) {
        double pods = 0;
        for (const Value& task : document::items_at(spec, {"tasks"})) {
            const Value* replicas = task.find("replicas");
            pods += replicas == nullptr ? 1 : parse_number<double>(replicas->scalar).value_or(1e6);
        }
        const Value* least = spec->find("minAvailable");
        const auto number =
            least == nullptr ? std::optional<double>() : parse_number<double>(least->scalar);
        if (number && pods > 0 && *number > pods) {
            report
                .add("FORM003", least->mark,
                     "minAvailable is " + least->scalar + ", and the tasks have " +
                         number_of_pods(pods) + " pods")
                .expected("at most " + number_of_pods(pods));
        }
    }
}

}  // namespace

void check_amounts(const Object& object, Report& report) {
    if (object.kind == "Deployment") check_roll_out(object, report);
    const bool known = object.inner || object.kind == "CustomResourceDefinition" ||
                       object.kind == "HorizontalPodAutoscaler";  // HPA has these
    if (!known) check_bounds(*object.node, report, 0);
    check_inside(object, report);
}

}  // namespace aliquot::lint
