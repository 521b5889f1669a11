// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/seed.h"

#include "sim/apiserver/writes.h"

namespace aliquot::sim::apiserver {

namespace {

void plant(ServerContext& context, std::string_view group, std::string_view name,
           const std::string& name_space, Value object) {
    static const HttpRequest kNoRequest;
    Call call{context, kNoRequest, {}, context.resources.find(group, "v1", name)};
    call.verb = "create";
    call.name_space = name_space;
    call.field_manager = "kube-apiserver";
    call.field_validation = "Ignore";
    auto decoded = decode_object(call, object, {});
    if (decoded) static_cast<void>(bool(store_new(call, std::move(*decoded))));
}

Value named(std::string_view name) {
    return Value::object({{"metadata", Value::object({{"name", name}})}});
}

Value words(std::initializer_list<const char*> list) {
    Value made = Value::array();
    for (const char* word : list) made.push(word);
    return made;
}

Value rule(Value verbs, Value groups, Value resources) {
    return Value::object({{"verbs", std::move(verbs)},
                          {"apiGroups", std::move(groups)},
                          {"resources", std::move(resources)}});
}

void plant_roles(ServerContext& context) {
    constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
    const auto role = [&](std::string_view name, Value rules) {
        Value object = named(name);
        object["rules"] = std::move(rules);
        object["metadata"]["labels"]["kubernetes.io/bootstrapping"] = "rbac-defaults";
        plant(context, kGroup, "clusterroles", "", std::move(object));
    };
    const auto bind = [&](std::string_view name, std::string_view group) {
        Value object = named(name);
        object["roleRef"] =
            Value::object({{"apiGroup", kGroup}, {"kind", "ClusterRole"}, {"name", name}});
        object["subjects"].push(
            Value::object({{"apiGroup", kGroup}, {"kind", "Group"}, {"name", group}}));
        plant(context, kGroup, "clusterrolebindings", "", std::move(object));
    };
    Value everything = rule(words({"*"}), words({"*"}), words({"*"}));
    Value urls = Value::object({{"verbs", words({"*"})}, {"nonResourceURLs", words({"*"})}});
    role("cluster-admin", Value(Value::Array{everything, urls}));
    const Value groups = words({"", "apps", "batch", "autoscaling", "policy", "networking.k8s.io"});
    role("view", Value(Value::Array{rule(words({"get", "list", "watch"}), groups,
                                         words({"pods",
                                                "pods/log",
                                                "pods/status",
                                                "configmaps",
                                                "services",
                                                "endpoints",
                                                "events",
                                                "namespaces",
                                                "persistentvolumeclaims",
                                                "resourcequotas",
                                                "limitranges",
                                                "serviceaccounts",
                                                "deployments",
                                                "daemonsets",
                                                "statefulsets",
                                                "replicasets",
                                                "jobs",
                                                "cronjobs",
                                                "horizontalpodautoscalers",
                                                "poddisruptionbudgets",
                                                "networkpolicies"}))}));
    const Value all_verbs =
        words({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
    role("edit", Value(Value::Array{rule(all_verbs, groups, words({"*"}))}));
    role("admin", Value(Value::Array{rule(all_verbs, groups, words({"*"})),
                                     rule(all_verbs, words({"rbac.authorization.k8s.io"}),
                                          words({"roles", "rolebindings"}))}));
    role("system:basic-user",
         Value(Value::Array{rule(words({"create"}),
                                 words({"authorization.k8s.io", "authentication.k8s.io"}),
                                 words({"selfsubjectaccessreviews", "selfsubjectrulesreviews",
                                        "selfsubjectreviews"}))}));
    role("system:auth-delegator",
         Value(Value::Array{rule(words({"create"}),
                                 words({"authorization.k8s.io", "authentication.k8s.io"}),
                                 words({"subjectaccessreviews", "tokenreviews"}))}));
    bind("cluster-admin", "system:masters");
    bind("system:basic-user", "system:authenticated");
}

void plant_service(ServerContext& context) {
    Value object = named("kubernetes");
    object["spec"]["clusterIP"] = "10.0.0.1";
    object["metadata"]["labels"] =
        Value::object({{"component", "apiserver"}, {"provider", "kubernetes"}});
    object["spec"]["ports"].push(
        Value::object({{"name", "https"}, {"port", 443}, {"targetPort", 6443}}));
    plant(context, "", "services", "default", std::move(object));
}

}  // namespace

void plant_first_objects(ServerContext& context) {
    for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
        plant(context, "", "namespaces", "", named(name));
    }
    for (const bool node : {false, true}) {
        Value object = named(node ? "system-node-critical" : "system-cluster-critical");
        object["value"] = node ? 2000001000 : 2000000000;
        object["description"] = "for pods that a cluster cannot do without";
        plant(context, "scheduling.k8s.io", "priorityclasses", "", std::move(object));
    }
    plant_roles(context);
    plant_service(context);
}

}  // namespace aliquot::sim::apiserver
