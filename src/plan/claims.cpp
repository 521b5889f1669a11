// SPDX-License-Identifier: Apache-2.0
// The plan as claims: what pods ask for where GPUs are handed out by ResourceClaims.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/number.h"
#include "plan/plan.h"

namespace aliquot::plan {
namespace {

constexpr double kClaimStepMib = 256;  // in which the driver gives memory away

/// Down to a step, so that all shares of a GPU fit; but no less than is needed.
std::string claim_memory(const Share& share) {
    double mib = std::floor(share.memory_mib / kClaimStepMib) * kClaimStepMib;
    if (mib < share.need_mib) mib = std::ceil(share.need_mib / kClaimStepMib) * kClaimStepMib;
    return decimal_text(std::max(mib, kClaimStepMib), 0) + "Mi";
}

std::string selector_lines(const std::string& expression) {
    return "          selectors:\n          - cel:\n              expression: >-\n               "
           " " +
           expression + "\n";
}

/// What a request says of the devices it wants.
std::string claim_request(const Share& share) {
    const std::string attributes = "device.attributes[\"gpu.aliquot.dev\"].";
    if (share.mode == Mode::kMig) {
        return "          deviceClassName: mig.aliquot.dev\n" +
               selector_lines(attributes + "profile == \"" + share.profile + "\"");
    }
    std::string text = "          deviceClassName: gpu.aliquot.dev\n";
    if (share.mode == Mode::kExclusive || share.mode == Mode::kSerial) {
        if (share.need_mib <= 0) return text;
        return text + selector_lines(attributes +
                                     "memoryMiB >= " + decimal_text(std::ceil(share.need_mib), 0));
    }
    // Without a limit of its own it gets what is left.
    const unsigned percent = share.mode == Mode::kTimeSlicing ? 0 : share.compute_percent;
    return text + "          capacity:\n            requests:\n              memory: " +
           claim_memory(share) + "\n              compute: \"" + std::to_string(percent) + "\"\n";
}

}  // namespace

std::string claim_templates(const Plan& plan) {
    struct Wanted {
        const Share* share = nullptr;
        std::map<unsigned, unsigned> gpus;  // by replica
    };
    std::vector<std::pair<std::string, Wanted>> wanted;  // in the order of the plan
    for (const Share& share : plan.shares) {
        if (share.mode == Mode::kCpu) continue;
        auto known =
            std::ranges::find(wanted, share.workload, &std::pair<std::string, Wanted>::first);
        if (known == wanted.end()) {
            wanted.push_back({share.workload, {.share = &share, .gpus = {}}});
            known = std::prev(wanted.end());
        }
        ++known->second.gpus[share.replica];
    }
    std::string text;
    for (const auto& [name, one] : wanted) {
        const std::string object = object_name(name);
        text += text.empty() ? "" : "---\n";
        text += "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata:\n  name: " +
                (object.empty() ? "gpu" : object) +
                "\nspec:\n  spec:\n    devices:\n      requests:\n      - name: gpu\n"
                "        exactly:\n" +
                claim_request(*one.share);
        const unsigned gpus = one.gpus.begin()->second;
        if (gpus > 1) text += "          count: " + std::to_string(gpus) + "\n";
    }
    return text;
}

}  // namespace aliquot::plan
