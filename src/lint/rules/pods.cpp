// SPDX-License-Identifier: Apache-2.0
#include "lint/families.h"
#include "lint/rules/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {

bool is_gpu_free_role(const PodSpec& pod) {
    for (const std::string_view role :
         {"headGroupSpec", "Launcher", "launcher", ".PS.", "Scheduler", "Chief.", "driver"}) {
        if (pod.path.find(role) != std::string::npos) return true;
    }
    return false;
}

void check_pods(const File& file, const Set& set, const Facts* facts, Report& report) {
    check_pod_amounts(file, set, facts, report);
    check_pod_names(file, set, facts, report);
    check_pod_env(file, set, facts, report);
    check_pod_labels(file, set, facts, report);
    check_pod_nodes(file, set, facts, report);
    check_pod_spec(file, set, facts, report);
    check_pod_images(file, set, facts, report);
}

}  // namespace aliquot::lint
