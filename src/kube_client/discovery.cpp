// SPDX-License-Identifier: Apache-2.0
#include "kube_client/discovery.h"

#include <simdjson.h>

#include <algorithm>

namespace aliquot::kube_client {
namespace {

using simdjson::SUCCESS;

constexpr std::size_t kMostKinds = 10'000;

std::string text_field(simdjson::dom::element element, const char* name) {
    std::string_view text;
    if (element[name].get(text) != SUCCESS) return {};
    return std::string(text);
}

Failure malformed(std::string_view what) {
    return {.reason = Reason::kMalformed, .message = "discovery: " + std::string(what)};
}

}  // namespace

const Resource* Api::Discovered::find(std::string_view name) const {
    const auto found = std::ranges::find_if(kinds, [&](const DiscoveredKind& kind) {
        return kind.resource.kind == name || kind.resource.plural == name ||
               kind.singular == name || std::ranges::count(kind.short_names, name) > 0;
    });
    return found == kinds.end() ? nullptr : &found->resource;
}

Outcome<std::vector<DiscoveredKind>> read_kinds(std::string_view body,
                                                std::string_view api_version) {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    simdjson::dom::array entries;
    if (parser.parse(body.data(), body.size()).get(root) != SUCCESS ||
        root["resources"].get(entries) != SUCCESS) {
        return malformed("the answer for " + std::string(api_version) + " is no APIResourceList");
    }
    const auto slash = api_version.find('/');
    const bool core = slash == std::string_view::npos;
    std::vector<DiscoveredKind> kinds;
    for (const auto entry : entries) {
        DiscoveredKind kind;
        kind.resource.plural = text_field(entry, "name");
        if (kind.resource.plural.contains('/')) continue;  // a subresource
        if (kinds.size() == kMostKinds) return malformed("more than 10000 kinds in one group");
        kind.resource.group = core ? "" : std::string(api_version.substr(0, slash));
        kind.resource.version = std::string(core ? api_version : api_version.substr(slash + 1));
        kind.resource.kind = text_field(entry, "kind");
        bool namespaced = false;
        if (entry["namespaced"].get(namespaced) == SUCCESS) kind.resource.namespaced = namespaced;
        kind.singular = text_field(entry, "singularName");
        simdjson::dom::array names;
        if (entry["shortNames"].get(names) == SUCCESS) {
            for (const auto name : names) {
                std::string_view text;
                if (name.get(text) == SUCCESS) kind.short_names.emplace_back(text);
            }
        }
        kinds.push_back(std::move(kind));
    }
    return kinds;
}

Outcome<std::vector<std::string>> read_preferred_versions(std::string_view body) {
    constexpr std::size_t kMostGroups = 1000;
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    simdjson::dom::array groups;
    if (parser.parse(body.data(), body.size()).get(root) != SUCCESS ||
        root["groups"].get(groups) != SUCCESS) {
        return malformed("the answer for /apis is no APIGroupList");
    }
    std::vector<std::string> versions;
    for (const auto group : groups) {
        simdjson::dom::element preferred;
        if (group["preferredVersion"].get(preferred) != SUCCESS) continue;
        std::string version = text_field(preferred, "groupVersion");
        if (!version.empty() && versions.size() < kMostGroups)
            versions.push_back(std::move(version));
    }
    return versions;
}

}  // namespace aliquot::kube_client
