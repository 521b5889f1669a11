// SPDX-License-Identifier: Apache-2.0
#include "lint/words.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace aliquot::lint {
namespace {

/// Edits that turn one word into the other, two letters in the wrong order being one; `most` + 1
/// when there are more.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
    constexpr std::size_t kLongest = 64;
    if (a.size() > kLongest || b.size() > kLongest) return most + 1;
    const std::size_t longer = std::max(a.size(), b.size());
    if (longer - std::min(a.size(), b.size()) > most) return most + 1;
    std::array<std::array<std::uint8_t, kLongest + 1>, 3> rows{};
    for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<std::uint8_t>(j);
    std::size_t least_before = 0;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto& row = rows[i % 3];
        const auto& last = rows[(i + 2) % 3];
        const auto& before_last = rows[(i + 1) % 3];
        row[0] = static_cast<std::uint8_t>(i);
        std::size_t least = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            unsigned edits =
                std::min({last[j] + 1U, row[j - 1] + 1U, last[j - 1] + (same ? 0U : 1U)});
            const bool crossed = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                                 lower(a[i - 2]) == lower(b[j - 1]);
            if (crossed) edits = std::min(edits, before_last[j - 2] + 1U);
            row[j] = static_cast<std::uint8_t>(edits);
            least = std::min<std::size_t>(least, edits);
        }
        if (least > most && least_before > most) return most + 1;  // it only grows from here
        least_before = least;
    }
    return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
    const std::size_t most = word.size() < 5 ? 1 : word.size() < 12 ? 2 : 3;
    std::string_view best;
    std::size_t best_distance = most + 1;
    for (const std::string_view one : known) {
        if (best_distance == 0) break;
        const std::size_t edits = distance(word, one, best_distance - 1);
        if (edits < best_distance) {
            best = one;
            best_distance = edits;
        }
    }
    return best;
}

std::string_view nearest_key(std::string_view key, const std::vector<std::string_view>& known) {
    const auto slash = key.find('/');
    if (slash == std::string_view::npos) {
        const std::string_view meant = nearest(key, known);
        if (!meant.empty() || key.empty()) return meant;
        // "runtimeClass" for runtimeClassName, and "activeDeadline" for activeDeadlineSeconds
        for (const std::string_view one : known) {
            constexpr std::size_t kMostMissing = 4;
            if (!one.starts_with(key) || one.size() > key.size() + kMostMissing) continue;
            const std::string_view rest = one.substr(key.size());
            if (rest == "Name" || rest == "Seconds") return one;
        }
        // "defaultConfig" for default
        for (const std::string_view one : known) {
            constexpr std::size_t kShortest = 6;
            constexpr std::size_t kMostMore = 6;
            if (one.size() >= kShortest && key.starts_with(one) &&
                key.size() <= one.size() + kMostMore && key[one.size()] >= 'A' &&
                key[one.size()] <= 'Z') {
                return one;
            }
        }
        return {};
    }
    const std::string_view domain = key.substr(0, slash + 1);
    const std::string_view name = key.substr(slash + 1);
    std::vector<std::string_view> names;
    for (const std::string_view one : known) {
        if (one.starts_with(domain)) names.push_back(one.substr(domain.size()));
    }
    const std::string_view meant = nearest(name, names);
    std::vector<std::string_view> domains;
    for (const std::string_view one : known) {
        const auto at = one.find('/');
        if (at == std::string_view::npos) continue;
        if (!meant.empty() && one.starts_with(domain) && one.substr(at + 1) == meant) return one;
        if (names.empty() && one.substr(at + 1) == name) domains.push_back(one);
    }
    return nearest(key, domains);
}

}  // namespace aliquot::lint
