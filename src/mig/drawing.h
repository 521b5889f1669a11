// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "mig/plan.h"

namespace aliquot::mig {

/// One GPU before and after a change, as it is to be drawn.
struct DrawnChange {
    std::string name;  // "NVIDIA A100-SXM4-40GB", "GPU 3"
    unsigned slices =
        0;  // of memory: the width of the bar; less than the instances reach counts as that
    std::vector<Instance> now;
    std::vector<Step> steps;
    std::vector<Instance> after;  // as planned; of a refusal: the nearest that can be had
    std::string refusal;          // why not; empty: it can be had
    std::string remark;           // below it: "turn MIG mode on", "room for 1g.5gb"; may be empty
};

/// The GPUs below each other as an SVG document, each as two bars of its memory slices: now, and after.
std::string drawing(const std::vector<DrawnChange>& gpus);

}  // namespace aliquot::mig
