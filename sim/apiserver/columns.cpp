// SPDX-License-Identifier: Apache-2.0
// What kubectl get shows of the built-in kinds.
#include <functional>
#include <map>

#include "base/text.h"
#include "sim/apiserver/cells.h"
#include "sim/apiserver/table.h"

namespace aliquot::sim::apiserver {

namespace {

struct Layout {
    std::vector<Column> columns;
    std::function<Cells(const Value&)> cells;
};

Column text(std::string name, std::int64_t priority = 0) {
    return {std::move(name), "string", "", "", priority};
}
Column number(std::string name, std::int64_t priority = 0) {
    return {std::move(name), "integer", "", "", priority};
}

Cells service_cells(const Value& one) {
    std::vector<std::string> ports;
    for (const Value& port : one.at_path("spec.ports").items()) {
        std::string word = std::to_string(port.at("port").integer());
        if (port.at("nodePort").integer() != 0) {
            word += ":" + std::to_string(port.at("nodePort").integer());
        }
        ports.push_back(word + "/" + port.at("protocol").text());
    }
    const std::string& type = one.at_path("spec.type").text();
    return {type,
            or_none(one.at_path("spec.clusterIP").text()),
            type == "LoadBalancer" ? "<pending>" : "<none>",
            or_none(join(ports, ",")),
            age(one),
            label_text(one.at_path("spec.selector"))};
}

Cells event_cells(const Value& one) {
    const bool new_api = one.find("regarding") != nullptr;
    const Value& about = one.at(new_api ? "regarding" : "involvedObject");
    std::string last = one.at(new_api ? "deprecatedLastTimestamp" : "lastTimestamp").text();
    if (last.empty()) last = one.at_path("series.lastObservedTime").text();
    if (last.empty()) last = one.at("eventTime").text();
    std::string first = one.at(new_api ? "deprecatedFirstTimestamp" : "firstTimestamp").text();
    if (first.empty()) first = one.at("eventTime").text();
    std::int64_t count = one.at(new_api ? "deprecatedCount" : "count").integer();
    if (count == 0) count = one.at_path("series.count").integer(1);
    std::string source = one.at(new_api ? "deprecatedSource" : "source").at("component").text();
    if (source.empty()) {
        source = one.at(new_api ? "reportingController" : "reportingComponent").text();
    }
    return {age_since(last),
            one.at("type"),
            one.at("reason"),
            lower(about.at("kind").text()) + "/" + about.at("name").text(),
            about.at("fieldPath").text(),
            source,
            std::string(trim(one.at(new_api ? "note" : "message").text())),
            age_since(first),
            count,
            one.at_path("metadata.name")};
}

Cells autoscaler_cells(const Value& one) {
    std::vector<std::string> targets;
    const auto& metrics = one.at_path("spec.metrics").items();
    const auto& current = one.at_path("status.currentMetrics").items();
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        const Value& target = metrics[i].at_path("resource.target.averageUtilization");
        if (target.is_null()) {
            targets.emplace_back("<unknown>");
            continue;
        }
        const Value now = i < current.size()
                              ? current[i].at_path("resource.current.averageUtilization")
                              : Value();
        targets.push_back(metrics[i].at_path("resource.name").text() + ": " +
                          (now.is_null() ? "<unknown>" : spell(now) + "%") + "/" + spell(target) +
                          "%");
    }
    const Value& least = one.at_path("spec.minReplicas");
    return {one.at_path("spec.scaleTargetRef.kind").text() + "/" +
                one.at_path("spec.scaleTargetRef.name").text(),
            or_none(join(targets, ", ")),
            least.is_null() ? "<unset>" : spell(least),
            one.at_path("spec.maxReplicas").integer(),
            one.at_path("status.currentReplicas").integer(),
            age(one)};
}

Cells budget_cells(const Value& one) {
    const auto shown = [&](const char* path) {
        const std::string found = spell(one.at_path(path));
        return found.empty() ? std::string("N/A") : found;
    };
    return {shown("spec.minAvailable"), shown("spec.maxUnavailable"),
            one.at_path("status.disruptionsAllowed").integer(), age(one)};
}

Cells claim_cells(const Value& one) {
    std::vector<std::string> modes;
    for (const Value& mode : one.at_path("status.accessModes").items()) {
        const std::string& word = mode.text();
        modes.emplace_back(word == "ReadWriteOnce"   ? "RWO"
                           : word == "ReadOnlyMany"  ? "ROX"
                           : word == "ReadWriteMany" ? "RWX"
                                                     : "RWOP");
    }
    const std::string& volume = one.at_path("spec.volumeName").text();
    return {one.at_path("metadata.deletionTimestamp").is_null() ? one.at_path("status.phase")
                                                                : Value("Terminating"),
            volume,
            volume.empty() ? "" : one.at_path("status.capacity.storage").text(),
            join(modes, ","),
            one.at_path("spec.storageClassName").text(),
            "<unset>",
            age(one),
            one.at_path("spec.volumeMode").text()};
}

Cells quota_cells(const Value& one) {
    std::vector<std::string> requests;
    std::vector<std::string> limits;
    for (const Member& hard : one.at_path("status.hard").members()) {
        const std::string word = hard.name + ": " +
                                 one.at_path("status.used").at(hard.name).text() + "/" +
                                 hard.value.text();
        (hard.name.starts_with("limits.") ? limits : requests).push_back(word);
    }
    return {join(requests, ", "), join(limits, ", "), age(one)};
}

Cells binding_cells(const Value& one) {
    std::vector<std::string> users;
    std::vector<std::string> groups;
    std::vector<std::string> accounts;
    for (const Value& subject : one.at("subjects").items()) {
        const std::string& kind = subject.at("kind").text();
        const std::string& name = subject.at("name").text();
        if (kind == "User") users.push_back(name);
        if (kind == "Group") groups.push_back(name);
        if (kind == "ServiceAccount")
            accounts.push_back(subject.at("namespace").text() + "/" + name);
    }
    return {one.at_path("roleRef.kind").text() + "/" + one.at_path("roleRef.name").text(), age(one),
            join(users, ", "), join(groups, ", "), join(accounts, ", ")};
}

const std::map<std::string_view, Layout>& layouts() {
    static const std::map<std::string_view, Layout> kLayouts = {
        {"/pods",
         {{text("Ready"), text("Status"), text("Restarts"), text("Age"), text("IP", 1),
           text("Node", 1), text("Nominated Node", 1), text("Readiness Gates", 1)},
          pod_cells}},
        {"/nodes",
         {{text("Status"), text("Roles"), text("Age"), text("Version"), text("Internal-IP", 1),
           text("External-IP", 1), text("OS-Image", 1), text("Kernel-Version", 1),
           text("Container-Runtime", 1)},
          node_cells}},
        {"apps/deployments",
         {{text("Ready"), number("Up-to-date"), number("Available"), text("Age"),
           text("Containers", 1), text("Images", 1), text("Selector", 1)},
          deployment_cells}},
        {"apps/daemonsets",
         {{number("Desired"), number("Current"), number("Ready"), number("Up-to-date"),
           number("Available"), text("Node Selector"), text("Age"), text("Containers", 1),
           text("Images", 1), text("Selector", 1)},
          daemon_set_cells}},
        {"apps/statefulsets",
         {{text("Ready"), text("Age"), text("Containers", 1), text("Images", 1)},
          stateful_set_cells}},
        {"apps/replicasets",
         {{number("Desired"), number("Current"), number("Ready"), text("Age"),
           text("Containers", 1), text("Images", 1), text("Selector", 1)},
          replica_set_cells}},
        {"batch/jobs",
         {{text("Status"), text("Completions"), text("Duration"), text("Age"),
           text("Containers", 1), text("Images", 1), text("Selector", 1)},
          job_cells}},
        {"batch/cronjobs",
         {{text("Schedule"), text("Timezone"), text("Suspend"), number("Active"),
           text("Last Schedule"), text("Age"), text("Containers", 1), text("Images", 1),
           text("Selector", 1)},
          cron_job_cells}},
        {"/services",
         {{text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), text("Age"),
           text("Selector", 1)},
          service_cells}},
        {"/events",
         {{text("Last Seen"), text("Type"), text("Reason"), text("Object"), text("Subobject", 1),
           text("Source", 1), text("Message"), text("First Seen", 1), text("Count", 1),
           text("Name", 1)},
          event_cells}},
        {"autoscaling/horizontalpodautoscalers",
         {{text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"),
           text("Age")},
          autoscaler_cells}},
        {"policy/poddisruptionbudgets",
         {{text("Min Available"), text("Max Unavailable"), number("Allowed Disruptions"),
           text("Age")},
          budget_cells}},
        {"/persistentvolumeclaims",
         {{text("Status"), text("Volume"), text("Capacity"), text("Access Modes"),
           text("StorageClass"), text("VolumeAttributesClass"), text("Age"), text("VolumeMode", 1)},
          claim_cells}},
        {"/resourcequotas", {{text("Request"), text("Limit"), text("Age")}, quota_cells}},
        {"/namespaces",
         {{text("Status"), text("Age")},
          [](const Value& one) -> Cells {
              return {one.at_path("status.phase"), age(one)};
          }}},
        {"/configmaps",
         {{text("Data"), text("Age")},
          [](const Value& one) -> Cells {
              return {
                  static_cast<std::int64_t>(one.at("data").size() + one.at("binaryData").size()),
                  age(one)};
          }}},
        {"/secrets",
         {{text("Type"), text("Data"), text("Age")},
          [](const Value& one) -> Cells {
              return {one.at("type"), static_cast<std::int64_t>(one.at("data").size()), age(one)};
          }}},
        {"coordination.k8s.io/leases",
         {{text("Holder"), text("Age")},
          [](const Value& one) -> Cells {
              return {one.at_path("spec.holderIdentity").text(), age(one)};
          }}},
        {"node.k8s.io/runtimeclasses",
         {{text("Handler"), text("Age")},
          [](const Value& one) -> Cells {
              return {one.at("handler"), age(one)};
          }}},
        {"scheduling.k8s.io/priorityclasses",
         {{text("Value"), text("Global-Default"), text("Age"), text("PreemptionPolicy")},
          [](const Value& one) -> Cells {
              return {one.at("value"), one.at("globalDefault").boolean(), age(one),
                      one.at("preemptionPolicy")};
          }}},
        {"rbac.authorization.k8s.io/rolebindings",
         {{text("Role"), text("Age"), text("Users", 1), text("Groups", 1),
           text("ServiceAccounts", 1)},
          binding_cells}},
        {"rbac.authorization.k8s.io/clusterrolebindings",
         {{text("Role"), text("Age"), text("Users", 1), text("Groups", 1),
           text("ServiceAccounts", 1)},
          binding_cells}},
        {"networking.k8s.io/networkpolicies",
         {{text("Pod-Selector"), text("Age")}, [](const Value& one) -> Cells {
              return {selector_text(one.at_path("spec.podSelector")), age(one)};
          }}}};
    return kLayouts;
}

bool shows_creation(const Resource& resource) {
    return resource.name == "clusterroles" || resource.name == "roles" ||
           resource.name == "customresourcedefinitions" || resource.name == "limitranges";
}

}  // namespace

std::vector<Column> built_in_columns(const Resource& resource) {
    const auto found = layouts().find(resource.storage);
    if (found != layouts().end()) return found->second.columns;
    return {text(shows_creation(resource) ? "Created At" : "Age")};
}

std::vector<Value> built_in_cells(const Resource& resource, const Value& object) {
    const auto found = layouts().find(resource.storage);
    if (found != layouts().end()) return found->second.cells(object);
    if (shows_creation(resource)) return {object.at_path("metadata.creationTimestamp")};
    return {age(object)};
}

}  // namespace aliquot::sim::apiserver
