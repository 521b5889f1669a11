// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

/// Requests and answers as the API has them; src/http carries them.
namespace aliquot::sim::apiserver {

struct HttpRequest : http::Request {
    std::vector<std::string> segments;  // of the path, each decoded

    [[nodiscard]] bool has_parameter(std::string_view name) const;
    [[nodiscard]] bool flag(std::string_view name) const;  // "true", "1" or without a value
};

struct HttpAnswer : http::Response {
    HttpAnswer() { content_type = "application/json"; }
};

using HttpStream = http::Stream;

HttpRequest read_request(http::Request request);

/// A request line's parts as a request without headers and body.
HttpRequest read_request_target(std::string_view method, std::string_view target);

}  // namespace aliquot::sim::apiserver
