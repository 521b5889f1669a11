// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/pod_spec.h"

#include <array>
#include <set>

#include "k8s/names.h"
#include "sim/cluster/affinity.h"
#include "sim/cluster/resource_requests.h"

namespace aliquot::sim::cluster {
namespace {

using document::Value;

constexpr auto kPodFields = std::to_array<std::string_view>({"activeDeadlineSeconds",
                                                             "affinity",
                                                             "automountServiceAccountToken",
                                                             "containers",
                                                             "dnsConfig",
                                                             "dnsPolicy",
                                                             "enableServiceLinks",
                                                             "ephemeralContainers",
                                                             "hostAliases",
                                                             "hostIPC",
                                                             "hostNetwork",
                                                             "hostPID",
                                                             "hostUsers",
                                                             "hostname",
                                                             "hostnameOverride",
                                                             "imagePullSecrets",
                                                             "initContainers",
                                                             "nodeName",
                                                             "nodeSelector",
                                                             "os",
                                                             "overhead",
                                                             "preemptionPolicy",
                                                             "priority",
                                                             "priorityClassName",
                                                             "readinessGates",
                                                             "resourceClaims",
                                                             "resources",
                                                             "restartPolicy",
                                                             "runtimeClassName",
                                                             "schedulerName",
                                                             "schedulingGates",
                                                             "securityContext",
                                                             "serviceAccount",
                                                             "serviceAccountName",
                                                             "setHostnameAsFQDN",
                                                             "shareProcessNamespace",
                                                             "subdomain",
                                                             "terminationGracePeriodSeconds",
                                                             "tolerations",
                                                             "topologySpreadConstraints",
                                                             "volumes",
                                                             "workloadRef"});

constexpr auto kContainerFields = std::to_array<std::string_view>({"args",
                                                                   "command",
                                                                   "env",
                                                                   "envFrom",
                                                                   "image",
                                                                   "imagePullPolicy",
                                                                   "lifecycle",
                                                                   "livenessProbe",
                                                                   "name",
                                                                   "ports",
                                                                   "readinessProbe",
                                                                   "resizePolicy",
                                                                   "resources",
                                                                   "restartPolicy",
                                                                   "restartPolicyRules",
                                                                   "securityContext",
                                                                   "startupProbe",
                                                                   "stdin",
                                                                   "stdinOnce",
                                                                   "terminationMessagePath",
                                                                   "terminationMessagePolicy",
                                                                   "tty",
                                                                   "volumeDevices",
                                                                   "volumeMounts",
                                                                   "workingDir"});

constexpr auto kPodClaimFields =
    std::to_array<std::string_view>({"name", "resourceClaimName", "resourceClaimTemplateName"});
constexpr auto kEnvFields = std::to_array<std::string_view>({"name", "value", "valueFrom"});
constexpr auto kValueFromFields = std::to_array<std::string_view>(
    {"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"});
constexpr auto kEnvFromFields =
    std::to_array<std::string_view>({"configMapRef", "prefix", "secretRef"});
constexpr auto kKeyRefFields = std::to_array<std::string_view>({"key", "name", "optional"});
constexpr auto kObjectRefFields = std::to_array<std::string_view>({"name", "optional"});
constexpr auto kFieldRefFields = std::to_array<std::string_view>({"apiVersion", "fieldPath"});
constexpr auto kMountFields =
    std::to_array<std::string_view>({"mountPath", "mountPropagation", "name", "readOnly",
                                     "recursiveReadOnly", "subPath", "subPathExpr"});
constexpr auto kTolerationFields =
    std::to_array<std::string_view>({"effect", "key", "operator", "tolerationSeconds", "value"});

class PodReader {
public:
    PodReader(Diagnostics& report, const Value& node, const std::string& path)
        : report_(report), spec_(report, node, path, kPodFields) {}

