// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/gpu_node.h"
#include "base/result.h"

namespace aliquot::admission {

/// A kind of GPU as a person names it: "a100" is every A100, "a100-80" those with 80 GB,
/// "rtx-3060" not the Ti.
struct GpuType {
    std::string word;
    std::vector<const catalog::GpuModel*> models;  // empty: only `product` says it
    std::string product;  // as nodes have it, when our catalogue does not know it

    [[nodiscard]] bool fits(const GpuNode& node) const;
};

/// What `word` means: by the catalogue of GPU models, else by the products of `cluster`'s nodes.
/// errors   kInvalidInput: nobody knows it; the message names the word that is nearest
Result<GpuType> find_type(std::string_view word, const Cluster& cluster);

/// The values that label nvidia.com/gpu.product has on nodes with such GPUs, as far as names in the
/// catalogue tell; at most 32.
std::vector<std::string> usual_products(const GpuType& type);

}  // namespace aliquot::admission
