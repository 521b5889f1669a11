// SPDX-License-Identifier: Apache-2.0
#include "lint/image.h"

#include "lint/object.h"

namespace aliquot::lint {

std::string_view Image::base_name() const {
    const std::string_view whole = repository;
    return whole.substr(whole.rfind('/') + 1);  // npos + 1 is 0
}

Image read_image(std::string_view text) {
    Image image;
    image.text = std::string(text);
    image.placeholder = is_placeholder(text);
    if (text.empty() || text.find_first_of(" \t\n\"'`,;()[]|\\") != std::string_view::npos) {
        return image;
    }
    constexpr std::string_view kScheme = "docker://";
    if (text.substr(0, kScheme.size()) == kScheme) text.remove_prefix(kScheme.size());
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        image.digest = std::string(text.substr(at + 1));
        text = text.substr(0, at);
    }
    const auto slash = text.rfind('/');
    const auto colon = text.rfind(':');
    if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
        image.tag = std::string(text.substr(colon + 1));
        text = text.substr(0, colon);
    }
    const auto first = text.find('/');
    const std::string_view host = text.substr(0, first);
    if (first != std::string_view::npos &&
        (host.find_first_of(".:") != std::string_view::npos || host == "localhost")) {
        image.registry = std::string(host);
        text.remove_prefix(first + 1);
    }
    image.repository = std::string(text);
    return image;
}

}  // namespace aliquot::lint
