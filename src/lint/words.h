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
/// The nearest of `known` when it is near enough to be meant; empty: none.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);
/// The same of keys such as "nvidia.com/gpu.product": of two parts one must be right.
std::string_view nearest_key(std::string_view key, const std::vector<std::string_view>& known);

}  // namespace aliquot::lint
