// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/discovery.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::sim::apiserver {

namespace {

Value texts(const std::vector<std::string>& words) {
    Value list = Value::array();
    for (const std::string& word : words) list.push(word);
    return list;
}

/// Groups in the order they are first seen, the core group left out; versions likewise.
struct Group {
    std::string name;
    std::vector<std::string> versions;
};

std::vector<Group> groups_of(const std::vector<ResourcePtr>& resources) {
    std::vector<Group> groups;
    for (const ResourcePtr& one : resources) {
        if (one->group.empty()) continue;
        auto group = std::ranges::find(groups, one->group, &Group::name);
        if (group == groups.end()) {
            groups.push_back({one->group, {}});
            group = groups.end() - 1;
        }
        if (std::ranges::find(group->versions, one->version) == group->versions.end()) {
            group->versions.push_back(one->version);
        }
    }
    return groups;
}

Value to_group(const Group& group) {
    Value versions = Value::array();
    for (const std::string& version : group.versions) {
        versions.push(
            Value::object({{"groupVersion", group.name + "/" + version}, {"version", version}}));
    }
    const Value preferred = versions.items().front();
    return Value::object(
        {{"name", group.name}, {"versions", std::move(versions)}, {"preferredVersion", preferred}});
}

Value to_api_resource(const Resource& one) {
    Value made = Value::object({{"name", one.name},
                                {"singularName", one.singular},
                                {"namespaced", one.namespaced},
                                {"kind", one.kind},
                                {"verbs", texts(one.verbs)}});
    if (!one.short_names.empty()) made["shortNames"] = texts(one.short_names);
    if (!one.categories.empty()) made["categories"] = texts(one.categories);
    return made;
}

Value to_api_subresource(const Resource& one, const Subresource& sub) {
    Value made = Value::object({{"name", one.name + "/" + sub.name},
                                {"singularName", ""},
                                {"namespaced", one.namespaced},
                                {"kind", sub.kind},
                                {"verbs", texts(sub.verbs)}});
    if (sub.group != one.group) {
        made["group"] = sub.group;
        made["version"] = sub.version;
    }
    return made;
}

HttpAnswer resource_list(const ServerContext& context, const std::string& group,
                         const std::string& version) {
    Value list = Value::array();
    for (const ResourcePtr& one : context.resources.all()) {
        if (one->group != group || one->version != version) continue;
        list.push(to_api_resource(*one));
        for (const Subresource& sub : one->subresources) list.push(to_api_subresource(*one, sub));
    }
    if (list.items().empty()) return answer_failure(page_not_found());
    return answer_value(
        Value::object({{"kind", "APIResourceList"},
                       {"apiVersion", "v1"},
                       {"groupVersion", group.empty() ? version : group + "/" + version},
                       {"resources", std::move(list)}}));
}

Value kind_reference(const std::string& group, const std::string& version,
                     const std::string& kind) {
    return Value::object({{"group", group}, {"version", version}, {"kind", kind}});
}

Value to_discovered(const Resource& one) {
    Value made = Value::object({{"resource", one.name},
                                {"responseKind", kind_reference(one.group, one.version, one.kind)},
                                {"scope", one.namespaced ? "Namespaced" : "Cluster"},
                                {"singularResource", one.singular},
                                {"verbs", texts(one.verbs)}});
    if (!one.short_names.empty()) made["shortNames"] = texts(one.short_names);
    if (!one.categories.empty()) made["categories"] = texts(one.categories);
    for (const Subresource& sub : one.subresources) {
        made["subresources"].push(
            Value::object({{"subresource", sub.name},
                           {"responseKind", kind_reference(sub.group, sub.version, sub.kind)},
                           {"verbs", texts(sub.verbs)}}));
    }
    return made;
}

Value to_discovered_version(const std::vector<ResourcePtr>& all, const std::string& group,
                            const std::string& version) {
    Value list = Value::array();
    for (const ResourcePtr& one : all) {
        if (one->group == group && one->version == version) list.push(to_discovered(*one));
    }
    return Value::object(
        {{"version", version}, {"resources", std::move(list)}, {"freshness", "Current"}});
}

/// All groups with all resources at once.
HttpAnswer aggregated(const ServerContext& context, bool core) {
    const std::vector<ResourcePtr> all = context.resources.all();
    Value items = Value::array();
    if (core) {
        Value group = Value::object({{"metadata", Value::object()}});
        group["versions"].push(to_discovered_version(all, "", "v1"));
        items.push(std::move(group));
    } else {
        for (const Group& group : groups_of(all)) {
            Value made = Value::object({{"metadata", Value::object({{"name", group.name}})}});
            for (const std::string& version : group.versions) {
                made["versions"].push(to_discovered_version(all, group.name, version));
            }
            items.push(std::move(made));
        }
    }
    HttpAnswer answer = answer_value(Value::object({{"kind", "APIGroupDiscoveryList"},
                                                    {"apiVersion", "apidiscovery.k8s.io/v2"},
                                                    {"metadata", Value::object()},
                                                    {"items", std::move(items)}}));
    answer.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    return answer;
}

bool wants_aggregated(const HttpRequest& request) {
    const std::string_view accept = request.header("accept");
    return accept.find("as=APIGroupDiscoveryList") != std::string_view::npos &&
           accept.find("v=v2;") != std::string_view::npos;
}

HttpAnswer groups(const ServerContext& context) {
    Value list = Value::array();
    for (const Group& group : groups_of(context.resources.all())) list.push(to_group(group));
    return answer_value(Value::object(
        {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}}));
}

