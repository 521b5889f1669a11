// SPDX-License-Identifier: Apache-2.0
// Keys of the values of gha-runner-scale-set: GOP008.
#include <array>

#include "lint/rules/operator_rules.h"

namespace aliquot::lint {
namespace {

/// Keys that people write for gha-runner-scale-set and that belong to an older chart or to none.
struct Stray {
    std::string_view key;
    std::string_view instead;
};
constexpr std::array<Stray, 5> kRunnerStrays{{
    {"runnerLabels", "the scale set's name is its label; scaleSetLabels since 0.14"},
    {"runnerResources", "template.spec.containers[].resources"},
    {"runnerScaleDownDelaySecondsAfterScaleOut", "nothing: the scale set has no such delay"},
    {"scaleDownDelaySecondsAfterScaleOut", "nothing: the scale set has no such delay"},
    {"runnerImage", "template.spec.containers[].image"},
}};

}  // namespace

void check_runner_keys(const Object& object, Report& report) {
    for (const Value::Entry& entry : object.node->entries) {
        for (const Stray& stray : kRunnerStrays) {
            if (entry.first.scalar != stray.key) continue;
            report
                .add("GOP008", entry.first.mark,
                     "the chart gha-runner-scale-set has no key '" + entry.first.scalar + "'")
                .expected(std::string(stray.instead));
        }
    }
}

}  // namespace aliquot::lint