    PodTemplate read() {
        PodTemplate pod;
        if (spec_.has("restartPolicy")) pod.restart_policy = restart_policy();
        read_volumes();
        read_claims(pod);
        if (spec_.list("containers").empty()) spec_.complain("containers", "is missing or empty");
        pod.init_containers = containers("initContainers");
        pod.containers = containers("containers");
        for (const auto& label : spec_.text_map("nodeSelector")) {
            check_label(spec_, "nodeSelector", label.first, label.second);
            pod.node_selector.push_back({.key = label.first, .values = {label.second}});
        }
        pod.node_affinity = read_required_node_affinity(spec_);
        check_tolerations();
        return pod;
    }

private:
    RestartPolicy restart_policy() {
        const std::string policy = spec_.text("restartPolicy");
        if (policy == "OnFailure") return RestartPolicy::kOnFailure;
        if (policy == "Never") return RestartPolicy::kNever;
        if (policy != "Always") {
            spec_.complain("restartPolicy",
                           "'" + policy + "' is not one of Always, OnFailure, Never");
        }
        return RestartPolicy::kAlways;
    }

    void read_volumes() {
        const auto volumes = spec_.list("volumes");
        for (std::size_t i = 0; i < volumes.size(); ++i) {
            ObjectReader volume(report_, volumes[i], indexed("volumes", i), {});
            const std::string name = volume.required_text("name");
            if (!name.empty() && !volumes_.insert(name).second) {
                volume.complain("name", "there are two volumes '" + name + "'");
            }
        }
    }

    void read_claims(PodTemplate& pod) {
        const auto nodes = spec_.list("resourceClaims");
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            ObjectReader object(report_, nodes[i], indexed("resourceClaims", i), kPodClaimFields);
            PodClaim claim{.name = object.required_text("name"),
                           .claim = object.text("resourceClaimName"),
                           .claim_template = object.text("resourceClaimTemplateName")};
            if (claim.claim.empty() == claim.claim_template.empty()) {
                object.complain("",
                                "must have exactly one of resourceClaimName and "
                                "resourceClaimTemplateName");
            }
            if (!claim.name.empty() && !claims_.insert(claim.name).second) {
                object.complain("name", "there are two claims '" + claim.name + "'");
            }
            pod.claims.push_back(std::move(claim));
        }
    }

    std::vector<Container> containers(std::string_view key) {
        std::vector<Container> result;
        const auto nodes = spec_.list(key);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            ObjectReader object(report_, nodes[i], indexed(key, i), kContainerFields);
            result.push_back(read_container(object));
        }
        return result;
    }

    Container read_container(ObjectReader& object) {
        Container container;
        container.name = object.required_text("name");
        if (!container.name.empty() && !k8s::is_dns_label(container.name)) {
            object.complain("name", "'" + container.name +
                                        "' must be lower-case letters, digits and '-', at most 63");
        }
        if (!container.name.empty() && !names_.insert(container.name).second) {
            object.complain("name", "there are two containers '" + container.name + "'");
        }
        container.image = object.required_text("image");
        container.command = object.texts("command");
        container.args = object.texts("args");
        container.variables = read_variables(object);
        container.devices = read_devices(object);
        container.claims = read_container_claims(object, claims_);
        for (const Value& node : object.list("volumeMounts")) {
            ObjectReader mount(report_, node, object.path_of("volumeMounts"), kMountFields);
            const std::string name = mount.required_text("name");
            mount.required_text("mountPath");
            if (!name.empty() && !volumes_.contains(name)) {
                mount.complain("name", "there is no volume '" + name + "' in this pod");
            }
        }
        return container;
    }

