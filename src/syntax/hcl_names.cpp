// SPDX-License-Identifier: Apache-2.0
#include "syntax/hcl_names.h"

#include <algorithm>
#include <array>

#include "syntax/words.h"
#include "syntax/written_objects.h"

namespace aliquot::syntax {
namespace {

constexpr std::array<HclKind, 13> kMade{
    {{"kubernetes_deployment", "apps/v1", "Deployment"},
     {"kubernetes_stateful_set", "apps/v1", "StatefulSet"},
     {"kubernetes_daemonset", "apps/v1", "DaemonSet"},
     {"kubernetes_daemon_set", "apps/v1", "DaemonSet"},
     {"kubernetes_job", "batch/v1", "Job"},
     {"kubernetes_cron_job", "batch/v1", "CronJob"},
     {"kubernetes_pod", "v1", "Pod"},
     {"kubernetes_resource_quota", "v1", "ResourceQuota"},
     {"kubernetes_config_map", "v1", "ConfigMap"},
     {"kubernetes_horizontal_pod_autoscaler", "autoscaling/v1", "HorizontalPodAutoscaler"},
     {"kubernetes_horizontal_pod_autoscaler_v2", "autoscaling/v2", "HorizontalPodAutoscaler"},
     {"kubernetes_horizontal_pod_autoscaler_v2beta2", "autoscaling/v2beta2",
      "HorizontalPodAutoscaler"},
     {"helm_release", "helm.toolkit.fluxcd.io/v2", "HelmRelease"}}};

}  // namespace

const HclKind* find_hcl_kind(std::string_view resource) {
    const auto found = std::find_if(kMade.begin(), kMade.end(), [resource](const HclKind& one) {
        return one.resource == resource;
    });
    return found == kMade.end() ? nullptr : &*found;
}

std::string hcl_list_name(std::string_view block, std::string_view outer) {
    constexpr std::array<std::string_view, 8> kSame{
        "env",
        "env_from",
        "match_expressions",
        "match_fields",
        "host_aliases",
        "image_pull_secrets",
        "items",
        "preferred_during_scheduling_ignored_during_execution"};
    constexpr std::array<std::string_view, 11> kPlural{"container",
                                                       "init_container",
                                                       "toleration",
                                                       "port",
                                                       "volume",
                                                       "volume_mount",
                                                       "metric",
                                                       "policy",
                                                       "rule",
                                                       "volume_claim_template",
                                                       "topology_spread_constraint"};
    if (std::find(kSame.begin(), kSame.end(), block) != kSame.end()) return camel_case(block);
    if (block == "required_during_scheduling_ignored_during_execution" &&
        outer != "node_affinity") {
        return camel_case(block);
    }
    if (block == "node_selector_term") return "nodeSelectorTerms";
    if (block == "policy") return "policies";
    if (std::find(kPlural.begin(), kPlural.end(), block) != kPlural.end()) {
        return camel_case(block) + "s";
    }
    return {};
}

}  // namespace aliquot::syntax
