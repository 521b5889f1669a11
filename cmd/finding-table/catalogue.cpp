// SPDX-License-Identifier: Apache-2.0
#include "cmd/finding-table/catalogue.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "document/yaml.h"

namespace aliquot::finding_table {
namespace {

using document::Value;

Error refuse(std::string_view file, document::Mark mark, const std::string& message) {
    return {ErrorCode::kInvalidInput, std::string(file) + ':' + std::to_string(mark.line) + ':' +
                                          std::to_string(mark.column) + ": " + message};
}

/// "DPC003": two to five capitals and three digits.
bool is_id(std::string_view id) {
    const std::string_view prefix = prefix_of(id);
    return prefix.size() >= 2 && prefix.size() <= 5 && id.size() == prefix.size() + 3 &&
           id.substr(prefix.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

/// Where the text of an entry goes; nullptr: no such key.
std::string* field_of(Entry& entry, std::string_view key) {
    if (key == "id") return &entry.id;
    if (key == "severity") return &entry.severity;
    if (key == "what") return &entry.what;
    if (key == "why") return &entry.why;
    if (key == "fix") return &entry.fix;
    if (key == "doc") return &entry.doc;
    return nullptr;
}

std::optional<std::string> problem_of(const Entry& entry) {
    constexpr std::array<std::string_view, 3> kSeverities{"error", "warning", "info"};
    constexpr std::size_t kMostWhat = 110;
    if (!is_id(entry.id))
        return "'" + entry.id + "' is not an id: expected capitals and three digits";
    if (std::find(kSeverities.begin(), kSeverities.end(), entry.severity) == kSeverities.end()) {
        return entry.id + ": severity '" + entry.severity + "': expected error, warning or info";
    }
    if (entry.what.empty() || entry.why.empty() || entry.fix.empty()) {
        return entry.id + ": what, why and fix must all be said";
    }
    if (entry.what.size() > kMostWhat) {
        return entry.id + ": 'what' has " + std::to_string(entry.what.size()) +
               " bytes: expected one line of " + std::to_string(kMostWhat) + " at most";
    }
    return std::nullopt;
}

Result<Entry> read_entry(std::string_view file, const std::string& tool, const Value& node) {
    if (!node.is_mapping()) return refuse(file, node.mark, "expected a mapping with id, what, ...");
    Entry entry;
    entry.tool = tool;
    for (const auto& [key, value] : node.entries) {
        std::string* field = field_of(entry, key.scalar);
        if (field == nullptr) {
            return refuse(
                file, key.mark,
                "unknown key '" + key.scalar + "': expected id, severity, what, why, fix or doc");
        }
        if (value.is_mapping() || value.is_sequence() ||
            value.scalar.find('\n') != std::string::npos) {
            return refuse(file, value.mark, "'" + key.scalar + "': expected a text of one line");
        }
        *field = value.scalar;
    }
    if (auto problem = problem_of(entry)) return refuse(file, node.mark, *problem);
    if (entry.doc.empty()) entry.doc = "docs/rules/" + tool + ".md#" + lower(entry.id);
    return entry;
}

bool by_id(const Entry& a, const Entry& b) { return a.id < b.id; }

Result<Done> read_section(std::string_view file, const std::string& tool, const Value& section,
                          Catalogue& catalogue) {
    std::string last;
    for (const Value& item : section.items) {
        auto entry = read_entry(file, tool, item);
        if (!entry) return std::move(entry).error();
        if (entry->id <= last) {
            return refuse(
                file, item.mark,
                entry->id + " stands behind " + last + ": sort the entries by id, each once");
        }
        const std::string_view prefix = prefix_of(entry->id);
        const bool known =
            std::any_of(catalogue.families.begin(), catalogue.families.end(),
                        [prefix](const Family& family) { return family.prefix == prefix; });
        if (!known) {
            return refuse(
                file, item.mark,
                entry->id + ": name the family '" + std::string(prefix) + "' under 'families'");
        }
        last = entry->id;
        catalogue.entries.push_back(*std::move(entry));
    }
    return Done{};
}

}  // namespace

std::string_view prefix_of(std::string_view id) {
    std::size_t end = 0;
    while (end < id.size() && id[end] >= 'A' && id[end] <= 'Z') ++end;
    return id.substr(0, end);
}

Result<Catalogue> read_catalogue(std::string_view file, std::string_view text) {
    const document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        return refuse(file, stream.errors.front().mark, stream.errors.front().message);
    }
    const Value& root = stream.documents.front();
    Catalogue catalogue;
    const Value* families = root.find("families");
    if (families == nullptr || !families->is_mapping()) {
        return refuse(file, root.mark,
                      "'families' is missing: expected a mapping from prefix to title");
    }
    for (const auto& [key, value] : families->entries) {
        catalogue.families.push_back({key.scalar, value.scalar});
    }
    for (const auto& [key, value] : root.entries) {
        if (key.scalar == "families") continue;
        if (key.scalar != "lint" && key.scalar != "doctor") {
            return refuse(
                file, key.mark,
                "unknown section '" + key.scalar + "': expected families, lint or doctor");
        }
        auto done = read_section(file, key.scalar, value, catalogue);
        if (!done) return std::move(done).error();
    }
    std::sort(catalogue.entries.begin(), catalogue.entries.end(), by_id);
    const auto twice =
        std::adjacent_find(catalogue.entries.begin(), catalogue.entries.end(),
                           [](const Entry& a, const Entry& b) { return a.id == b.id; });
    if (twice != catalogue.entries.end()) {
        return refuse(file, root.mark, twice->id + " stands in both sections");
    }
    return catalogue;
}

}  // namespace aliquot::finding_table