    std::vector<Variable> read_variables(ObjectReader& container) {
        std::vector<Variable> variables = read_env_from(container);
        const auto nodes = container.list("env");
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            ObjectReader object(report_, nodes[i],
                                container.path_of("env") + "[" + std::to_string(i) + "]",
                                kEnvFields);
            Variable variable{.name = object.required_text("name"), .text = object.text("value")};
            if (variable.name.find('=') != std::string::npos) {
                object.complain("name", "'" + variable.name + "' has a '=' in it");
            }
            if (object.has("valueFrom")) {
                if (!variable.text.empty()) {
                    object.complain("valueFrom", "must not be there together with a value");
                }
                variable = read_reference(object, std::move(variable.name));
                if (variable.text.empty() && variable.source == Variable::Source::kField) continue;
            }
            variables.push_back(std::move(variable));
        }
        return variables;
    }

    /// What env overrides: every key of ConfigMaps and Secrets.
    std::vector<Variable> read_env_from(ObjectReader& container) {
        std::vector<Variable> variables;
        const auto nodes = container.list("envFrom");
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            ObjectReader object(report_, nodes[i],
                                container.path_of("envFrom") + "[" + std::to_string(i) + "]",
                                kEnvFromFields);
            Variable variable{.name = object.text("prefix"),
                              .source = Variable::Source::kReference};
            if (object.has("configMapRef") == object.has("secretRef")) {
                object.complain("", "must have exactly one of configMapRef and secretRef");
                continue;
            }
            variable.reference =
                object.has("configMapRef")
                    ? configuration(object, "configMapRef", ConfigurationKind::kConfigMap)
                    : configuration(object, "secretRef", ConfigurationKind::kSecret);
            variables.push_back(std::move(variable));
        }
        return variables;
    }

    /// configMapKeyRef, secretKeyRef, configMapRef or secretRef of `from`.
    ConfigurationReference configuration(ObjectReader& from, std::string_view field,
                                         ConfigurationKind kind) {
        ConfigurationReference reference{.kind = kind};
        const Value* const node = from.mapping(field);
        if (node == nullptr) return reference;
        const bool one_key = field.ends_with("KeyRef");
        ObjectReader object(report_, *node, from.path_of(field),
                            one_key ? std::span<const std::string_view>(kKeyRefFields)
                                    : std::span<const std::string_view>(kObjectRefFields));
        reference.object = object.required_text("name");
        if (one_key) reference.key = object.required_text("key");
        if (object.boolean("optional")) reference.presence = Presence::kOptional;
        reference.place = {report_.file(), node->mark, from.path_of(field)};
        return reference;
    }

    /// A variable with valueFrom; of a field without text when it cannot be had here.
    Variable read_reference(ObjectReader& object, std::string name) {
        Variable variable{.name = std::move(name), .source = Variable::Source::kField};
        const Value* const source = object.mapping("valueFrom");
        if (source == nullptr) return variable;
        ObjectReader from(report_, *source, object.path_of("valueFrom"), kValueFromFields);
        if (source->entries.size() != 1) {
            from.complain("", "must have exactly one source");
            return variable;
        }
        if (const Value* const field = from.mapping("fieldRef")) {
            ObjectReader reference(report_, *field, from.path_of("fieldRef"), kFieldRefFields);
            variable.text = reference.required_text("fieldPath");
            return variable;
        }
        for (const auto kind : {ConfigurationKind::kConfigMap, ConfigurationKind::kSecret}) {
            const std::string_view key =
                kind == ConfigurationKind::kSecret ? "secretKeyRef" : "configMapKeyRef";
            if (!from.has(key)) continue;
            variable.source = Variable::Source::kReference;
            variable.reference = configuration(from, key, kind);
            return variable;
        }
        report_.note(source->mark, object.path_of("valueFrom") + ": " +
                                       source->entries.front().first.scalar +
                                       " is not read here; " + variable.name + " is not set");
        return variable;
    }

    void check_tolerations() {
        const std::set<std::string_view> operators{"", "Equal", "Exists", "Lt", "Gt"};
        const std::set<std::string_view> effects{"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
        const auto nodes = spec_.list("tolerations");
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            ObjectReader object(report_, nodes[i], indexed("tolerations", i), kTolerationFields);
            const std::string op = object.text("operator");
            const std::string effect = object.text("effect");
            const std::string value = object.text("value");
            if (!operators.contains(op)) {
                object.complain("operator", "'" + op + "' is not one of Equal, Exists, Lt, Gt");
            }
            if (!effects.contains(effect)) {
                object.complain("effect", "'" + effect +
                                              "' is not one of NoSchedule, PreferNoSchedule, "
                                              "NoExecute");
            }
            if (op == "Exists" && !value.empty()) {
                object.complain("value", "must be empty when the operator is Exists");
            }
            if (op != "Exists" && object.text("key").empty()) {
                object.complain("operator", "must be Exists when there is no key");
            }
        }
    }

    [[nodiscard]] std::string indexed(std::string_view key, std::size_t index) const {
        return spec_.path_of(key) + "[" + std::to_string(index) + "]";
    }

    Diagnostics& report_;
    ObjectReader spec_;
    std::set<std::string> volumes_;
    std::set<std::string> names_;  // of containers
    std::set<std::string> claims_;
};

}  // namespace

PodTemplate read_pod_spec(Diagnostics& report, const Value& node, const std::string& path) {
    return PodReader(report, node, path).read();
}

}  // namespace aliquot::sim::cluster
