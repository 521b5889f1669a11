// SPDX-License-Identifier: Apache-2.0
// The schema as lists of keys, and what to say of a key that does not fit it.
#include <algorithm>
#include <array>

#include "document/write.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 5> kRoot{"version", "flags", "sharing", "imex", "resources"};
constexpr std::array<Words, 12> kFlags{
    "migStrategy",       "failOnInitError",         "mpsRoot",    "nvidiaDriverRoot",
    "nvidiaDevRoot",     "gdrcopyEnabled",          "gdsEnabled", "mofedEnabled",
    "useNodeFeatureAPI", "deviceDiscoveryStrategy", "plugin",     "gfd"};
constexpr std::array<Words, 7> kPlugin{"passDeviceSpecs",
                                       "deviceListStrategy",
                                       "deviceIDStrategy",
                                       "cdiAnnotationPrefix",
                                       "nvidiaCTKPath",
                                       "containerDriverRoot",
                                       "sharedDevicesAllocationPolicy"};
constexpr std::array<Words, 5> kGfd{"oneshot", "noTimestamp", "sleepInterval", "outputFile",
                                    "machineTypeFile"};
constexpr std::array<Words, 3> kSharing{"timeSlicing", "mps", "guard"};
constexpr std::array<Words, 4> kGuard{"fail", "watchdog", "slack", "kernelLimit"};
constexpr std::array<Words, 3> kBlock{"renameByDefault", "failRequestsGreaterThanOne", "resources"};
constexpr std::array<Words, 7> kEntry{"name",   "replicas", "devices", "rename",
                                      "memory", "compute",  "weight"};
constexpr std::array<Words, 7> kMpsEntry{"name",   "replicas", "devices", "rename",
                                         "memory", "compute",  "shares"};
constexpr std::array<Words, 2> kShare{"memory", "compute"};
constexpr std::array<Words, 2> kImex{"channelIDs", "required"};
constexpr std::array<Words, 2> kPatterns{"gpus", "mig"};
constexpr std::array<Words, 2> kPattern{"pattern", "name"};

constexpr std::array<Section, 14> kSections{{{"", kRoot, true},
                                             {"flags", kFlags, true},
                                             {"flags.plugin", kPlugin, true},
                                             {"flags.gfd", kGfd, true},
                                             {"sharing", kSharing, true},
                                             {"sharing.guard", kGuard, false},
                                             {"sharing.timeSlicing", kBlock, false},
                                             {"sharing.mps", kBlock, false},
                                             {"sharing.timeSlicing.resources[]", kEntry, false},
                                             {"sharing.mps.resources[]", kMpsEntry, false},
                                             {"sharing.mps.resources[].shares[]", kShare, false},
                                             {"imex", kImex, true},
                                             {"resources", kPatterns, true},
                                             {"resources.gpus[]", kPattern, true}}};

/// The section that a key belongs to, when it is not `here`; null when no section has it. `name`
/// and `resources` have several homes; the one nearest to where it stands is told.
const Section* home_of(std::string_view key, std::string_view here) {
    const bool mps = here.find("mps") != std::string_view::npos;
    for (const Section& candidate : kSections) {
        if (candidate.path == here || candidate.path == "resources.gpus[]") continue;
        if (candidate.path.empty() && key == "resources") continue;
        if (mps && candidate.path.substr(0, 19) == "sharing.timeSlicing") continue;
        const auto match = [key](std::string_view known) { return same_letters(key, known); };
        if (std::any_of(candidate.keys.begin(), candidate.keys.end(), match)) return &candidate;
    }
    return nullptr;
}

std::string_view rule_of_misplaced(std::string_view key) {
    if (same_letters(key, "replicas")) return rule::kReplicasPlace;
    if (same_letters(key, "renameByDefault") || same_letters(key, "failRequestsGreaterThanOne")) {
        return rule::kSwitchPlace;
    }
    return rule::kWrongPlace;
}

std::string place_text(std::string_view path) {
    return path.empty() ? "the top of the file" : std::string(path);
}

void complain_misplaced(Reader& reader, const Value& mapping, const Value& key, const Value& value,
                        std::string_view path, const Section& home) {
    const auto proper = std::find_if(home.keys.begin(), home.keys.end(), [&key](Words known) {
        return same_letters(key.scalar, known);
    });
    const bool in_sharing = home.path.substr(0, 7) == "sharing";
    Advice advice;
    if (home.path.find("[]") != std::string_view::npos) {
        advice.expected = "'" + std::string(*proper) + "' in each entry of the list " +
                          std::string(home.path.substr(0, home.path.size() - 2));
    } else {
        advice.expected = "'" + std::string(*proper) + (home.path.empty() ? "' at " : "' under ") +
                          place_text(home.path);
    }
    advice.fix = in_sharing ? reader.corrected() : nested(home.path, *proper, value);
    const std::string_view rule = rule_of_misplaced(key.scalar);
    std::string message = "'" + key.scalar + "' is not a key of " + place_text(path);
    // Without this key's entry NVIDIA's plugin has no list of resources, and ends.
    const bool fatal = rule == rule::kReplicasPlace && mapping.find("resources") == nullptr &&
                       (path == "sharing.timeSlicing" || path == "sharing.mps");
    if (fatal) {
        if (!reader.strict()) {
            message += "; NVIDIA's plugin ignores it";
        }
        reader.error(key.mark, rule, std::move(message), std::move(advice));
        return;
    }
    reader.refuse(key.mark, rule, std::move(message), "ignores it", std::move(advice));
}

