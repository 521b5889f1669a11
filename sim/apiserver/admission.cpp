// SPDX-License-Identifier: Apache-2.0
// What API servers do by themselves before they accept an object.
#include <algorithm>

#include "k8s/quantity.h"
#include "sim/apiserver/devices.h"
#include "sim/apiserver/strategy.h"

namespace aliquot::sim::apiserver {

namespace {

Outcome<Done> check_namespace(const Call& call) {
    if (!call.resource->namespaced) return Done{};
    const EntryPtr found = call.context.store.get("/namespaces", call.name_space);
    if (found == nullptr) return not_found("namespaces", "", call.name_space);
    if (found->object.at_path("metadata.deletionTimestamp").is_null()) return Done{};
    Failure failure = forbidden(call.resource->name, call.resource->group, call.name,
                                "unable to create new content in namespace " + call.name_space +
                                    " because it is being terminated");
    failure.causes.push_back({"NamespaceTerminating",
                              "namespace " + call.name_space + " is being terminated",
                              "metadata.namespace"});
    return failure;
}

void add_toleration(Value& spec, std::string_view key) {
    Value& tolerations = spec["tolerations"];
    for (const Value& one : tolerations.items()) {
        const std::string& effect = one.at("effect").text();
        const bool fits = one.at("key").text() == key || one.at("key").text().empty();
        if (fits && (effect == "NoExecute" || effect.empty())) return;
    }
    tolerations.push(Value::object({{"key", key},
                                    {"operator", "Exists"},
                                    {"effect", "NoExecute"},
                                    {"tolerationSeconds", 300}}));
}

Outcome<Done> set_priority(const Call& call, Value& spec) {
    const std::string name = spec.at("priorityClassName").text();
    std::int64_t value = 0;
    std::string policy = "PreemptLowerPriority";
    const auto use = [&](const Value& chosen) {
        value = chosen.at("value").integer();
        if (!chosen.at("preemptionPolicy").is_null()) policy = chosen.at("preemptionPolicy").text();
    };
    const std::string storage = "scheduling.k8s.io/priorityclasses";
    if (!name.empty()) {
        const EntryPtr found = call.context.store.get(storage, name);
        if (found == nullptr) {
            return forbidden("pods", "", call.name,
                             "no PriorityClass with name " + name + " was found");
        }
        use(found->object);
    } else {
        const auto page = call.context.store.list(storage, "", 0, "", 0);
        for (const EntryPtr& entry : page ? page->entries : std::vector<EntryPtr>{}) {
            if (!entry->object.at("globalDefault").boolean()) continue;
            spec["priorityClassName"] = entry->object.at_path("metadata.name");
            use(entry->object);
        }
    }
    if (!spec.at("priority").is_null() && spec.at("priority").integer() != value) {
        return forbidden("pods", "", call.name,
                         "the integer value of priority (" +
                             std::to_string(spec.at("priority").integer()) +
                             ") must not be provided in pod spec; priority admission controller "
                             "computed " +
                             std::to_string(value) + " from the given PriorityClass name");
    }
    spec["priority"] = value;
    if (spec.at("preemptionPolicy").is_null()) spec["preemptionPolicy"] = policy;
    return Done{};
}

Outcome<Done> use_runtime_class(const Call& call, Value& spec) {
    const std::string name = spec.at("runtimeClassName").text();
    if (name.empty()) return Done{};
    const EntryPtr found = call.context.store.get("node.k8s.io/runtimeclasses", name);
    if (found == nullptr) {
        return forbidden("pods", "", call.name,
                         "pod rejected: RuntimeClass \"" + name + "\" not found");
    }
    const Value& overhead = found->object.at_path("overhead.podFixed");
    if (!overhead.is_null()) spec["overhead"] = overhead;
    for (const Member& label : found->object.at_path("scheduling.nodeSelector").members()) {
        spec["nodeSelector"][label.name] = label.value;
    }
    for (const Value& toleration : found->object.at_path("scheduling.tolerations").items()) {
        Value& mine = spec["tolerations"];
        if (std::ranges::find(mine.items(), toleration) == mine.items().end())
            mine.push(toleration);
    }
    return Done{};
}

/// Defaults and bounds of the namespace's limit ranges.
Outcome<Done> keep_limits(const Call& call, Value& spec) {
    const auto ranges = call.context.store.list("/limitranges", call.name_space + "/", 0, "", 0);
    if (!ranges || ranges->entries.empty()) return Done{};
    for (const EntryPtr& range : ranges->entries) {
        for (const Value& limit : range->object.at_path("spec.limits").items()) {
            if (limit.at("type").text() != "Container") continue;
            for (Value& container : spec["containers"].items()) {
                for (const Member& one : limit.at("default").members()) {
                    Value& place = container["resources"]["limits"][one.name];
                    if (place.is_null()) place = one.value;
                }
                for (const Member& one : limit.at("defaultRequest").members()) {
                    Value& place = container["resources"]["requests"][one.name];
                    if (place.is_null()) place = one.value;
                }
                for (const Member& one : limit.at("max").members()) {
                    const Value& have = container.at_path("resources.limits").at(one.name);
                    const auto value = k8s::quantity_value(have.text());
                    if (value && *value > *k8s::quantity_value(one.value.text())) {
                        return forbidden("pods", "", call.name,
                                         "maximum " + one.name + " usage per Container is " +
                                             one.value.text() + ", but limit is " + have.text());
                    }
                }
            }
        }
    }
    return Done{};
}

double requested(const Value& spec, std::string_view name, bool limits) {
    double sum = 0;
    for (const Value& container : spec.at("containers").items()) {
        sum += k8s::quantity_value(
                   container.at_path(limits ? "resources.limits" : "resources.requests")
                       .at(name)
                       .text())
                   .value_or(0);
    }
    return sum;
}

/// What a pod takes of one line of a quota ("pods", "requests.nvidia.com/gpu", "limits.cpu", "cpu").
double use_of(const Value& spec, std::string_view line) {
    if (line == "pods" || line == "count/pods") return 1;
    if (line.starts_with("limits.")) return requested(spec, line.substr(7), true);
    return requested(spec, line.starts_with("requests.") ? line.substr(9) : line, false);
}

bool is_finished(const Value& pod) {
    const std::string& phase = pod.at_path("status.phase").text();
    return phase == "Succeeded" || phase == "Failed";
}

Outcome<Done> keep_quota(const Call& call, const Value& spec) {
    const auto quotas = call.context.store.list("/resourcequotas", call.name_space + "/", 0, "", 0);
    if (!quotas || quotas->entries.empty()) return Done{};
    const auto pods = call.context.store.list("/pods", call.name_space + "/", 0, "", 0);
    for (const EntryPtr& quota : quotas->entries) {
        if (!quota->object.at_path("spec.scopes").empty() ||
            !quota->object.at_path("spec.scopeSelector").empty()) {
            continue;
        }
        for (const Member& hard : quota->object.at_path("spec.hard").members()) {
            if (hard.name.starts_with("count/") && hard.name != "count/pods") continue;
            const double wanted = use_of(spec, hard.name);
            double used = 0;
            for (const EntryPtr& pod : pods->entries) {
                if (!is_finished(pod->object)) used += use_of(pod->object.at("spec"), hard.name);
            }
            if (wanted > 0 && used + wanted > k8s::quantity_value(hard.value.text()).value_or(0)) {
                const auto spell = [](double value) {
                    std::string text = std::to_string(value);
                    text.erase(text.find_last_not_of('0') + 1);
                    if (text.ends_with('.')) text.pop_back();
                    const auto amount = k8s::Quantity::parse(text);
                    return amount ? amount->canonical() : text;
                };
                return forbidden(
                    "pods", "", call.name,
                    "exceeded quota: " + quota->object.at_path("metadata.name").text() +
                        ", requested: " + hard.name + "=" + spell(wanted) + ", used: " + hard.name +
                        "=" + spell(used) + ", limited: " + hard.name + "=" + hard.value.text());
            }
        }
    }
    return Done{};
}

Outcome<Done> admit_pod(const Call& call, Value& object) {
    Value& spec = object["spec"];
    auto runtime = use_runtime_class(call, spec);
    if (!runtime) return runtime;
    auto limits = keep_limits(call, spec);
    if (!limits) return limits;
    auto priority = set_priority(call, spec);
    if (!priority) return priority;
    add_toleration(spec, "node.kubernetes.io/not-ready");
    add_toleration(spec, "node.kubernetes.io/unreachable");
    if (call.context.options.default_service_accounts && spec.at("serviceAccountName").is_null()) {
        spec["serviceAccountName"] = "default";
        spec["serviceAccount"] = "default";
    }
    return Done{};
}

}  // namespace

Outcome<Done> admit(Call& call, Value& object, const Value& old, std::string_view operation) {
    const bool creates = operation == "CREATE";
    if (creates) {
        auto there = check_namespace(call);
        if (!there) return there;
    }
    const bool pod = call.resource->storage == "/pods" && creates && call.subresource == nullptr;
    if (pod) {
        auto admitted = admit_pod(call, object);
        if (!admitted) return admitted;
    }
    if (call.resource->group == "resource.k8s.io") {
        auto admitted = admit_devices(call, object, old);
        if (!admitted) return admitted;
    }
    auto hooked = call_mutating_webhooks(call, object, old, operation);
    if (!hooked) return hooked;
    return pod ? keep_quota(call, object.at("spec")) : Outcome<Done>(Done{});
}

}  // namespace aliquot::sim::apiserver
