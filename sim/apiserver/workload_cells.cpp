// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "base/time_text.h"
#include "sim/apiserver/cells.h"
#include "sim/apiserver/table.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

std::string age(const Value& object) {
    return age_since(object.at_path("metadata.creationTimestamp").text());
}

std::string or_none(const std::string& content) { return content.empty() ? "<none>" : content; }

std::string spell(const Value& value) {
    return value.is_string() ? value.text() : value.is_null() ? "" : to_json(value);
}

std::string selector_text(const Value& selector) {
    std::vector<std::string> terms;
    for (const Member& label : selector.at("matchLabels").members()) {
        terms.push_back(label.name + "=" + label.value.text());
    }
    return or_none(join(terms, ","));
}

std::string label_text(const Value& labels) {
    std::vector<std::string> terms;
    for (const Member& label : labels.members())
        terms.push_back(label.name + "=" + label.value.text());
    return or_none(join(terms, ","));
}

namespace {

std::string listed(const Value& pod_spec, std::string_view field) {
    std::vector<std::string> words;
    for (const Value& one : pod_spec.at("containers").items())
        words.push_back(one.at(field).text());
    return join(words, ",");
}

std::string pod_reason(const Value& pod) {
    const Value& status = pod.at("status");
    std::string reason =
        status.at("reason").is_null() ? status.at("phase").text() : status.at("reason").text();
    for (const Value& condition : status.at("conditions").items()) {
        if (condition.at("type").text() == "PodScheduled" &&
            condition.at("reason").text() == "SchedulingGated") {
            reason = "SchedulingGated";
        }
    }
    for (const Value& one : status.at("containerStatuses").items()) {
        const std::string& waiting = one.at_path("state.waiting.reason").text();
        const std::string& ended = one.at_path("state.terminated.reason").text();
        if (!waiting.empty()) {
            reason = waiting;
        } else if (!ended.empty()) {
            reason = ended;
        } else if (one.at_path("state.terminated").is_object()) {
            const std::int64_t signal = one.at_path("state.terminated.signal").integer();
            reason = signal != 0
                         ? "Signal:" + std::to_string(signal)
                         : "ExitCode:" +
                               std::to_string(one.at_path("state.terminated.exitCode").integer());
        }
    }
    if (!pod.at_path("metadata.deletionTimestamp").is_null()) {
        return status.at("reason").text() == "NodeLost" ? "Unknown" : "Terminating";
    }
    return reason;
}

std::string node_roles(const Value& node) {
    std::vector<std::string> roles;
    static constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
    for (const Member& label : node.at_path("metadata.labels").members()) {
        if (label.name.starts_with(kPrefix)) {
            roles.push_back(label.name.substr(kPrefix.size()));
        } else if (label.name == "kubernetes.io/role" && !label.value.text().empty()) {
            roles.push_back(label.value.text());
        }
    }
    return or_none(join(roles, ","));
}

std::string node_address(const Value& node, std::string_view type) {
    for (const Value& one : node.at_path("status.addresses").items()) {
        if (one.at("type").text() == type) return one.at("address").text();
    }
    return "<none>";
}

std::string job_status(const Value& job) {
    std::string status = "Running";
    for (const Value& condition : job.at_path("status.conditions").items()) {
        if (condition.at("status").text() != "True") continue;
        const std::string& type = condition.at("type").text();
        if (type == "Complete" || type == "Failed" || type == "Suspended" ||
            type == "FailureTarget" || type == "SuccessCriteriaMet") {
            status = type;
        }
    }
    return job.at_path("metadata.deletionTimestamp").is_null() ? status : "Terminating";
}

}  // namespace

Cells pod_cells(const Value& pod) {
    std::int64_t ready = 0;
    std::int64_t restarts = 0;
    for (const Value& one : pod.at_path("status.containerStatuses").items()) {
        ready += one.at("ready").boolean() ? 1 : 0;
        restarts += one.at("restartCount").integer();
    }
    std::int64_t gates = 0;
    std::int64_t open = 0;
    for (const Value& gate : pod.at_path("spec.readinessGates").items()) {
        ++gates;
        for (const Value& one : pod.at_path("status.conditions").items()) {
            open += one.at("type") == gate.at("conditionType") && one.at("status").text() == "True"
                        ? 1
                        : 0;
        }
    }
    return {std::to_string(ready) + "/" + std::to_string(pod.at_path("spec.containers").size()),
            pod_reason(pod),
            std::to_string(restarts),
            age(pod),
            or_none(pod.at_path("status.podIP").text()),
            or_none(pod.at_path("spec.nodeName").text()),
            or_none(pod.at_path("status.nominatedNodeName").text()),
            gates == 0 ? "<none>" : std::to_string(open) + "/" + std::to_string(gates)};
}

