// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "kube_client/resource.h"

namespace aliquot::kube_client {

/// A path with parameters behind it: "/api/v1/pods?limit=500".
class Query {
public:
    explicit Query(std::string path) : text_(std::move(path)) {}

    /// Nothing is added for an empty value.
    Query& add(std::string_view name, std::string_view value) {
        if (value.empty()) return *this;
        text_ += first_ ? '?' : '&';
        first_ = false;
        text_.append(name).append("=").append(encode_part(value));
        return *this;
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
    bool first_ = true;
};

}  // namespace aliquot::kube_client
