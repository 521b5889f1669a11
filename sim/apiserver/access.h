// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// Who sent a request; nullopt: credentials that are not good, or none where some are needed.
std::optional<User> authenticate(const ServerContext& context, const HttpRequest& request);

/// What somebody wants to do.
struct Attributes {
    User user;
    std::string verb;
    bool is_resource = true;
    std::string group, version, resource, subresource, name, name_space;
    std::string path;  // without a resource
};

/// Whether roles and bindings allow it; the reason in words, empty: nothing allows it.
std::optional<std::string> allowed_by_roles(const ServerContext& context,
                                            const Attributes& attributes);

/// The rules that hold for a user in a namespace, as SelfSubjectRulesReview lists them.
Value rules_of(const ServerContext& context, const User& user, const std::string& name_space);

/// nullopt: allowed.
std::optional<Failure> authorize(const ServerContext& context, const Attributes& attributes);

}  // namespace aliquot::sim::apiserver
