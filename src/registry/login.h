// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "registry/reference.h"

namespace aliquot::registry {

/// Secrets: never for a log.
struct Login {
    std::string user;
    std::string password;
    /// "Basic ..."
    [[nodiscard]] std::string field() const;
};

/// Asks a program that keeps logins: docker-credential-NAME get, the server on its input.
/// returns   what it printed
using AskHelper =
    std::function<Result<std::string>(const std::string& helper, const std::string& server)>;

/// The login for an image of a file that `docker login` or `podman login` writes; empty: it has none. The longest
/// key that the image is below wins.
/// errors   kInvalidInput: no such file's text; what the helper fails with
Result<std::optional<Login>> login_of(std::string_view config, const Reference& image,
                                      const AskHelper& ask);

/// The same of the file that tools of containers read: `file`, else $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json,
/// $XDG_RUNTIME_DIR/containers/auth.json, ~/.docker/config.json: the first that is there. None: no login.
/// errors   kInvalidInput: a file that was named and cannot be read, or that is none
Result<std::optional<Login>> find_login(const std::string& file,
                                        const std::map<std::string, std::string>& environment,
                                        const Reference& image);

}  // namespace aliquot::registry