HttpAnswer one_group(const ServerContext& context, const std::string& name) {
    for (const Group& group : groups_of(context.resources.all())) {
        if (group.name != name) continue;
        Value made = to_group(group);
        made["kind"] = "APIGroup";
        made["apiVersion"] = "v1";
        return answer_value(made);
    }
    return answer_failure(page_not_found());
}

HttpAnswer version_of(const ServerContext& context) {
    const std::string& text = context.options.version;
    const std::vector<std::string_view> parts = split_list(std::string_view(text).substr(1), '.');
    return answer_value(
        Value::object({{"major", parts.empty() ? std::string_view("1") : parts[0]},
                       {"minor", parts.size() < 2 ? std::string_view("36") : parts[1]},
                       {"gitVersion", text},
                       {"gitCommit", "simulated"},
                       {"gitTreeState", "clean"},
                       {"buildDate", "1970-01-01T00:00:00Z"},
                       {"goVersion", "none"},
                       {"compiler", "none"},
                       {"platform", "linux/amd64"}}));
}

HttpAnswer plain(std::string body, int status = 200) {
    HttpAnswer answer;
    answer.status = status;
    answer.content_type = "text/plain; charset=utf-8";
    answer.body = std::move(body);
    return answer;
}

HttpAnswer health(const HttpRequest& request) {
    if (!request.has_parameter("verbose")) return plain("ok");
    return plain("[+]ping ok\n[+]log ok\n[+]etcd ok\n" + request.segments[0] + " check passed\n");
}

}  // namespace

HttpAnswer answer_discovery(ServerContext& context, const HttpRequest& request) {
    if (request.method != "GET" && request.method != "HEAD") {
        return answer_failure(method_not_allowed());
    }
    const auto& parts = request.segments;
    const std::string first = parts.empty() ? "" : parts[0];
    if (first == "healthz" || first == "livez" || first == "readyz") return health(request);
    if (first == "version" && parts.size() == 1) return version_of(context);
    if (first == "openapi") return answer_openapi(context, request);
    if (first == "api" && parts.size() == 1) {
        if (wants_aggregated(request)) return aggregated(context, true);
        Value versions = Value::array();
        versions.push("v1");
        return answer_value(Value::object(
            {{"kind", "APIVersions"},
             {"versions", std::move(versions)},
             {"serverAddressByClientCIDRs",
              Value(Value::Array{Value::object(
                  {{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", "127.0.0.1"}})})}}));
    }
    if (first == "api" && parts.size() == 2) return resource_list(context, "", parts[1]);
    if (first == "apis" && parts.size() == 1) {
        return wants_aggregated(request) ? aggregated(context, false) : groups(context);
    }
    if (first == "apis" && parts.size() == 2) return one_group(context, parts[1]);
    if (first == "apis" && parts.size() == 3) return resource_list(context, parts[1], parts[2]);
    if (parts.empty()) {
        Value paths = Value::array();
        for (const char* path : {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3",
                                 "/readyz", "/version"}) {
            paths.push(path);
        }
        return answer_value(Value::object({{"paths", std::move(paths)}}));
    }
    return plain("404 page not found\n", 404);
}

}  // namespace aliquot::sim::apiserver
