// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aliquot::registry {

using Deadline = std::chrono::steady_clock::time_point;

/// One GET. No redirect is followed, no proxy but the environment's, TLS from 1.2 on.
struct Get {
    std::string url;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string ca_file;  // empty: the system's
    Deadline until;
    std::size_t most_bytes = std::size_t{4} << 20U;  // of a body that is kept
    /// Takes the body of a 200 as it comes, instead of keeping it; false ends the transfer.
    std::function<bool(std::string_view bytes)> sink{};
};

struct Got {
    int status = 0;
    std::string body;
    /// Names in small letters; a field that comes twice is one, with ", " between.
    std::map<std::string, std::string> headers;
    bool ended_by_sink = false;

    [[nodiscard]] std::string header(const std::string& name) const;
};

/// errors   kUnavailable: nobody answers, or too slowly (30 seconds of silence, the deadline); kPermission: a certificate
///          that is not believed; kInvalidInput: an answer beyond its limit
Result<Got> get(const Get& request);

}  // namespace aliquot::registry
