// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace aliquot::bundle {

/// How little a word must say of itself to be taken for a secret.
enum class Suspicion : std::uint8_t {
    kUsual,  // what looks made by chance, or begins as the keys of a known service do
    kHigh,   // beside a word such as "password": also what only a person would make up ("hunter2")
};

/// Whether a word (no blank in it) looks like a key, a token or a password, and not like a word, a
/// name, a number, a version, a path, a UUID, a digest or what Kubernetes makes up for pods.
///
/// before   what stands before it: it tells an image's digest from a key
bool looks_secret(std::string_view word, std::string_view before, Suspicion suspicion);

}  // namespace aliquot::bundle
