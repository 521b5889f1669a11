// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace aliquot::registry {

/// SHA-256 of what comes piece by piece.
class Digest {
public:
    Digest();
    ~Digest();
    Digest(const Digest&) = delete;
    Digest& operator=(const Digest&) = delete;

    void add(std::string_view bytes);
    /// "sha256:..."; once.
    std::string text();

private:
    evp_md_ctx_st* context_;
};

std::string digest_of(std::string_view bytes);

}  // namespace aliquot::registry
