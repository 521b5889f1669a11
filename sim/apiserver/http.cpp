// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/http.h"

#include "base/text.h"

namespace aliquot::sim::apiserver {

bool HttpRequest::has_parameter(std::string_view name) const {
    for (const auto& one : query) {
        if (one.first == name) return true;
    }
    return false;
}

bool HttpRequest::flag(std::string_view name) const {
    if (!has_parameter(name)) return false;
    const std::string_view value = parameter(name);
    return value.empty() || value == "1" || value == "true" || value == "True";
}

HttpRequest read_request(http::Request request) {
    HttpRequest made{std::move(request), {}};
    const std::string_view target = made.target;
    for (const std::string_view part : split(target.substr(0, target.find('?')), '/')) {
        if (!part.empty())
            made.segments.push_back(http::percent_decoded(part, http::Plus::kIsItself));
    }
    return made;
}

HttpRequest read_request_target(std::string_view method, std::string_view target) {
    http::Request request;
    request.method = method;
    http::read_target(target, request);
    return read_request(std::move(request));
}

}  // namespace aliquot::sim::apiserver
