// SPDX-License-Identifier: Apache-2.0
#include "kube_client/url.h"

#include "base/number.h"

namespace aliquot::kube_client {

std::optional<Url> parse_url(std::string_view text) {
    Url url;
    const auto colon = text.find("://");
    if (colon == std::string_view::npos) return {};
    url.scheme = std::string(text.substr(0, colon));
    if (url.scheme != "https" && url.scheme != "http") return {};
    url.port = url.scheme == "https" ? 443 : 80;
    text.remove_prefix(colon + 3);

    std::string_view authority = text.substr(0, text.find_first_of("/?#"));
    std::string_view path = text.substr(authority.size());
    if (path.find_first_of("?# ") != std::string_view::npos) return {};
    while (path.ends_with('/')) path.remove_suffix(1);
    url.path = std::string(path);
    if (authority.contains('@') || authority.contains(' ')) return {};

    std::string_view port;
    if (authority.starts_with('[')) {
        const auto end = authority.find(']');
        if (end == std::string_view::npos) return {};
        url.host = std::string(authority.substr(1, end - 1));
        authority.remove_prefix(end + 1);
        if (!authority.empty() && !authority.starts_with(':')) return {};
        port = authority.empty() ? "" : authority.substr(1);
    } else {
        const auto at = authority.find(':');
        url.host = std::string(authority.substr(0, at));
        if (at != std::string_view::npos) port = authority.substr(at + 1);
        if (port.contains(':')) return {};  // an IPv6 address without brackets
    }
    if (url.host.empty()) return {};
    if (!port.empty()) {
        const auto number = parse_number<std::uint16_t>(port);
        if (!number || *number == 0) return {};
        url.port = *number;
    }
    return url;
}

}  // namespace aliquot::kube_client
