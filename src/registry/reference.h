// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

/// Images in a registry: by the calls of the OCI distribution specification, with what a registry wants to know of who
/// asks. Everything has a limit: answers, layers, waits. Blocking.
namespace aliquot::registry {

/// An image by name: "ghcr.io/org/runner:2.331", "ubuntu@sha256:...".
struct Reference {
    std::string registry;    // where it is asked: "registry-1.docker.io", "localhost:5000"
    std::string repository;  // "library/ubuntu"
    std::string tag;         // "latest"; empty when only a digest is given
    std::string digest;      // "sha256:" and 64 digits; empty: none

    /// What is asked for: the digest, else the tag.
    [[nodiscard]] const std::string& version() const { return digest.empty() ? tag : digest; }
    /// As people write it: "docker.io/library/ubuntu:22.04".
    [[nodiscard]] std::string text() const;
    /// Only this host is asked: "localhost:5000", 127.0.0.0/8, [::1].
    [[nodiscard]] bool is_local() const;
};

/// A name without a registry is one of Docker Hub; without a tag, "latest".
/// errors   kInvalidInput: no name of an image
Result<Reference> parse_reference(std::string_view text);

/// Whether it is "sha256:" and 64 small hexadecimal digits.
bool is_digest(std::string_view text);

}  // namespace aliquot::registry