Cells node_cells(const Value& node) {
    std::string status = "Unknown";
    for (const Value& one : node.at_path("status.conditions").items()) {
        if (one.at("type").text() == "Ready") {
            status = one.at("status").text() == "True" ? "Ready" : "NotReady";
        }
    }
    if (node.at_path("spec.unschedulable").boolean()) status += ",SchedulingDisabled";
    const auto info = [&](const char* field) {
        const std::string& found = node.at_path("status.nodeInfo").at(field).text();
        return found.empty() ? std::string("<unknown>") : found;
    };
    return {status,
            node_roles(node),
            age(node),
            node.at_path("status.nodeInfo.kubeletVersion").text(),
            node_address(node, "InternalIP"),
            node_address(node, "ExternalIP"),
            info("osImage"),
            info("kernelVersion"),
            info("containerRuntimeVersion")};
}

Cells deployment_cells(const Value& one) {
    const Value& spec = one.at_path("spec.template.spec");
    return {std::to_string(one.at_path("status.readyReplicas").integer()) + "/" +
                std::to_string(one.at_path("spec.replicas").integer()),
            one.at_path("status.updatedReplicas").integer(),
            one.at_path("status.availableReplicas").integer(),
            age(one),
            listed(spec, "name"),
            listed(spec, "image"),
            selector_text(one.at_path("spec.selector"))};
}

Cells daemon_set_cells(const Value& one) {
    const Value& status = one.at("status");
    const Value& spec = one.at_path("spec.template.spec");
    return {status.at("desiredNumberScheduled").integer(),
            status.at("currentNumberScheduled").integer(),
            status.at("numberReady").integer(),
            status.at("updatedNumberScheduled").integer(),
            status.at("numberAvailable").integer(),
            label_text(spec.at("nodeSelector")),
            age(one),
            listed(spec, "name"),
            listed(spec, "image"),
            selector_text(one.at_path("spec.selector"))};
}

Cells stateful_set_cells(const Value& one) {
    const Value& spec = one.at_path("spec.template.spec");
    return {std::to_string(one.at_path("status.readyReplicas").integer()) + "/" +
                std::to_string(one.at_path("spec.replicas").integer()),
            age(one), listed(spec, "name"), listed(spec, "image")};
}

Cells replica_set_cells(const Value& one) {
    const Value& spec = one.at_path("spec.template.spec");
    return {one.at_path("spec.replicas").integer(),
            one.at_path("status.replicas").integer(),
            one.at_path("status.readyReplicas").integer(),
            age(one),
            listed(spec, "name"),
            listed(spec, "image"),
            selector_text(one.at_path("spec.selector"))};
}

Cells job_cells(const Value& job) {
    const Value& wanted = job.at_path("spec.completions");
    const std::string done = std::to_string(job.at_path("status.succeeded").integer());
    std::string duration;
    const auto start = parse_rfc3339(job.at_path("status.startTime").text());
    if (start) {
        const auto end = parse_rfc3339(job.at_path("status.completionTime").text())
                             .value_or(std::chrono::system_clock::now());
        duration = format_age(std::chrono::duration_cast<std::chrono::seconds>(end - *start));
    }
    const Value& spec = job.at_path("spec.template.spec");
    return {job_status(job),
            wanted.is_null() ? done + "/1 of " + spell(job.at_path("spec.parallelism"))
                             : done + "/" + spell(wanted),
            duration,
            age(job),
            listed(spec, "name"),
            listed(spec, "image"),
            selector_text(job.at_path("spec.selector"))};
}

Cells cron_job_cells(const Value& one) {
    const std::string& last = one.at_path("status.lastScheduleTime").text();
    const std::string& zone = one.at_path("spec.timeZone").text();
    const Value& spec = one.at_path("spec.jobTemplate.spec.template.spec");
    return {one.at_path("spec.schedule"),
            or_none(zone),
            one.at_path("spec.suspend").boolean() ? "True" : "False",
            static_cast<std::int64_t>(one.at_path("status.active").size()),
            last.empty() ? "<none>" : age_since(last),
            age(one),
            listed(spec, "name"),
            listed(spec, "image"),
            selector_text(one.at_path("spec.jobTemplate.spec.selector"))};
}

}  // namespace aliquot::sim::apiserver
