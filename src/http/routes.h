// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace aliquot::http {

/// One page of a server.
struct Route {
    std::string_view path;  // "/metrics"; "/apis/*": all below /apis/ (and "/*": everything)
    /// What is to be read there, in half a line. Empty: another name of a page, not listed.
    std::string_view about;
    Handler handler;
};

/// The pages of a server in one table, looked through in its order: a new page is one line of it.
/// A Handler itself; thread-safe when the pages' are. What no page is for is 404, with the list of
/// those that there are.
class Routes {
public:
    explicit Routes(std::vector<Route> routes) : routes_(std::move(routes)) {}

    Response operator()(const Request& request) const;

    /// A line for each page: what it is.
    [[nodiscard]] std::string index() const;

private:
    [[nodiscard]] Response not_found() const;

    std::vector<Route> routes_;
};

}  // namespace aliquot::http
