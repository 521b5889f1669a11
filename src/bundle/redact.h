// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "bundle/tree.h"

namespace aliquot::bundle {

/// A tree that may be handed on: what is not known to be harmless is replaced by "***". Of objects:
/// values of the environment but NVIDIA_*, CUDA_*, LD_LIBRARY_PATH and the like, headers of probes,
/// annotations of unknown makers, Secrets, pull secrets, ConfigMaps that have nothing to do with GPUs,
/// and whatever has a secret's name. Of files: those that are secrets, and of all others as of a text.
Tree redacted(const Tree& tree);

/// One text, line by line: values of keys, flags, variables, headers and parameters with a secret's
/// name, logins in URLs, unknown parameters of URLs, PEM keys, and every word that looks made by chance
/// or begins as the keys of known services do. Takes time in proportion to the text.
std::string redacted_text(std::string_view text);

}  // namespace aliquot::bundle
