// SPDX-License-Identifier: Apache-2.0
// scale, binding, eviction, finalize, token and the rest that is not simply the object.
#include <algorithm>

#include "base/time_text.h"
#include "sim/apiserver/conversion.h"
#include "sim/apiserver/patch.h"
#include "sim/apiserver/removal.h"
#include "sim/apiserver/selector.h"
#include "sim/apiserver/strategy.h"
#include "sim/apiserver/words.h"
#include "sim/apiserver/writes.h"

namespace aliquot::sim::apiserver {

namespace {

std::string spell_selector(const Value& selector) {
    if (selector.is_string()) return selector.text();
    return k8s::to_text(read_label_selector(selector));
}

struct ScalePaths {
    std::string replicas = "spec.replicas";
    std::string status_replicas = "status.replicas";
    std::string selector = "spec.selector";
};

ScalePaths scale_paths(const Resource& resource) {
    if (!resource.custom) return {};
    return {resource.replicas_path, resource.status_replicas_path, resource.selector_path};
}

Value to_scale(const Value& object, const Resource& resource) {
    const ScalePaths paths = scale_paths(resource);
    Value metadata = Value::object();
    for (const std::string_view field :
         {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
        const Value& value = object.at("metadata").at(field);
        if (!value.is_null()) metadata[field] = value;
    }
    Value status = Value::object({{"replicas", object.at_path(paths.status_replicas).integer()}});
    const std::string selector =
        paths.selector.empty() ? "" : spell_selector(object.at_path(paths.selector));
    if (!selector.empty()) status["selector"] = selector;
    Value spec = Value::object();
    const Value& replicas = object.at_path(paths.replicas);
    if (!replicas.is_null()) spec["replicas"] = replicas;
    return Value::object({{"kind", "Scale"},
                          {"apiVersion", "autoscaling/v1"},
                          {"metadata", std::move(metadata)},
                          {"spec", std::move(spec)},
                          {"status", std::move(status)}});
}

/// The Scale that the client wants: as it is with a body or patch applied.
Outcome<Value> wanted_scale(Call& call, const Value& current) {
    auto body = read_body(call);
    if (!body) return body.failure();
    if (call.verb == "update") return body->value;
    const std::string type(call.http.header("content-type"));
    if (type.starts_with("application/json-patch")) {
        auto made = apply_json_patch(current, body->value);
        if (!made) return bad_request(made.error().message);
        return std::move(*made);
    }
    Value made = current;
    apply_merge_patch(made, body->value);
    return made;
}

HttpAnswer scale(Call& call) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr old = call.context.store.get(call.resource->storage, call.key());
        if (old == nullptr) {
            return answer_failure(not_found(call.resource->name, call.resource->group, call.name));
        }
        Value object = to_version(old->object, *call.resource);
        const Value current = to_scale(object, *call.resource);
        if (call.verb == "get") return answer_value(current);
        auto wanted = wanted_scale(call, current);
        if (!wanted) return answer_failure(wanted.failure());
        const Value replicas = wanted->at_path("spec.replicas");
        if (replicas.integer(0) < 0) {
            return answer_failure(invalid(
                "Scale", "autoscaling", call.name,
                {invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")}));
        }
        object.ensure_path(scale_paths(*call.resource).replicas) = replicas.integer(0);
        const Value given = wanted->at_path("metadata.resourceVersion");
        object["metadata"]["resourceVersion"] = given;
        if (given.is_null()) {
            object["metadata"]["resourceVersion"] = old->object.at_path("metadata.resourceVersion");
        }
        auto written = store_changed(call, old, std::move(object));
        if (!written) return answer_failure(written.failure());
        if (!written->lost_race) {
            return answer_value(
                to_scale(to_version(written->entry->object, *call.resource), *call.resource));
        }
        if (!given.is_null() && call.verb == "update") break;
    }
    return answer_failure(conflict(call.resource->name, call.resource->group, call.name,
                                   "the object has been modified"));
}

/// The Binding as webhooks leave it, when it can be one of this pod.
Outcome<Value> admitted_binding(Call& call) {
    auto body = read_body(call);
    if (!body) return body.failure();
    Value binding = std::move(body->value);
    if (call.name.empty()) call.name = binding.at_path("metadata.name").text();
    binding["apiVersion"] = "v1";
    binding["kind"] = "Binding";
    if (binding.at_path("metadata.namespace").is_null())
        binding["metadata"]["namespace"] = call.name_space;
    auto admitted = call_mutating_webhooks(call, binding, Value(), "CREATE");
    if (!admitted) return admitted.failure();
    if (binding.at_path("metadata.name").text() != call.name)
        return bad_request("name in URL does not match name in Binding object");
    if (binding.at_path("target.name").text().empty())
        return invalid("Binding", "", call.name, {required("target.name")});
    auto accepted = call_validating_webhooks(call, binding, Value(), "CREATE");
    if (!accepted) return accepted.failure();
    return binding;
}

/// Why this Binding cannot be of that pod; empty: it can.
std::string why_not_bound(const Value& pod, const Value& binding) {
    const std::string& name = pod.at_path("metadata.name").text();
    const std::string& uid = binding.at_path("metadata.uid").text();
    if (!uid.empty() && uid != pod.at_path("metadata.uid").text()) {
        return "Precondition failed: UID in precondition: " + uid +
               ", UID in object meta: " + pod.at_path("metadata.uid").text();
    }
    if (!pod.at_path("metadata.deletionTimestamp").is_null())
        return "pod " + name + " is being deleted, cannot be assigned to a host";
    if (const std::string& node = pod.at_path("spec.nodeName").text(); !node.empty())
        return "pod " + name + " is already assigned to node \"" + node + "\"";
    if (!pod.at_path("spec.schedulingGates").empty())
        return "pod " + name + " has non-empty .spec.schedulingGates";
    return {};
}

/// Node, annotations and labels of the Binding in one write: kubelets never see one without the others.
void assign(Value& pod, const Value& binding) {
    pod["spec"]["nodeName"] = binding.at_path("target.name");
    for (const std::string_view kind : {"annotations", "labels"}) {
        for (const Member& one : binding.at("metadata").at(kind).members())
            pod["metadata"][kind][one.name] = one.value;
    }
    pod["status"].erase("nominatedNodeName");
    auto& conditions = pod["status"]["conditions"];
    std::erase_if(conditions.items(),
                  [](const Value& one) { return one.at("type").text() == "PodScheduled"; });
    conditions.push(
        Value::object({{"type", "PodScheduled"},
                       {"status", "True"},
                       {"lastProbeTime", Value()},
                       {"lastTransitionTime", rfc3339(std::chrono::system_clock::now())}}));
}

HttpAnswer bind(Call& call) {
    const auto binding = admitted_binding(call);
    if (!binding) return answer_failure(binding.failure());
    const ResourcePtr pods = call.context.resources.find("", "v1", "pods");
    for (int attempt = 0; attempt < 10; ++attempt) {
        const EntryPtr old = call.context.store.get(pods->storage, call.key());
        if (old == nullptr) return answer_failure(not_found("pods", "", call.name));
        if (const std::string why = why_not_bound(old->object, *binding); !why.empty())
            return answer_failure(conflict("pods/binding", "", call.name, why));
        Value object = old->object;
        assign(object, *binding);
        if (!call.dry_run && call.context.store.update(pods->storage, call.key(), std::move(object),
                                                       old->revision) == nullptr) {
            continue;
        }
        return answer_value(Value::object({{"kind", "Status"},
                                           {"apiVersion", "v1"},
                                           {"metadata", Value::object()},
                                           {"status", "Success"},
                                           {"code", 201}}),
                            201);
    }
    return answer_failure(conflict("pods/binding", "", call.name, "the pod has been modified"));
}

EntryPtr budget_of(const Call& call, const Value& pod, std::size_t& count) {
    const auto budgets =
        call.context.store.list("policy/poddisruptionbudgets", call.name_space + "/", 0, "", 0);
    EntryPtr found;
    for (const EntryPtr& budget : budgets->entries) {
        const Selector selector = read_label_selector(budget->object.at_path("spec.selector"));
        if (!matches_labels(selector, pod.at_path("metadata.labels"))) continue;
        found = budget;
        ++count;
    }
    return found;
}

Failure budget_failure(const std::string& why, int retry_after) {
    Failure failure = too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.", retry_after);
    failure.causes.push_back({"DisruptionBudget", why, ""});
    return failure;
}

bool is_ready(const Value& pod) {
    const Value& conditions = pod.at_path("status.conditions");
    return std::ranges::any_of(conditions.items(), [](const Value& one) {
        return one.at("type").text() == "Ready" && one.at("status").text() == "True";
    });
}

/// The disruption budget that a pod falls under, counted down: one without room, or whose status is about an older
/// spec, refuses; so do two.
std::optional<Failure> budget_refuses(const Call& call, const Value& pod) {
    std::size_t count = 0;
    const EntryPtr budget = budget_of(call, pod, count);
    if (count > 1) {
        return Failure{.code = 500,
                       .reason = "",
                       .message =
                           "This pod has more than one PodDisruptionBudget, which the "
                           "eviction subresource does not support."};
    }
    if (budget == nullptr) return std::nullopt;
    Value object = budget->object;
    const std::string name = object.at_path("metadata.name").text();
    const auto number = [&](const char* path) { return object.at_path(path).integer(); };
    const auto desired = number("status.desiredHealthy");
    const bool lets_unready =
        object.at_path("spec.unhealthyPodEvictionPolicy").text() == "AlwaysAllow" ||
        (desired > 0 && number("status.currentHealthy") >= desired);
    if (!is_ready(pod) && lets_unready) return std::nullopt;
    if (number("status.observedGeneration") < number("metadata.generation")) {
        return budget_failure(
            "The disruption budget " + name + " is still being processed by the server.", 10);
    }
    if (number("status.disruptionsAllowed") <= 0) {
        return budget_failure("The disruption budget " + name + " needs " +
                                  std::to_string(desired) + " healthy pods and has " +
                                  std::to_string(number("status.currentHealthy")) + " currently",
                              0);
    }
    object["status"]["disruptionsAllowed"] = number("status.disruptionsAllowed") - 1;
    object["status"]["disruptedPods"][call.name] = rfc3339(std::chrono::system_clock::now());
    if (!call.dry_run) {
        call.context.store.update("policy/poddisruptionbudgets",
                                  Call::key_of(call.name_space, name), object, budget->revision);
    }
    return std::nullopt;
}

HttpAnswer evict(Call& call) {
    auto body = read_body(call);
    if (!body) return answer_failure(body.failure());
    const EntryPtr pod = call.context.store.get("/pods", call.key());
    if (pod == nullptr) return answer_failure(not_found("pods", "", call.name));
    const std::string& phase = pod->object.at_path("status.phase").text();
    const bool over = phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
                      !pod->object.at_path("metadata.deletionTimestamp").is_null();
    if (!over) {
        if (auto refused = budget_refuses(call, pod->object)) return answer_failure(*refused);
    }
    RemovalOptions options;
    const Value& given = body->value.at("deleteOptions");
    if (given.at("gracePeriodSeconds").is_integer()) {
        options.grace_seconds = given.at("gracePeriodSeconds").integer();
    }
    options.uid = given.at_path("preconditions.uid").text();
    options.dry_run = call.dry_run || !given.at("dryRun").empty();
    call.subresource = nullptr;
    auto removed = remove_object(call, options);
    if (!removed) return answer_failure(removed.failure());
    return answer_value(Value::object({{"kind", "Status"},
                                       {"apiVersion", "v1"},
                                       {"metadata", Value::object()},
                                       {"status", "Success"},
                                       {"code", 201}}),
                        201);
}

/// PUT namespaces/x/finalize: the one way to take the kubernetes finalizer away.
HttpAnswer finalize(Call& call) {
    auto body = read_body(call);
    if (!body) return answer_failure(body.failure());
    const EntryPtr old = call.context.store.get(call.resource->storage, call.key());
    if (old == nullptr) return answer_failure(not_found("namespaces", "", call.name));
    Value object = old->object;
    const Value& finalizers = body->value.at_path("spec.finalizers");
    object["spec"] = Value::object();
    if (!finalizers.empty()) object["spec"]["finalizers"] = finalizers;
    auto written = store_changed(call, old, std::move(object));
    if (!written) return answer_failure(written.failure());
    return answer_entry(call, written->entry, 200);
}

HttpAnswer token(Call& call) {
    auto body = read_body(call);
    if (!body) return answer_failure(body.failure());
    const EntryPtr account = call.context.store.get("/serviceaccounts", call.key());
    if (account == nullptr) return answer_failure(not_found("serviceaccounts", "", call.name));
    const std::int64_t seconds = body->value.at_path("spec.expirationSeconds").integer(3600);
    if (seconds < 600) {
        return answer_failure(
            invalid("TokenRequest", "authentication.k8s.io", "",
                    {invalid_value("spec.expirationSeconds", seconds,
                                   "may not specify a duration less than 10 minutes")}));
    }
    const std::string text = "sim." + make_uuid() + "." + make_uuid();
    User user;
    user.name = "system:serviceaccount:" + call.name_space + ":" + call.name;
    user.uid = account->object.at_path("metadata.uid").text();
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + call.name_space};
    {
        const std::unique_lock lock(call.context.tokens_guard);
        call.context.tokens[text] = user;
    }
    Value request = body->value;
    request["kind"] = "TokenRequest";
    request["apiVersion"] = "authentication.k8s.io/v1";
    request["metadata"]["name"] = call.name;
    request["metadata"]["namespace"] = call.name_space;
    request["spec"]["expirationSeconds"] = seconds;
    request["status"]["token"] = text;
    request["status"]["expirationTimestamp"] =
        rfc3339(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
    return answer_value(request, 201);
}

}  // namespace

HttpAnswer answer_subresource(Call& call) {
    const std::string name =
        call.subresource == nullptr ? call.resource->name : call.subresource->name;
    if (name == "scale") return scale(call);
    if (name == "binding" || name == "bindings") return bind(call);
    if (name == "eviction") return evict(call);
    if (name == "finalize") return finalize(call);
    if (name == "token") return token(call);
    if (name == "log") return read_log(call);
    if (name == "componentstatuses") {
        return answer_value(Value::object({{"kind", "ComponentStatusList"},
                                           {"apiVersion", "v1"},
                                           {"metadata", Value::object()},
                                           {"items", Value::array()}}));
    }
    // approval, ephemeralcontainers, resize: the object, written through another door.
    if (call.verb == "get") return get_object(call);
    if (call.verb == "update") return update_object(call);
    if (call.verb == "patch") return patch_object(call);
    return answer_failure(method_not_allowed());
}

}  // namespace aliquot::sim::apiserver
