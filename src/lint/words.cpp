// SPDX-License-Identifier: Apache-2.0
#include "lint/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace aliquot::lint {
namespace {

struct Unit {
    std::string_view suffix;
    double factor;
};

constexpr std::array<Unit, 16> kUnits{{{"Ki", 1024.0},
                                       {"Mi", 1048576.0},
                                       {"Gi", 1073741824.0},
                                       {"Ti", 1099511627776.0},
                                       {"Pi", 1125899906842624.0},
                                       {"Ei", 1152921504606846976.0},
                                       {"n", 1e-9},
                                       {"u", 1e-6},
                                       {"m", 1e-3},
                                       {"k", 1e3},
                                       {"M", 1e6},
                                       {"G", 1e9},
                                       {"T", 1e12},
                                       {"P", 1e15},
                                       {"E", 1e18},
                                       {"", 1.0}}};

/// Edits that turn one word into the other; `most` + 1 when there are more.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
    constexpr std::size_t kLongest = 64;
    if (a.size() > kLongest || b.size() > kLongest) return most + 1;
    std::array<std::size_t, kLongest + 1> row{};
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (same ? 0U : 1U)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

std::optional<double> parse_quantity(std::string_view text) {
    text = trim(text);
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
    const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const Unit& unit : kUnits) {
        if (suffix == unit.suffix) return value * unit.factor;
    }
    return std::nullopt;
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
    const std::size_t most = word.size() < 5 ? 1 : word.size() < 12 ? 2 : 3;
    std::string_view best;
    std::size_t best_distance = most + 1;
    for (const std::string_view one : known) {
        const std::size_t edits = distance(word, one, most);
        if (edits < best_distance) {
            best = one;
            best_distance = edits;
        }
    }
    return best;
}

}  // namespace aliquot::lint
