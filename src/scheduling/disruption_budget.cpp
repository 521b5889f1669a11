// SPDX-License-Identifier: Apache-2.0
#include "scheduling/disruption_budget.h"

#include "base/number.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::scheduling {

bool DisruptionBudget::covers(const GpuPod& pod) const {
    return selector && name_space == pod.name_space && k8s::matches(*selector, pod.labels);
}

namespace {

unsigned number_of(const document::Value& budget, std::string_view part, std::string_view field) {
    return parse_number<unsigned>(document::text_at(budget, {part, field})).value_or(0);
}

unsigned allowed_by(const document::Value& budget) {
    if (number_of(budget, "status", "observedGeneration") <
        number_of(budget, "metadata", "generation"))
        return 0;
    return number_of(budget, "status", "disruptionsAllowed");
}

}  // namespace

Result<DisruptionBudget> read_disruption_budget(std::string_view json) {
    const auto root = document::parse_json(json);
    if (!root) return Error(root.error()).during("PodDisruptionBudget");
    DisruptionBudget made{.name_space = document::text_at(*root, {"metadata", "namespace"}),
                          .name = document::text_at(*root, {"metadata", "name"}),
                          .selector = {},
                          .allowed = allowed_by(*root)};
    const document::Value* const selector = document::at_path(*root, {"spec", "selector"});
    if (selector != nullptr) made.selector = k8s::read_label_selector(selector);
    return made;
}

const GpuPod* first_beyond(const std::vector<DisruptionBudget>& budgets,
                           const std::vector<GpuPod>& pods) {
    for (const DisruptionBudget& budget : budgets) {
        unsigned gone = 0;
        for (const GpuPod& pod : pods) {
            if (budget.covers(pod) && ++gone > budget.allowed) return &pod;
        }
    }
    return nullptr;
}

}  // namespace aliquot::scheduling
