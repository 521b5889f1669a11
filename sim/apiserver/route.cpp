// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/route.h"

namespace aliquot::sim::apiserver {

std::optional<Route> read_route(const std::vector<std::string>& segments) {
    Route route;
    std::size_t at = 0;
    if (segments.size() >= 3 && segments[0] == "api") {
        route.version = segments[1];
        at = 2;
    } else if (segments.size() >= 4 && segments[0] == "apis") {
        route.group = segments[1];
        route.version = segments[2];
        at = 3;
    } else {
        return std::nullopt;
    }
    if (segments[at] == "watch" && segments.size() > at + 1) {
        route.watch_path = true;
        ++at;
    }
    const std::size_t left = segments.size() - at;
    // "namespaces/a" and its subresources are a namespace itself, all else lies in it.
    const bool own = left == 3 && (segments[at + 2] == "status" || segments[at + 2] == "finalize");
    if (segments[at] == "namespaces" && left >= 3 && !own) {
        route.name_space = segments[at + 1];
        at += 2;
    }
    route.resource = segments[at++];
    if (at < segments.size()) route.name = segments[at++];
    if (at < segments.size()) route.subresource = segments[at++];
    if (at < segments.size()) return std::nullopt;
    return route;
}

}  // namespace aliquot::sim::apiserver
