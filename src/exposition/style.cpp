// SPDX-License-Identifier: Apache-2.0
#include "exposition/style.h"

#include <algorithm>

#include "base/take_text.h"
#include "base/text.h"

namespace aliquot::exposition {
namespace {

/// "0.75" as 750; what is no such number is 0.
unsigned thousandths(std::string_view text) {
    unsigned value = 0;
    unsigned places = 0;
    bool point = false;
    for (const char c : text) {
        if (c == '.' && !point) {
            point = true;
        } else if (c >= '0' && c <= '9') {
            if (point && places == 3) continue;
            value = std::min(value * 10 + static_cast<unsigned>(c - '0'), 1000U);
            if (point) ++places;
        } else {
            return 0;
        }
    }
    for (; places < 3; ++places) value = std::min(value * 10, 1000U);
    return value;
}

struct MediaRange {
    std::string_view media;
    std::string_view version;
    unsigned weight = 1000;
};

MediaRange media_range_of(std::string_view part) {
    MediaRange range;
    range.media = trim(take_until(part, ';'));
    while (!part.empty()) {
        std::string_view parameter = trim(take_until(part, ';'));
        const std::string_view name = trim(take_until(parameter, '='));
        std::string_view value = trim(parameter);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
        }
        if (equals_folded(name, "q")) range.weight = thousandths(value);
        if (equals_folded(name, "version")) range.version = value;
    }
    return range;
}

}  // namespace

std::optional<SharedRows> shared_rows_of(std::string_view word) {
    if (word == "device") return SharedRows::kDevice;
    if (word == "pods") return SharedRows::kPods;
    return std::nullopt;
}

std::optional<Compat> compat_of(std::string_view word) {
    if (word == "classic") return Compat::kClassic;
    if (word == "4.9") return Compat::kRenamed;
    if (word == "both") return Compat::kBoth;
    if (word == "off") return Compat::kOff;
    return std::nullopt;
}

std::optional<Guards> guards_of(std::string_view word) {
    if (word == "own") return Guards::kOwn;
    if (word == "all") return Guards::kAll;
    if (word == "off") return Guards::kOff;
    return std::nullopt;
}

Format choose_format(std::string_view accept) {
    unsigned open_metrics = 0;
    unsigned text = 0;
    while (!accept.empty()) {
        const MediaRange range = media_range_of(trim(take_until(accept, ',')));
        if (equals_folded(range.media, "application/openmetrics-text")) {
            const bool ours = range.version.empty() || range.version == "1.0.0";
            if (ours) open_metrics = std::max(open_metrics, range.weight);
        } else if (equals_folded(range.media, "text/plain") ||
                   equals_folded(range.media, "text/*")) {
            text = std::max(text, range.weight);
        }
    }
    return open_metrics > 0 && open_metrics >= text ? Format::kOpenMetrics : Format::kText;
}

std::string_view content_type(Format format) {
    return format == Format::kOpenMetrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace aliquot::exposition
