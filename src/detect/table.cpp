// SPDX-License-Identifier: Apache-2.0
#include "detect/table.h"

#include <algorithm>

#include "detect/embedded.h"

namespace aliquot::detect {
namespace {

constexpr std::array<std::string_view, kClasses> kClassNames = {
    "ask",     "hardware", "card",   "stack",  "framework", "model",     "task",  "scale",
    "cpu",     "classic",  "edge",   "remote", "optional",  "fallback",  "small", "not",
    "remove",  "denied",   "hollow", "but",    "about",     "about_all", "carry", "unreal",
    "need",    "slow",     "local",  "large",  "learning",  "sight",     "sound", "language",
    "foreign", "link",     "with",   "power",  "old",       "past",      "kind",  "word"};

constexpr std::array<std::string_view, 5> kReadsNames = {"-", "switch", "value", "resource",
                                                         "devices"};

template <class Names>
std::size_t place_of(const Names& names, std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// Cuts the text up to `separator` off `rest`.
std::string_view cut_at(std::string_view& rest, char separator) {
    const std::size_t at = rest.find(separator);
    const std::string_view part = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    return part;
}

std::vector<Row> read_rows() {
    std::vector<Row> rows;
    std::string_view rest = kWordTable;
    bool head = true;
    while (!rest.empty()) {
        std::string_view line = cut_at(rest, '\n');
        if (line.empty() || line.front() == '#') continue;
        const std::size_t what = place_of(kClassNames, cut_at(line, '\t'));
        const std::size_t reads = place_of(kReadsNames, cut_at(line, '\t'));
        const bool is_head = head;
        head = false;
        if (is_head || what == kClassNames.size() || reads == kReadsNames.size()) continue;
        rows.push_back({line, static_cast<Class>(what), static_cast<Reads>(reads)});
    }
    return rows;
}

}  // namespace

const std::vector<Row>& word_rows() {
    static const std::vector<Row> rows = read_rows();
    return rows;
}

std::string_view name_of(Class what) { return kClassNames.at(static_cast<std::size_t>(what)); }

Source source_of(Class what) {
    switch (what) {
        case Class::kAsk:
            return Source::kAsk;
        case Class::kHardware:
        case Class::kCard:
            return Source::kHardware;
        case Class::kStack:
            return Source::kStack;
        case Class::kFramework:
            return Source::kFramework;
        case Class::kModel:
            return Source::kModel;
        case Class::kTask:
            return Source::kTask;
        case Class::kScale:
            return Source::kScale;
        case Class::kCpu:
            return Source::kCpu;
        case Class::kClassic:
            return Source::kClassic;
        case Class::kEdge:
            return Source::kEdge;
        case Class::kRemote:
            return Source::kRemote;
        case Class::kOptional:
        case Class::kFallback:
            return Source::kOptional;
        case Class::kSmall:
            return Source::kSmall;
        default:
            return Source::kContext;
    }
}

}  // namespace aliquot::detect
