// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/pod_security.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";

/// "baseline:latest": how messages name a namespace's level.
struct Policy {
    std::string level, version;
    [[nodiscard]] std::string text() const { return level + ":" + version; }
};

Policy policy_of(const Value& labels, std::string_view mode) {
    const std::string& level = labels.at(std::string(kPrefix) + std::string(mode)).text();
    const std::string& version =
        labels.at(std::string(kPrefix) + std::string(mode) + "-version").text();
    return {level.empty() ? "privileged" : level, version.empty() ? "latest" : version};
}

struct Template {
    const Value& metadata;
    const Value& spec;
};

Template template_of(const Call& call, const Value& object) {
    std::string path;
    if (call.resource->storage == "batch/cronjobs") path = "spec.jobTemplate.spec.template";
    for (const char* storage : {"apps/deployments", "apps/daemonsets", "apps/statefulsets",
                                "apps/replicasets", "batch/jobs", "/replicationcontrollers"}) {
        if (call.resource->storage == storage) path = "spec.template";
    }
    if (call.resource->storage == "/podtemplates") path = "template";
    const Value& found = path.empty() ? object : object.at_path(path);
    return {found.at("metadata"), found.at("spec")};
}

bool is_version(std::string_view text) {
    return text == "latest" || (text.starts_with("v1.") && text.size() > 3 &&
                                parse_number<std::int64_t>(text.substr(3)).value_or(-1) >= 0);
}

}  // namespace

Outcome<Done> check_pod_security(Call& call, const Value& object, const Value& old) {
    if (!call.resource->namespaced) return Done{};
    const bool pod = call.resource->storage == "/pods";
    // Of a pod's parts only these can change for the worse.
    const std::string sub = call.subresource == nullptr ? "" : call.subresource->name;
    if (!sub.empty() && (!pod || sub != "ephemeralcontainers")) return Done{};
    const Template made = template_of(call, object);
    if (!made.spec.is_object() || (!pod && &made.spec == &object.at("spec"))) return Done{};
    if (!old.is_null() && template_of(call, old).spec == made.spec) return Done{};
    const EntryPtr space = call.context.store.get("/namespaces", call.name_space);
    if (space == nullptr) return Done{};
    const Value& labels = space->object.at_path("metadata.labels");

    const auto violations = [&](const Policy& policy) {
        return join(against_standard(policy.level, made.metadata, made.spec), ", ");
    };
    if (const Policy enforced = policy_of(labels, "enforce"); pod) {
        const std::string found = violations(enforced);
        if (!found.empty()) {
            return forbidden("pods", "", call.name,
                             "violates PodSecurity \"" + enforced.text() + "\": " + found);
        }
    }
    const Policy warned = policy_of(labels, "warn");
    const std::string found = violations(warned);
    if (!found.empty()) {
        call.warnings.push_back("would violate PodSecurity \"" + warned.text() + "\": " + found);
    }
    return Done{};
}

void validate_pod_security_labels(std::vector<Cause>& causes, const Value& labels) {
    for (const Member& label : labels.members()) {
        if (!label.name.starts_with(kPrefix)) continue;
        const std::string mode = label.name.substr(kPrefix.size());
        const std::string& text = label.value.text();
        const std::string field = "metadata.labels[" + label.name + "]";
        if (mode == "enforce" || mode == "audit" || mode == "warn") {
            if (text == "privileged" || text == "baseline" || text == "restricted") continue;
            causes.push_back(
                invalid_value(field, text, "must be one of privileged, baseline, restricted"));
        } else if (mode.ends_with("-version") && !is_version(text)) {
            causes.push_back(invalid_value(field, text, "must be \"latest\" or \"v1.x\""));
        }
    }
}

}  // namespace aliquot::sim::apiserver
