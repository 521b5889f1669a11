// SPDX-License-Identifier: Apache-2.0
#include "lint/kept.h"

#include <algorithm>
#include <array>
#include <span>

#include "lint/words.h"

namespace aliquot::lint {
namespace {

constexpr std::array<std::string_view, 5> kArchives{"archive", "archived", "_archived", "_archive",
                                                    "deprecated"};
constexpr std::array<std::string_view, 7> kProposals{"proposals", "designs",      "keps", "design",
                                                     "rfcs",      "enhancements", "adr"};

/// "1.4", "v0.6.0", "v0.17.0-rc1": the directory of a release, whose files are right for it.
bool is_release(std::string_view name) {
    if (name.starts_with("v")) name.remove_prefix(1);
    const auto dot = name.find('.');
    const auto digits = [](std::string_view text) {
        return !text.empty() &&
               std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (dot == std::string_view::npos || !digits(name.substr(0, dot))) return false;
    const std::string_view rest = name.substr(dot + 1);
    return digits(rest.substr(0, rest.find_first_of(".-")));
}

/// Whether one of the directories has one of these names.
bool lies_in(const File& file, std::span<const std::string_view> names) {
    const auto steps = split(file.directory, '/');
    return std::any_of(steps.begin(), steps.end(), [names](std::string_view step) {
        return std::find(names.begin(), names.end(), lower(step)) != names.end();
    });
}

}  // namespace

bool is_kept(const File& file) {
    constexpr std::array<std::string_view, 6> kOthers{"legacy", "proposals", "designs",
                                                      "keps",   "testdata",  "versioned_docs"};
    if (lies_in(file, kArchives) || lies_in(file, kOthers)) return true;
    const auto steps = split(file.directory, '/');
    return std::any_of(steps.begin(), steps.end(),
                       [](std::string_view step) { return is_release(step); });
}

bool is_record(const File& file) {
    return lies_in(file, kArchives) || (file.is_prose() && lies_in(file, kProposals));
}

}  // namespace aliquot::lint
