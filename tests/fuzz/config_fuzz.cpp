// SPDX-License-Identifier: Apache-2.0
// Any bytes as a sharing configuration: nothing crashes, a configuration comes exactly when no
// finding is an error, places lie inside the text, and what we write reads as what we read.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "document/test_values.h"
#include "document/write.h"
#include "document/yaml.h"
#include "sharing/config_file.h"

namespace {

using aliquot::document::Mark;
using aliquot::document::same;
using aliquot::document::Value;

void expect(bool holds) {
    if (!holds) std::abort();
}

std::vector<std::size_t> line_lengths(std::string_view text) {
    std::vector<std::size_t> lengths(1, 0);
    for (const char c : text) {
        if (c == '\n') {
            lengths.push_back(0);
        } else {
            ++lengths.back();
        }
    }
    return lengths;
}

void expect_inside(const std::vector<std::size_t>& lines, unsigned line, unsigned column) {
    if (line == 0) return;
    expect(line <= lines.size());
    expect(column >= 1 && column <= lines[line - 1] + 1);
}

void expect_marks_inside(const std::vector<std::size_t>& lines, const Value& node) {
    expect_inside(lines, node.mark.line, node.mark.column);
    for (const Value& item : node.items) expect_marks_inside(lines, item);
    for (const auto& [key, value] : node.entries) {
        expect_marks_inside(lines, key);
        expect_marks_inside(lines, value);
    }
}

bool keys_are_short(const Value& node) {
    for (const Value& item : node.items) {
        if (!keys_are_short(item)) return false;
    }
    for (const auto& [key, value] : node.entries) {
        constexpr std::size_t kSimpleKey = 200;  // YAML's keys on one line have at most 1024
        if (key.is_mapping() || key.is_sequence() || key.scalar.size() > kSimpleKey) return false;
        if (!keys_are_short(value)) return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto lines = line_lengths(text);
    const auto stream = aliquot::document::parse_yaml(text);
    expect(stream.errors.size() <= 1);
    for (const auto& error : stream.errors) {
        expect_inside(lines, error.mark.line, error.mark.column);
    }
    for (const Value& document : stream.documents) {
        expect_marks_inside(lines, document);
        if (!keys_are_short(document)) continue;
        const auto again = aliquot::document::parse_yaml(aliquot::document::to_yaml(document));
        expect(again.errors.empty() && again.documents.size() == 1);
        expect(same(document, again.documents[0]));
    }
    using aliquot::sharing::Compatibility;
    for (const auto mode : {Compatibility::kStrict, Compatibility::kNvidia}) {
        const auto read = aliquot::sharing::read_config("f", text, mode);
        expect(read.config.has_value() != aliquot::findings::has_errors(read.findings));
        for (const auto& finding : read.findings) {
            expect_inside(lines, finding.line, finding.column);
        }
        for (const auto& finding : aliquot::sharing::check_config_text("f", text, mode)) {
            expect_inside(lines, finding.line, finding.column);
        }
    }
    return 0;
}
