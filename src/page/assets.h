// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace aliquot::page {

/// A file of web/, compiled in.
struct Asset {
    std::string_view path;  // "app.js", "vendor/preact.module.js"
    std::string_view content_type;
    std::string_view text;
};

std::span<const Asset> assets();

}  // namespace aliquot::page
