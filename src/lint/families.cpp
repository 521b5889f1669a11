// SPDX-License-Identifier: Apache-2.0
#include "lint/families.h"

#include <array>

namespace aliquot::lint {

std::span<const Family> families() {
    static constexpr std::array<Family, 36> kFamilies{{
        {"device_plugin", check_device_plugin},
        {"wiring", check_wiring},
        {"operator", check_operator},
        {"helm", check_helm},
        {"mig", check_mig},
        {"pods", check_pods},
        {"deployments", check_deployments},
        {"jobs", check_jobs},
        {"cron", check_cron},
        {"autoscalers", check_autoscalers},
        {"quotas", check_quotas},
        {"claims", check_claims},
        {"claim_fields", check_claim_fields},
        {"api_versions", check_api_versions},
        {"manifests", check_manifests},
        {"metrics", check_metrics},
        {"images", check_images},
        {"dockerfiles", check_dockerfiles},
        {"shell", check_shell},
        {"statements", check_statements},
        {"runbooks", check_runbooks},
        {"forms", check_forms},
        {"runtimes", check_runtimes},
        {"runtime_flags", check_runtime_flags},
        {"queues", check_queues},
        {"references", check_references},
        {"links", check_links},
        {"compositions", check_compositions},
        {"label_values", check_label_values},
        {"command_words", check_command_words},
        {"launches", check_launches},
        {"terraform", check_terraform},
        {"docker_builds", check_docker_builds},
        {"python", check_python},
        {"selectors", check_selectors},
        {"units", check_units},
    }};
    return kFamilies;
}

}  // namespace aliquot::lint
