// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot::registry {

/// What a registry wants of who asks: the value of a WWW-Authenticate field.
struct Challenge {
    bool is_bearer = false;  // else basic
    std::string realm;       // of a bearer: the URL of who gives tokens
    std::string service;
    std::string scope;
};

/// The first one that we can answer: bearer with a realm, or basic. Empty: there is none.
/// source   RFC 9110 11.6.1; the distribution project's token specification
std::optional<Challenge> read_challenge(std::string_view field);

/// "https://auth.docker.io/token?service=registry.docker.io&scope=repository%3Alibrary%2Fubuntu%3Apull"
/// scope   when the challenge names none
std::string token_url(const Challenge& challenge, const std::string& scope);

}  // namespace aliquot::registry
