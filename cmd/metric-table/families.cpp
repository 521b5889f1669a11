// SPDX-License-Identifier: Apache-2.0
#include "cmd/metric-table/families.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "document/yaml.h"

namespace aliquot::metric_table {
namespace {

using document::Value;

constexpr std::array<std::string_view, 7> kGroups{"native",  "self",  "guard",    "classic",
                                                  "renamed", "older", "openshift"};
using Sets = std::map<std::string, std::string, std::less<>>;

Error refuse(std::string_view file, document::Mark mark, const std::string& message) {
    return {ErrorCode::kInvalidInput, std::string(file) + ':' + std::to_string(mark.line) + ':' +
                                          std::to_string(mark.column) + ": " + message};
}

bool is_name(std::string_view name) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
           name.find_first_not_of(kAllowed) == std::string_view::npos;
}

/// Where the text of an entry goes; nullptr: no such key.
std::string* field_of(Family& family, std::string_view key) {
    const std::array<std::pair<std::string_view, std::string*>, 13> fields{{
        {"name", &family.name},
        {"type", &family.type},
        {"unit", &family.unit},
        {"help", &family.help},
        {"labels", &family.labels},
        {"from", &family.from},
        {"absent", &family.absent},
        {"note", &family.note},
        {"split", &family.split},
        {"field", &family.field},
        {"old", &family.old},
        {"listed", &family.listed},
        {"now", &family.now},
    }};
    for (const auto& [name, place] : fields) {
        if (name == key) return place;
    }
    return nullptr;
}

std::string* field_of(Withheld& withheld, std::string_view key) {
    if (key == "name") return &withheld.name;
    if (key == "old") return &withheld.old;
    if (key == "why") return &withheld.why;
    return nullptr;
}

/// Reads the keys of one entry into its fields.
template <class Entry>
Result<Entry> read_texts(std::string_view file, const Value& node) {
    if (!node.is_mapping()) return refuse(file, node.mark, "expected a mapping with name, ...");
    Entry entry;
    for (const auto& [key, value] : node.entries) {
        std::string* field = field_of(entry, key.scalar);
        if (field == nullptr) {
            return refuse(file, key.mark,
                          "unknown key '" + key.scalar + "': see the head of the file");
        }
        if (value.is_mapping() || value.is_sequence() ||
            value.scalar.find('\n') != std::string::npos) {
            return refuse(file, value.mark, "'" + key.scalar + "': expected a text of one line");
        }
        *field = value.scalar;
    }
    if (!is_name(entry.name)) return refuse(file, node.mark, "'" + entry.name + "' is not a name");
    return entry;
}

/// Ours keep the rules of OpenMetrics; names that others have given are as they are.
std::optional<std::string> problem_of_ours(const Family& family) {
    std::string_view name = family.name;
    const bool total = name.ends_with("_total");
    if (total != (family.type == "counter")) {
        return family.name + ": a counter ends in _total, and nothing else does";
    }
    if (name.ends_with("_info") != (family.type == "info")) {
        return family.name + ": an info ends in _info, and nothing else does";
    }
    if (total) name.remove_suffix(std::string_view("_total").size());
    if (family.unit != "none" && !name.ends_with('_' + family.unit)) {
        return family.name + ": the name does not end in the unit '" + family.unit + "'";
    }
    return std::nullopt;
}

std::optional<std::string> problem_of(const Family& family) {
    if (family.type != "gauge" && family.type != "counter" && family.type != "info") {
        return family.name + ": type '" + family.type + "': expected gauge, counter or info";
    }
    if (family.unit.empty() || family.help.empty() || family.from.empty()) {
        return family.name + ": unit, help and from must all be said";
    }
    for (const std::string* flag : {&family.split, &family.listed}) {
        if (!flag->empty() && *flag != "yes") {
            return family.name + ": '" + *flag + "': say yes, or nothing";
        }
    }
    if (family.field.find_first_not_of("0123456789") != std::string::npos) {
        return family.name + ": field '" + family.field + "' is not a number";
    }
    const bool ours = family.group == "native" || family.group == "self" || family.group == "guard";
    return ours ? problem_of_ours(family) : std::nullopt;
}

Result<std::string> expand(std::string_view file, const Value& node, const Sets& sets,
                           const std::string& labels) {
    std::string expanded;
    std::set<std::string> seen;
    for (const std::string_view word : words_of(labels)) {
        const auto found = sets.find(word);
        if (found == sets.end() && word.starts_with("of_")) {
            return refuse(file, node.mark, "'" + std::string(word) + "' is not under label_sets");
        }
        for (const std::string_view label :
             found == sets.end() ? std::vector{word} : words_of(found->second)) {
            const std::string bare(label.ends_with('?') ? label.substr(0, label.size() - 1)
                                                        : label);
            if (!is_name(bare) || !seen.insert(bare).second) {
                return refuse(file, node.mark,
                              "label '" + std::string(label) + "' is not a name, or stands twice");
            }
            if (!expanded.empty()) expanded += ' ';
            expanded += label;
        }
    }
    return expanded;
}

Result<Done> read_group(std::string_view file, const std::string& group, const Value& section,
                        const Sets& sets, Catalogue& catalogue) {
    for (const Value& item : section.items) {
        auto family = read_texts<Family>(file, item);
        if (!family) return std::move(family).error();
        family->group = group;
        if (auto problem = problem_of(*family)) return refuse(file, item.mark, *problem);
        auto labels = expand(file, item, sets, family->labels);
        if (!labels) return std::move(labels).error().during(family->name);
        family->labels = *std::move(labels);
        catalogue.families.push_back(*std::move(family));
    }
    return Done{};
}

Result<Done> read_withheld(std::string_view file, const Value& section, Catalogue& catalogue) {
    for (const Value& item : section.items) {
        auto withheld = read_texts<Withheld>(file, item);
        if (!withheld) return std::move(withheld).error();
        if (withheld->why.empty()) return refuse(file, item.mark, withheld->name + ": why?");
        catalogue.withheld.push_back(*std::move(withheld));
    }
    return Done{};
}

/// Names stand once, and what `now` names is there.
std::optional<std::string> problem_between(const Catalogue& catalogue) {
    std::set<std::string> names;
    for (const Family& family : catalogue.families) {
        if (!names.insert(family.name).second) return family.name + " stands twice";
    }
    for (const Withheld& withheld : catalogue.withheld) {
        if (!names.insert(withheld.name).second) return withheld.name + " stands twice";
    }
    for (const Family& family : catalogue.families) {
        if (!family.now.empty() && names.find(family.now) == names.end()) {
            return family.name + ": now '" + family.now + "' is nowhere";
        }
        if (!family.old.empty() && !names.insert(family.old).second) {
            return family.old + " stands twice";
        }
    }
    return std::nullopt;
}

}  // namespace

Result<Catalogue> read_catalogue(std::string_view file, std::string_view text) {
    const document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        return refuse(file, stream.errors.front().mark, stream.errors.front().message);
    }
    const Value& root = stream.documents.front();
    Catalogue catalogue;
    Sets sets;
    for (const auto& [key, value] : root.entries) {
        if (key.scalar == "label_sets") {
            for (const auto& [name, labels] : value.entries) sets[name.scalar] = labels.scalar;
            continue;
        }
        const bool group = std::find(kGroups.begin(), kGroups.end(), key.scalar) != kGroups.end();
        if (!group && key.scalar != "withheld") {
            return refuse(file, key.mark, "unknown section '" + key.scalar + "'");
        }
        auto done = group ? read_group(file, key.scalar, value, sets, catalogue)
                          : read_withheld(file, value, catalogue);
        if (!done) return std::move(done).error();
    }
    if (auto problem = problem_between(catalogue)) return refuse(file, root.mark, *problem);
    return catalogue;
}

}  // namespace aliquot::metric_table
