// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/manifest_reader.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/nearest_word.h"
#include "base/sentence.h"
#include "claims/validation.h"
#include "document/build.h"
#include "document/path.h"
#include "document/yaml.h"
#include "sim/cluster/configuration.h"
#include "sim/cluster/controller.h"
#include "sim/cluster/manifest_object.h"

namespace aliquot::sim::cluster {
namespace {

using document::Value;

struct KindName {
    std::string_view kind;
    std::string_view api_version;
    WorkloadKind workload;
};
constexpr auto kWorkloads =
    std::to_array<KindName>({{"Pod", "v1", WorkloadKind::kPod},
                             {"Deployment", "apps/v1", WorkloadKind::kDeployment},
                             {"ReplicaSet", "apps/v1", WorkloadKind::kReplicaSet},
                             {"StatefulSet", "apps/v1", WorkloadKind::kStatefulSet},
                             {"DaemonSet", "apps/v1", WorkloadKind::kDaemonSet},
                             {"Job", "batch/v1", WorkloadKind::kJob}});

constexpr auto kWorkloadKinds = std::to_array<std::string_view>(
    {"Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "List"});

constexpr std::string_view kDeviceApi = "resource.k8s.io/v1";

class ManifestReader {
public:
    ManifestReader(const std::string& file, bool has_config, Manifests& result,
                   Configuration& configuration)
        : has_config_(has_config), result_(result), configuration_(configuration), report_(file) {}

    void read(const std::string& text) {
        const document::Stream stream = document::parse_yaml(text);
        for (const Value& node : stream.documents) {
            if (node.kind != Value::Kind::kNull) read_object(node, 0);
        }
        for (const document::SyntaxError& error : stream.errors) {
            report_.problem(error.mark, error.message);
        }
        const auto by_place = [](const Remark& a, const Remark& b) {
            return std::pair(a.mark.line, a.mark.column) < std::pair(b.mark.line, b.mark.column);
        };
        std::ranges::stable_sort(report_.problems, by_place);
        std::ranges::move(report_.problems, std::back_inserter(result_.problems));
        std::ranges::move(report_.notes, std::back_inserter(result_.notes));
    }

private:
    void read_object(const Value& node, int depth) {
        ObjectReader object(report_, node, "", {});
        if (!node.is_mapping()) return;
        if (object.has("version") && !object.has("kind")) {
            if (has_config_) {
                report_.note(node.mark, "this sharing configuration is not the one of --config");
            } else {
                report_.problem(node.mark,
                                "this is a sharing configuration, no manifest: give it with "
                                "--config");
            }
            return;
        }
        const std::string kind = object.required_text("kind");
        const std::string api_version = object.required_text("apiVersion");
        if (kind.empty() || api_version.empty()) return;
        if (kind == "List" || kind == "PodList" || kind == "DeploymentList" || kind == "JobList") {
            constexpr int kDeepest = 4;
            if (depth == kDeepest) {
                object.complain("items", "lists in lists in lists");
                return;
            }
            for (const Value& item : object.list("items")) read_object(item, depth + 1);
            return;
        }
        if (is_test_hook(object)) {
            report_.note(object.mark_of("kind"), kind + " " + name_of(object) +
                                                     "is a test hook of a Helm chart and not run");
            return;
        }
        const auto* const known = std::ranges::find(kWorkloads, kind, &KindName::kind);
        if (known == kWorkloads.end()) {
            read_other(object, node, kind);
            return;
        }
        if (known->api_version != api_version) {
            object.complain("apiVersion", "'" + api_version + "' has no kind " + kind + "; use '" +
                                              std::string(known->api_version) + "'");
        }
        Workload workload = read_workload(report_, node, known->workload);
        check_unique(object, workload, kind);
        result_.workloads.push_back(std::move(workload));
    }

    void read_other(ObjectReader& object, const Value& node, const std::string& kind) {
        if (kind == "ConfigMap" || kind == "Secret") {
            configuration_.add(
                report_, node,
                kind == "Secret" ? ConfigurationKind::kSecret : ConfigurationKind::kConfigMap);
            return;
        }
        if (kind == "DeviceClass" || kind == "ResourceClaim" || kind == "ResourceClaimTemplate") {
            read_claim_object(object, node, kind);
            return;
        }
        const std::string_view near = nearest_word(kind, kWorkloadKinds);
        const std::string api_version = object.text("apiVersion");
        // PodGroup of scheduling.k8s.io is near to Pod, and not meant.
        if (!near.empty() && (api_version == "v1" || api_version.starts_with("apps/") ||
                              api_version.starts_with("batch/"))) {
            object.complain("kind", "'" + kind + "' is not known" + did_you_mean(near));
            return;
        }
        report_.note(object.mark_of("kind"),
                     kind + " " + name_of(object) + "is accepted and has no effect here");
    }

    void read_claim_object(ObjectReader& object, const Value& node, const std::string& kind) {
        const std::string version = object.text("apiVersion");
        if (version != kDeviceApi) {
            object.complain("apiVersion", "'" + version + "' has no kind " + kind + " here; use '" +
                                              std::string(kDeviceApi) + "'");
            return;
        }
        static const Value kNone = document::make_mapping();
        const bool is_template = kind == "ResourceClaimTemplate";
        const std::string path = is_template ? "spec.spec" : "spec";
        const Value* const spec = document::at_path(node, path);
        const auto found = kind == "DeviceClass"
                               ? claims::class_problems(spec == nullptr ? kNone : *spec)
                               : claims::claim_problems(spec == nullptr ? kNone : *spec, path);
        for (const claims::Problem& one : found) {
            std::string message = one.field + ": " + one.message;
            if (one.message.empty()) message = one.field + ": is missing or wrong";
            if (!one.value.empty()) message += ", found " + one.value;
            report_.problem(one.mark.line == 0 ? node.mark : one.mark, message);
        }
        result_.claim_objects.push_back(node);
    }

    /// "helm.sh/hook: test": what `helm test` runs, and `helm install` does not.
    static bool is_test_hook(ObjectReader& object) {
        const Value* const metadata = object.mapping("metadata");
        const Value* const annotations =
            metadata == nullptr ? nullptr : metadata->find("annotations");
        const Value* const hook =
            annotations == nullptr ? nullptr : annotations->find("helm.sh/hook");
        return hook != nullptr && hook->scalar.starts_with("test");
    }

    std::string name_of(ObjectReader& object) {
        const Value* const metadata = object.mapping("metadata");
        const Value* const name = metadata == nullptr ? nullptr : metadata->find("name");
        return name == nullptr ? std::string() : "'" + name->scalar + "' ";
    }

    void check_unique(ObjectReader& object, const Workload& workload, const std::string& kind) {
        const std::string id = kind + "/" + workload.pod_namespace + "/" + workload.name;
        const bool twice = std::ranges::any_of(result_.workloads, [&](const Workload& other) {
            return other.kind == workload.kind && other.name == workload.name &&
                   other.pod_namespace == workload.pod_namespace;
        });
        if (twice && !workload.name.empty()) {
            object.complain("metadata", kind + " '" + workload.name +
                                            "' is there twice in namespace '" +
                                            workload.pod_namespace + "'");
        }
    }

    bool has_config_;
    Manifests& result_;
    Configuration& configuration_;
    Diagnostics report_;
};

}  // namespace

Manifests read_manifests(std::span<const ManifestText> texts, bool has_config) {
    Manifests result;
    Configuration configuration;
    for (const ManifestText& text : texts) {
        ManifestReader(text.file, has_config, result, configuration).read(text.text);
    }
    configuration.resolve(result.workloads, result.problems, result.notes);
    return result;
}

}  // namespace aliquot::sim::cluster
