// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Reads what render() wrote, strictly: for tests.
namespace aliquot::exposition {

struct Sample {
    std::string name;
    std::vector<std::pair<std::string, std::string>> labels;  // in order, values unescaped
    std::string value;

    [[nodiscard]] std::string_view label(std::string_view wanted) const;  // empty: it has none
    [[nodiscard]] bool has(std::string_view wanted) const;
    /// The value times 10^digits; -1: it has more digits than that.
    [[nodiscard]] std::int64_t exact(unsigned digits) const;
};

struct ReadFamily {
    std::string name;  // as its head says
    std::string help;
    std::string type;
    std::string unit;
    std::vector<Sample> samples;
};

struct ReadText {
    std::vector<ReadFamily> families;
    std::vector<std::string> problems;  // what no scraper would take; empty: none
    [[nodiscard]] const ReadFamily* find(std::string_view name) const;
    /// All samples of a name.
    [[nodiscard]] std::vector<Sample> samples(std::string_view name) const;
};

ReadText read_text(std::string_view text, bool open_metrics);

}  // namespace aliquot::exposition
