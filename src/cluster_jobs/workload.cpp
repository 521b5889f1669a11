// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/workload.h"

#include <algorithm>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cluster_jobs/sight.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::cluster_jobs {
namespace {

using document::items_at;
using document::make_mapping;
using document::text_at;
using document::Value;

constexpr std::uint32_t kMostPods = 1'024;

std::uint32_t count_at(const Value& value, std::initializer_list<std::string_view> path,
                       std::uint32_t otherwise) {
    return parse_number<std::uint32_t>(text_at(value, path)).value_or(otherwise);
}

Value* entry_of(Value& mapping, std::string_view key) {
    for (auto& entry : mapping.entries) {
        if (entry.first.scalar == key) return &entry.second;
    }
    return nullptr;
}

/// The member, made when it is not there.
Value& member(Value& mapping, const char* key, Value otherwise) {
    Value* found = entry_of(mapping, key);
    if (found == nullptr || found->kind == Value::Kind::kNull) {
        if (found != nullptr) {
            *found = std::move(otherwise);
            return *found;
        }
        document::append(mapping, key, std::move(otherwise));
        found = &mapping.entries.back().second;
    }
    return *found;
}

/// What admission will add to its pods.
void add_flavor(const Value& flavor, Value& spec) {
    Value& selector = member(spec, "nodeSelector", document::make_mapping());
    for (const auto& [key, value] : document::entries_at(flavor, {"spec", "nodeLabels"})) {
        if (entry_of(selector, key.scalar) == nullptr)
            document::append(selector, key.scalar, value);
    }
    Value& tolerations = member(spec, "tolerations", document::make_sequence());
    for (const Value& one : items_at(flavor, {"spec", "tolerations"}))
        tolerations.items.push_back(one);
}

const Value* assignment_of(const Value& workload, const std::string& pod_set) {
    for (const Value& one : items_at(workload, {"status", "admission", "podSetAssignments"})) {
        if (text_at(one, {"name"}) == pod_set) return &one;
    }
    return nullptr;
}

std::uint64_t gpus_in(const Value& spec) {
    std::uint64_t sum = 0;
    for (const Value& container : items_at(spec, {"containers"})) {
        for (const auto& [name, amount] :
             document::entries_at(container, {"resources", "limits"})) {
            if (k8s::is_gpu_resource(name.scalar))
                sum += parse_number<std::uint64_t>(amount.scalar).value_or(0);
        }
    }
    return sum;
}

const Value* condition(const Value& object, std::string_view type) {
    for (const Value& one : items_at(object, {"status", "conditions"})) {
        if (text_at(one, {"type"}) == type) return &one;
    }
    return nullptr;
}

bool is_true(const Value& object, std::string_view type) {
    const Value* const found = condition(object, type);
    return found != nullptr && text_at(*found, {"status"}) == "True";
}

queue::Time ms_of(const std::string& text) {
    const auto time = parse_rfc3339(text);
    if (!time) return 0;
    return std::chrono::duration_cast<std::chrono::milliseconds>(time->time_since_epoch()).count();
}

}  // namespace

std::vector<std::string> pods_of(const Value& workload, const std::map<std::string, Value>& flavors,
                                 const std::vector<std::string>& likely) {
    std::vector<std::string> pods;
    const std::string uid = text_at(workload, {"metadata", "uid"});
    const std::string space = text_at(workload, {"metadata", "namespace"});
    const std::string name = text_at(workload, {"metadata", "name"});
    for (const Value& set : items_at(workload, {"spec", "podSets"})) {
        const std::string set_name = text_at(set, {"name"});
        const Value* const spec = document::at_path(set, {"template", "spec"});
        if (spec == nullptr) continue;
        Value of_pod = *spec;
        std::uint32_t count = count_at(set, {"count"}, 1);
        for (const std::string& flavor : likely) {
            const auto known = flavors.find(flavor);
            if (known != flavors.end()) add_flavor(known->second, of_pod);
        }
        if (const Value* const assigned = assignment_of(workload, set_name)) {
            count = count_at(*assigned, {"count"}, count);
            std::vector<std::string> added;
            for (const auto& [resource, flavor] : document::entries_at(*assigned, {"flavors"})) {
                const auto known = flavors.find(flavor.scalar);
                const bool again =
                    std::find(added.begin(), added.end(), flavor.scalar) != added.end();
                if (known == flavors.end() || again) continue;
                add_flavor(known->second, of_pod);
                added.push_back(flavor.scalar);
            }
        }
        for (std::uint32_t i = 0; i < count && pods.size() < kMostPods; ++i) {
            const std::string suffix = "/" + set_name + "/" + std::to_string(i);
            Value metadata =
                make_mapping({{"uid", uid + suffix},
                              {"namespace", space},
                              {"name", name + "-" + set_name + "-" + std::to_string(i)}});
            for (const char* const part : {"labels", "annotations"}) {
                if (const Value* const said =
                        document::at_path(set, {"template", "metadata", part}))
                    document::append(metadata, part, *said);
            }
            pods.push_back(document::to_json_line(make_mapping({{"apiVersion", "v1"},
                                                                {"kind", "Pod"},
                                                                {"metadata", std::move(metadata)},
                                                                {"spec", of_pod}})));
        }
    }
    return pods;
}

