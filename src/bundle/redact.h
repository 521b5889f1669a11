// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "bundle/tree.h"

namespace aliquot::bundle {

/// A tree that may be handed on: environment values but NVIDIA_*, CUDA_*, LD_LIBRARY_PATH and the
/// like, Secrets, pull secrets, tokens, passwords and keys are replaced by "***"; ConfigMaps that
/// have nothing to do with GPUs lose their values.
Tree redacted(const Tree& tree);

/// One text, line by line: "token: x", "--password=x", "Bearer x", "scheme://user:x@host", PEM
/// blocks, cloud keys.
std::string redacted_text(std::string_view text);

}  // namespace aliquot::bundle
