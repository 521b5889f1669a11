// SPDX-License-Identifier: Apache-2.0
#include "registry/reference.h"

#include <algorithm>

#include "base/sentence.h"
#include "base/text.h"

namespace aliquot::registry {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestTag = 128;
constexpr std::string_view kHub = "registry-1.docker.io";

bool is_small(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

/// Small letters and digits, with single points, underscores (one or two) and any number of hyphens in between.
bool is_part(std::string_view text) {
    if (text.empty() || !is_small(text.front()) || !is_small(text.back())) return false;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = std::min(text.find_first_of("._-", i), text.size());
        if (!std::ranges::all_of(text.substr(i, end - i), is_small)) return false;
        i = std::min(text.find_first_not_of("._-", end), text.size());
        const std::string_view between = text.substr(end, i - end);
        const bool hyphens = between.find_first_not_of('-') == std::string_view::npos;
        if (!between.empty() && between != "." && between != "_" && between != "__" && !hyphens)
            return false;
    }
    return true;
}

bool is_repository(std::string_view text) {
    return text.size() <= kLongestName && std::ranges::all_of(split(text, '/'), is_part);
}

bool is_tag(std::string_view text) {
    return !text.empty() && text.size() <= kLongestTag && text.front() != '.' &&
           text.front() != '-' && std::ranges::all_of(text, [](char c) {
               return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == '-';
           });
}

bool is_host(std::string_view text) {
    return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, [](char c) {
        return is_digit(c) || is_letter(c) || c == '.' || c == '-' || c == ':' || c == '[' ||
               c == ']';
    });
}

Error reference_error(std::string_view text, const std::string& why) {
    return {ErrorCode::kInvalidInput,
            "'" + one_line(text, 80) + "' is not the name of an image: " + why +
                "; expected [REGISTRY/]NAME[:TAG][@sha256:DIGEST], such as "
                "ghcr.io/org/runner:2.331"};
}

}  // namespace

bool is_digest(std::string_view text) {
    constexpr std::string_view kStart = "sha256:";
    constexpr std::size_t kDigits = 64;
    if (!text.starts_with(kStart) || text.size() != kStart.size() + kDigits) return false;
    return std::ranges::all_of(text.substr(kStart.size()),
                               [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string Reference::text() const {
    return (registry == kHub ? "docker.io" : registry) + "/" + repository +
           (tag.empty() ? "" : ":" + tag) + (digest.empty() ? "" : "@" + digest);
}

bool Reference::is_local() const {
    const std::string_view host = std::string_view(registry).substr(0, registry.rfind(':'));
    return host == "localhost" || host.starts_with("127.") || registry.starts_with("[::1]");
}

Result<Reference> parse_reference(std::string_view text) {
    const std::string_view whole = text;
    constexpr std::string_view kScheme = "docker://";
    if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
    Reference found{.registry = std::string(kHub)};
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        found.digest = text.substr(at + 1);
        if (!is_digest(found.digest))
            return reference_error(whole, "its digest is not one of sha256");
        text = text.substr(0, at);
    }
    if (const auto colon = text.rfind(':');
        colon != std::string_view::npos && !text.substr(colon).contains('/')) {
        found.tag = text.substr(colon + 1);
        if (!is_tag(found.tag))
            return reference_error(
                whole, "its tag has other signs than letters, digits, '_', '.' and '-'");
        text = text.substr(0, colon);
    }
    if (found.tag.empty() && found.digest.empty()) found.tag = "latest";
    const auto slash = text.find('/');
    const std::string_view first = text.substr(0, slash);
    const bool named =
        slash != std::string_view::npos &&
        (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
    if (named) {
        if (!is_host(first)) return reference_error(whole, "its registry is not a host");
        const bool hub = first == "docker.io" || first == "index.docker.io";
        if (!hub) found.registry = first;
        text.remove_prefix(slash + 1);
    }
    if (!is_repository(text)) {
        return reference_error(whole,
                               "its name may have small letters, digits, '.', '_' and '-' only");
    }
    const bool official = found.registry == kHub && !text.contains('/');
    found.repository = (official ? "library/" : "") + std::string(text);
    return found;
}

}  // namespace aliquot::registry