std::vector<std::string> checks_to_answer(const Value& workload,
                                          const std::vector<std::string>& ours) {
    std::vector<std::string> names;
    if (!is_true(workload, "QuotaReserved") || is_true(workload, "Finished")) return names;
    if (is_true(workload, "Evicted") || text_at(workload, {"spec", "active"}) == "false")
        return names;
    for (const Value& check : items_at(workload, {"status", "admissionChecks"})) {
        const std::string name = text_at(check, {"name"});
        if (text_at(check, {"state"}) != "Pending") continue;
        if (std::find(ours.begin(), ours.end(), name) != ours.end()) names.push_back(name);
    }
    return names;
}

bool has_quota(const Value& workload) {
    return is_true(workload, "QuotaReserved") && !is_true(workload, "Finished");
}

ChecksAhead checks_ahead(const Value& workload, const std::vector<std::string>& ours) {
    ChecksAhead found;
    if (is_true(workload, "QuotaReserved") || is_true(workload, "Finished")) return found;
    if (is_true(workload, "Evicted") || text_at(workload, {"spec", "active"}) == "false")
        return found;
    if (!text_at(workload, {"metadata", "annotations", kGatedBy}).empty()) return found;
    std::size_t ready = 0;
    for (const Value& check : items_at(workload, {"status", "admissionChecks"})) {
        const std::string name = text_at(check, {"name"});
        const std::string state = text_at(check, {"state"});
        const bool is_ready = state == "Ready";
        if (!is_ready && state != "Pending") continue;
        if (std::find(ours.begin(), ours.end(), name) == ours.end()) continue;
        found.names.push_back(name);
        ready += is_ready ? 1 : 0;
    }
    found.are_ready = ready == found.names.size();
    return found;
}

std::optional<std::vector<std::string>> only_flavors(const Value& cluster_queue) {
    std::vector<std::string> names;
    for (const Value& group : items_at(cluster_queue, {"spec", "resourceGroups"})) {
        const auto& flavors = items_at(group, {"flavors"});
        if (flavors.size() != 1) return std::nullopt;
        names.push_back(text_at(flavors.front(), {"name"}));
    }
    return names;
}

Value check_patch(const Value& workload, const std::string& check, const CheckAnswer& answer,
                  std::chrono::system_clock::time_point now) {
    using State = CheckAnswer::State;
    const bool retry = answer.state == State::kRetry;
    constexpr std::size_t kMostMessage = 1'000;
    const Value entry = make_mapping(
        {{"name", check},
         {"state", retry                           ? "Retry"
                   : answer.state == State::kReady ? "Ready"
                                                   : "Pending"},
         {"lastTransitionTime", rfc3339(now)},
         {"message", one_line(answer.message, kMostMessage)},
         {"requeueAfterSeconds", document::only_if(retry, answer.again_after.count())}});
    return make_mapping(
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "Workload"},
         {"metadata", make_mapping({{"name", text_at(workload, {"metadata", "name"})},
                                    {"namespace", text_at(workload, {"metadata", "namespace"})},
                                    {"uid", text_at(workload, {"metadata", "uid"})}})},
         {"status", make_mapping({{"admissionChecks", std::vector<Value>{entry}}})}});
}

std::optional<Value> active_patch(const Value& check, std::chrono::system_clock::time_point now) {
    const std::string generation = text_at(check, {"metadata", "generation"});
    if (const Value* const active = condition(check, "Active");
        active != nullptr && text_at(*active, {"status"}) == "True" &&
        text_at(*active, {"observedGeneration"}) == generation) {
        return std::nullopt;
    }
    const Value active =
        make_mapping({{"type", "Active"},
                      {"status", "True"},
                      {"reason", "Active"},
                      {"message", "aliquot-controller looks for room on the cluster's GPUs"},
                      {"lastTransitionTime", rfc3339(now)},
                      {"observedGeneration", parse_number<std::int64_t>(generation).value_or(0)}});
    return make_mapping(
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "AdmissionCheck"},
         {"metadata", make_mapping({{"name", text_at(check, {"metadata", "name"})}})},
         {"status", make_mapping({{"conditions", std::vector<Value>{active}}})}});
}

