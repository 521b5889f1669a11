// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "labels/labels.h"

namespace aliquot::labels {

/// How a device is shared, in GFD's words.
struct Shared {
    unsigned replicas = 1;
    grant::Mechanism mechanism = grant::Mechanism::kNone;
    bool renamed = false;  // under another resource name than when it is not shared
};
/// name   the resource that it is offered as when it is not renamed
Shared shared_of(const sharing::Offer& offer, const gpu::Uuid& uuid, std::string_view name);

/// The GPU that stands for the node; null without GPUs.
const gpu::Gpu* representative(const gpu::Inventory& inventory);

/// "NVIDIA-A2-SHARED".
std::string product(const std::string& model, const Shared& shared);

/// Labels of MIG under `single` and `mixed`; those of `single` replace the GPU's own.
void add_single_mig(const NodeFacts& facts, const gpu::Gpu& gpu, Labels& labels);
void add_mixed_mig(const NodeFacts& facts, Labels& labels);

}  // namespace aliquot::labels
