// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aliquot::kube_client {

/// The parts of "https://[::1]:6443/prefix".
struct Url {
    std::string scheme;  // "https" or "http"
    std::string host;    // without brackets
    unsigned port = 0;   // what is written, or the scheme's
    std::string path;    // "" or "/prefix", no slash at its end

    /// The host as an authority has it: an IPv6 address in brackets.
    [[nodiscard]] std::string authority_host() const {
        return host.contains(':') ? "[" + host + "]" : host;
    }
    [[nodiscard]] std::string text() const {
        return scheme + "://" + authority_host() + ":" + std::to_string(port) + path;
    }
    [[nodiscard]] bool is_loopback() const {
        return host == "localhost" || host == "::1" || host.starts_with("127.");
    }
};

/// Empty: not http or https, no host, a bad port, or a user name in it.
std::optional<Url> parse_url(std::string_view text);

}  // namespace aliquot::kube_client