/// What people write for something that the schema spells otherwise.
std::string_view alias_of(std::string_view key) {
    constexpr std::array<std::pair<Words, Words>, 10> kAliases{{{"memoryGB", "memory"},
                                                                {"memoryGiB", "memory"},
                                                                {"memoryLimit", "memory"},
                                                                {"gpumem", "memory"},
                                                                {"cores", "compute"},
                                                                {"gpucores", "compute"},
                                                                {"sm", "compute"},
                                                                {"resource", "name"},
                                                                {"resourceName", "name"},
                                                                {"time-slicing", "timeSlicing"}}};
    for (const auto& [theirs, ours] : kAliases) {
        if (same_letters(key, theirs)) return ours;
    }
    return {};
}

bool is_ours(std::string_view key) {
    constexpr std::array<Words, 4> kOurs{"memory", "compute", "weight", "guard"};
    return std::find(kOurs.begin(), kOurs.end(), key) != kOurs.end();
}

void complain_unknown(Reader& reader, const Value& mapping, const Value& key, const Value& value,
                      std::string_view path, const Section& section) {
    // What NVIDIA's plugin does not have comes last.
    std::span<const Words> known_keys = section.keys;
    while (!reader.strict() && !known_keys.empty() && is_ours(known_keys.back())) {
        known_keys = known_keys.first(known_keys.size() - 1);
    }
    const auto known = [known_keys](Words word) {
        return std::find(known_keys.begin(), known_keys.end(), word) != known_keys.end();
    };
    std::string_view near = alias_of(key.scalar);
    if (near.empty() || !known(near) || key.quoted) {
        if (const Section* home = home_of(key.scalar, section.path)) {
            complain_misplaced(reader, mapping, key, value, path, *home);
            return;
        }
        near = nearest_word(key.scalar, known_keys);
    }
    std::string message = "'" + key.scalar.substr(0, 80) + "' is not a key of " + place_text(path);
    Advice advice{join_words(known_keys), ""};
    if (key.scalar == "<<") {
        message += ": merge keys are not read";
        advice.expected = "the keys themselves";
    } else if (!near.empty()) {
        message += " (did you mean '" + std::string(near) + "'?)";
        Value fixed = document::make_mapping();
        Value corrected = value;
        if (near == "memory" && value.kind == Value::Kind::kInteger) {
            corrected = document::make_string(value.scalar + "Gi");
        }
        document::append(fixed, std::string(near), std::move(corrected));
        advice.fix = document::to_yaml(fixed);
    }
    reader.refuse(key.mark, rule::kUnknownKey, std::move(message), "ignores it", std::move(advice));
}

}  // namespace

std::span<const Section> sections() { return kSections; }

const Section& section(std::string_view path) {
    for (const Section& candidate : kSections) {
        if (candidate.path == path) return candidate;
    }
    return kSections[0];
}

std::string nested(std::string_view path, std::string_view key, const Value& value) {
    Value inner = document::make_mapping();
    document::append(inner, std::string(key), value);
    while (!path.empty()) {
        const auto dot = path.rfind('.');
        const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
        Value outer = document::make_mapping();
        document::append(outer, std::string(name), std::move(inner));
        inner = std::move(outer);
        path = dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
    }
    return document::to_yaml(inner);
}

std::optional<Fields> read_section(Reader& reader, const Value& node, const Section& section,
                                   std::string_view path) {
    Fields fields;
    fields.path = path;
    fields.mark = node.mark;
    if (node.kind == Value::Kind::kNull) return fields;
    if (!node.is_mapping()) {
        complain_type(reader, node, path.empty() ? "the file" : path,
                      "a mapping with the keys " + join_words(section.keys), "");
        return std::nullopt;
    }
    for (const auto& [key, value] : node.entries) {
        if (key.is_mapping() || key.is_sequence()) {
            reader.error(key.mark, rule::kType,
                         "a key of " + place_text(path) + " is " + document::describe(key),
                         {"one of " + join_words(section.keys), ""});
            continue;
        }
        const std::string& written = key.scalar;
        const auto match =
            std::find_if(section.keys.begin(), section.keys.end(),
                         [&written](Words known) { return same_letters(written, known); });
        if (match == section.keys.end()) {
            if (!reader.full() || !reader.failed())
                complain_unknown(reader, node, key, value, path, section);
            continue;
        }
        if (key.scalar != *match) {
            const bool scalar = !value.is_mapping() && !value.is_sequence();
            reader.refuse(
                key.mark, rule::kLetterCase,
                "'" + key.scalar + "' is written '" + std::string(*match) + "'",
                section.any_case ? "accepts it, as of every key outside timeSlicing and mps"
                                 : "ignores it: here it compares letter by letter",
                {"'" + std::string(*match) + "'",
                 std::string(*match) + ':' + (scalar ? ' ' + document::scalar_text(value) : "")});
            if (!reader.strict() && !section.any_case) continue;
        }
        const auto [field, fresh] = fields.fields_.insert({*match, {key.mark, &value}});
        if (fresh) continue;
        reader.refuse(key.mark, rule::kDuplicateKey,
                      "'" + key.scalar +
                          "' stands here for the second time: the first is in line " +
                          std::to_string(field->second.key.line),
                      "takes the last one", {"each key once", ""});
        field->second = {key.mark, &value};
    }
    return fields;
}

}  // namespace aliquot::sharing