Value stop_patch(bool stopped) {
    Value annotations = make_mapping();
    document::append(annotations, kStoppedAnnotation,
                     stopped ? document::make_string("true") : Value{});
    return make_mapping({{"metadata", make_mapping({{"annotations", std::move(annotations)}})},
                         {"spec", make_mapping({{"active", !stopped}})}});
}

QueueOffer offer_of(const Value& cluster_queue) {
    QueueOffer made{.name = text_at(cluster_queue, {"metadata", "name"}),
                    .cohort = text_at(cluster_queue, {"spec", "cohortName"})};
    std::uint64_t quota = 0;
    std::uint64_t borrow = 0;
    bool some = false;
    bool is_limited = true;
    for (const Value& group : items_at(cluster_queue, {"spec", "resourceGroups"})) {
        for (const Value& flavor : items_at(group, {"flavors"})) {
            for (const Value& resource : items_at(flavor, {"resources"})) {
                if (!k8s::is_gpu_resource(text_at(resource, {"name"}))) continue;
                some = true;
                const auto amount = k8s::Quantity::parse(text_at(resource, {"nominalQuota"}));
                const auto more = k8s::Quantity::parse(text_at(resource, {"borrowingLimit"}));
                if (amount)
                    quota += static_cast<std::uint64_t>(amount->thousandths().value_or(0)) / 1000;
                if (more)
                    borrow += static_cast<std::uint64_t>(more->thousandths().value_or(0)) / 1000;
                is_limited = is_limited && more.has_value();
            }
        }
    }
    if (some) made.quota = quota;
    if (some && is_limited) made.borrow = borrow;
    return made;
}

std::optional<Task> task_of(const Value& workload, const std::string& queue) {
    if (is_true(workload, "Finished")) return std::nullopt;
    Task task{.uid = text_at(workload, {"metadata", "uid"}), .queue = queue};
    const auto& sets = items_at(workload, {"spec", "podSets"});
    std::uint64_t gpus = 0;
    for (const Value& set : sets) {
        const Value* const spec = document::at_path(set, {"template", "spec"});
        const std::uint64_t each = spec == nullptr ? 0 : gpus_in(*spec);
        if (each == 0) continue;
        gpus = std::max(gpus, each);
        task.pods = gpus == each ? count_at(set, {"count"}, 1) : task.pods;
    }
    if (gpus == 0) return std::nullopt;
    task.gpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(gpus, kMostPods));
    const std::string space = text_at(workload, {"metadata", "namespace"});
    const std::string user = text_at(workload, {"metadata", "labels", kUserLabel});
    task.user = space + (user.empty() ? "" : "/" + user);
    std::string stem = text_at(workload, {"metadata", "name"});
    if (const auto& owners = items_at(workload, {"metadata", "ownerReferences"}); !owners.empty())
        stem = text_at(owners.front(), {"name"});
    task.name = stem.substr(0, stem.rfind('-'));
    task.priority = parse_number<std::int32_t>(text_at(workload, {"spec", "priority"})).value_or(0);
    task.created = ms_of(text_at(workload, {"metadata", "creationTimestamp"}));
    task.limit =
        parse_number<queue::Time>(text_at(workload, {"spec", "maximumExecutionTimeSeconds"}))
            .value_or(0) *
        1000;
    if (const Value* const admitted = condition(workload, "Admitted");
        admitted != nullptr && text_at(*admitted, {"status"}) == "True") {
        task.runs_since = ms_of(text_at(*admitted, {"lastTransitionTime"}));
    }
    const std::string gates = text_at(workload, {"metadata", "annotations", kGatedBy});
    task.is_gated = without_gate(gates, kPlannerGate).has_value();
    const bool inactive = text_at(workload, {"spec", "active"}) == "false";
    task.is_held = inactive || without_gate(gates, kAfterGate).has_value();
    return task;
}

std::optional<std::string> without_gate(const std::string& gates, const std::string& gate) {
    std::string left;
    bool found = false;
    for (const std::string_view one : split_list(gates)) {
        const std::string_view name = trim(one);
        if (name == gate) {
            found = true;
            continue;
        }
        left += (left.empty() ? "" : ",") + std::string(name);
    }
    return found ? std::optional(left) : std::nullopt;
}

}  // namespace aliquot::cluster_jobs
