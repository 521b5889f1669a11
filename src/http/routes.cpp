// SPDX-License-Identifier: Apache-2.0
#include "http/routes.h"

#include <algorithm>

namespace aliquot::http {
namespace {

bool leads_to(std::string_view route, std::string_view path) {
    if (!route.ends_with('*')) return path == route;
    return path.starts_with(route.substr(0, route.size() - 1));
}

}  // namespace

Response Routes::operator()(const Request& request) const {
    const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
        return leads_to(route.path, request.path);
    });
    return found == routes_.end() ? not_found() : found->handler(request);
}

std::string Routes::index() const {
    std::size_t width = 0;
    for (const Route& route : routes_) width = std::max(width, route.path.size());
    std::string text;
    for (const Route& route : routes_) {
        if (route.about.empty()) continue;
        text.append(route.path).append(width - route.path.size() + 3, ' ');
        text.append(route.about).append("\n");
    }
    return text;
}

Response Routes::not_found() const {
    std::vector<std::string_view> paths;
    for (const Route& route : routes_) {
        if (!route.about.empty()) paths.push_back(route.path);
    }
    std::string text = paths.size() == 1 ? "there is " : "there are ";
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (i > 0) text += i + 1 == paths.size() ? " and " : ", ";
        text += paths[i];
    }
    return {.status = 404, .body = text + "\n"};
}

}  // namespace aliquot::http
