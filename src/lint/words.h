// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/words.h"

/// Words of the field that many rules ask for.
namespace aliquot::lint {

struct Image;
struct Container;
struct PodSpec;

/// "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", also names of other makers
/// and layers (amd.com/gpu, gpu.intel.com/i915, HAMi, nos, volcano, koordinator, aliquot).
bool is_gpu_resource(std::string_view name);
/// Only nvidia.com/gpu, nvidia.com/gpu.shared, nvidia.com/mig-* (also .shared), nvidia.com/pgpu...
bool is_nvidia_resource(std::string_view name);
/// "1g.5gb" of "nvidia.com/mig-1g.5gb"; empty when it is none.
std::string_view mig_profile(std::string_view resource);

/// A quantity of Kubernetes in base units: "500m" 0.5, "16Gi" 17179869184, "1e3" 1000.
std::optional<double> parse_quantity(std::string_view text);

/// The image surely wants a GPU: nvidia/cuda, tritonserver, *-cuda*, *-gpu, vllm-openai, ...
bool is_gpu_image(const Image& image);
bool is_gpu_image(std::string_view reference);
/// It manages GPUs for others, so that it may see all of them: device plugin, operator, validator,
/// exporter, driver, toolkit, GFD, DRA driver, node-feature-discovery.
bool is_management_image(std::string_view reference);
/// The same of a pod: by image, name, or namespace.
bool is_management(const PodSpec& pod);

using syntax::contains;
using syntax::contains_word;
using syntax::ends_with;
using syntax::starts_with;
/// The nearest of `known` when it is near enough to be meant; empty: none.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace aliquot::lint
