// SPDX-License-Identifier: Apache-2.0
#include "mig/config.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "document/yaml.h"
#include "k8s/memory_amount.h"

namespace aliquot::mig {
namespace {

using document::Mark;
using document::Value;

constexpr document::Limits kLimits{.bytes = 1U << 20U, .nodes = 50'000, .depth = 16};
constexpr unsigned kMostInstances = 64;
constexpr unsigned kMostIndex = 1023;

std::optional<std::uint32_t> board_number(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        return parse_number<std::uint32_t>(text.substr(2), 16);
    }
    return parse_number<std::uint32_t>(text);
}

/// Reads nodes and keeps what is wrong with them.
class ConfigReader {
public:
    Config read_file(const Value& root) {
        Config config;
        if (!fields(root, "the file", {"version", "mig-configs"})) return config;
        const Value* const version = required(root, "version");
        if (version != nullptr && (!version->is_string() || version->scalar != "v1")) {
            expected(*version, "version", "v1");
        }
        const Value* const configs = required(root, "mig-configs");
        if (configs == nullptr) return config;
        if (!configs->is_mapping() || configs->entries.empty()) {
            expected(*configs, "mig-configs", "at least one NAME with a list of rules");
            return config;
        }
        no_duplicates(*configs);
        for (const Value::Entry& entry : configs->entries) {
            config.configs.push_back({entry.first.scalar, read_rules(entry)});
        }
        return config;
    }

    void complain(Mark mark, std::string message) {
        constexpr std::size_t kMost = 50;
        if (problems_.size() < kMost) problems_.push_back({mark, std::move(message)});
    }

    std::vector<Problem> take_problems() {
        std::ranges::stable_sort(problems_, [](const Problem& a, const Problem& b) {
            return std::tuple(a.mark.line, a.mark.column) < std::tuple(b.mark.line, b.mark.column);
        });
        return std::move(problems_);
    }

private:
    void expected(const Value& node, std::string_view key, std::string_view what) {
        complain(node.mark, "'" + std::string(key) + "' is " + document::describe(node) +
                                ", expected " + std::string(what));
    }

    void no_duplicates(const Value& mapping) {
        std::set<std::string_view> seen;
        for (const Value::Entry& entry : mapping.entries) {
            const std::string_view key = entry.first.scalar;
            if (entry.first.is_mapping() || entry.first.is_sequence() || key.empty()) {
                complain(entry.first.mark,
                         "a key is " + document::describe(entry.first) + ", expected a name");
            } else if (seen.contains(key)) {
                complain(entry.first.mark, "'" + std::string(key) + "' stands here twice");
            }
            seen.insert(key);
        }
    }

    bool fields(const Value& node, std::string_view name, std::vector<std::string_view> known) {
        if (!node.is_mapping()) {
            complain(node.mark,
                     std::string(name) + " is " + document::describe(node) + ", expected fields");
            return false;
        }
        no_duplicates(node);
        for (const Value::Entry& entry : node.entries) {
            const std::string_view key = entry.first.scalar;
            if (std::ranges::find(known, key) != known.end()) continue;
            const auto near = nearest_word(key, known);
            complain(entry.first.mark, "'" + std::string(key.substr(0, 64)) +
                                           "' is not a field of " + std::string(name) +
                                           did_you_mean(near));
        }
        return true;
    }

    const Value* required(const Value& node, std::string_view key) {
        const Value* const value = node.find(key);
        if (value == nullptr) complain(node.mark, "'" + std::string(key) + "' is missing");
        return value;
    }

    std::vector<Rule> read_rules(const Value::Entry& entry) {
        std::vector<Rule> rules;
        if (!entry.second.is_sequence() || entry.second.items.empty()) {
            expected(entry.second, entry.first.scalar, "a list of at least one rule");
            return rules;
        }
        for (const Value& item : entry.second.items) rules.push_back(read_rule(item));
        return rules;
    }

    Rule read_rule(const Value& node) {
        Rule rule{.mark = node.mark};
        if (!fields(node, "a MIG configuration",
                    {"device-filter", "devices", "mig-enabled", "mig-devices"})) {
            return rule;
        }
        if (const Value* const filter = node.find("device-filter"))
            rule.filter = read_filter(*filter);
        if (const Value* const devices = required(node, "devices")) {
            rule.devices = read_devices(*devices);
        }
        const Value* const enabled = required(node, "mig-enabled");
        if (enabled != nullptr && enabled->kind != Value::Kind::kBool) {
            expected(*enabled, "mig-enabled", "true or false");
        }
        rule.enabled = enabled != nullptr && enabled->scalar.starts_with('t');
        const Value* const cut = node.find("mig-devices");
        if (cut == nullptr && rule.enabled) {
            complain(
                node.mark,
                "'mig-devices' is missing although 'mig-enabled' is true; {} means no instance");
        }
        if (cut != nullptr) rule.spec = read_last_applied(*cut);
        if (!rule.enabled && !rule.spec.empty()) {
            complain(cut->mark, "'mig-devices' has instances although 'mig-enabled' is false");
        }
        return rule;
    }

    std::vector<DeviceFilter> read_filter(const Value& node) {
        std::vector<DeviceFilter> filter;
        const std::span<const Value> items =
            node.is_sequence() ? std::span<const Value>(node.items) : std::span(&node, 1);
        for (const Value& item : items) {
            const std::string_view text = item.scalar;
            if (node.is_string() && text.empty()) continue;  // as if it were not there
            const auto colon = std::min(text.find(':'), text.size());
            const auto id = board_number(text.substr(0, colon));
            DeviceFilter one{.id = id.value_or(0)};
            bool good = item.is_string() && id.has_value();
            if (colon != text.size()) {
                one.subsystem = board_number(text.substr(colon + 1));
                good = good && one.subsystem;
            }
            if (!good) {
                expected(item, "device-filter",
                         "PCI ids in quotes, device before vendor, such as \"0x20B010DE\"");
                continue;
            }
            filter.push_back(one);
        }
        return filter;
    }

    std::optional<std::vector<unsigned>> read_devices(const Value& node) {
        if (node.is_string() && node.scalar == "all") return std::nullopt;
        std::vector<unsigned> devices;
        if (!node.is_sequence()) {
            expected(node, "devices", "all, or a list of GPU indices such as [0, 1]");
            return devices;
        }
        for (const Value& item : node.items) {
            const auto index = parse_number<unsigned>(item.scalar);
            if (item.kind != Value::Kind::kInteger || !index || *index > kMostIndex) {
                expected(item, "devices", "GPU indices from 0");
                continue;
            }
            devices.push_back(*index);
        }
        return devices;
    }

    std::optional<unsigned> read_count(const Value& node, std::string_view of) {
        const auto count = parse_number<unsigned>(node.scalar);
        if (node.kind == Value::Kind::kInteger && count && *count <= kMostInstances) return count;
        expected(node, of, "a number of instances, at most 64");
        return std::nullopt;
    }

    LayoutSpec read_last_applied(const Value& node) {
        LayoutSpec spec;
        if (node.is_sequence()) {
            for (const Value& item : node.items) {
                if (const auto want = read_want(item)) spec.push_back(*want);
            }
            return spec;
        }
        if (!node.is_mapping()) {
            expected(node, "mig-devices",
                     "PROFILE: COUNT, {}, or a list of profile, slices or memory-at-least");
            return spec;
        }
        no_duplicates(node);
        const std::size_t before = problems_.size();
        for (const Value::Entry& entry : node.entries) {
            auto profile = gpu::parse_mig_profile(entry.first.scalar);
            if (!profile) complain(entry.first.mark, profile.error().message);
            const auto count = read_count(entry.second, entry.first.scalar);
            if (!profile || !count || *count == 0) continue;
            spec.push_back({.profile = std::move(*profile), .count = *count});
        }
        if (spec.empty() && !node.entries.empty() && problems_.size() == before) {
            complain(node.mark, "'mig-devices' has no count above 0; {} means no instance");
        }
        return spec;
    }

    std::optional<InstanceSpec> read_want(const Value& node) {
        if (!fields(node, "an entry of mig-devices",
                    {"profile", "slices", "memory-at-least", "count"})) {
            return std::nullopt;
        }
        InstanceSpec want;
        if (const Value* const count = node.find("count")) {
            want.count = read_count(*count, "count").value_or(0);
            if (want.count == 0) complain(count->mark, "'count' is 0, expected at least 1");
        }
        const Value* const profile = node.find("profile");
        const Value* const slices = node.find("slices");
        const Value* const memory = node.find("memory-at-least");
        if ((profile != nullptr) == (slices != nullptr || memory != nullptr)) {
            complain(node.mark,
                     "expected either 'profile', or 'slices' or 'memory-at-least' or both");
            return std::nullopt;
        }
        if (profile != nullptr) {
            auto name = gpu::parse_mig_profile(profile->scalar);
            if (!name) complain(profile->mark, name.error().message);
            if (name) want.profile = std::move(*name);
        }
        if (slices != nullptr) {
            want.slices = read_count(*slices, "slices").value_or(0);
            if (want.slices == 0) complain(slices->mark, "'slices' is 0, expected at least 1");
        }
        if (memory != nullptr) {
            const auto bytes = k8s::parse_bytes(memory->scalar);
            if (!bytes || *bytes == 0) {
                expected(*memory, "memory-at-least", "an amount of memory such as 10Gi");
            } else {
                want.memory_bytes = *bytes;
            }
        }
        return want;
    }

    std::vector<Problem> problems_;
};

bool matches(const Rule& rule, const Board& board) {
    const bool kind =
        rule.filter.empty() || std::ranges::any_of(rule.filter, [&](const DeviceFilter& filter) {
            return filter.id == board.pci_device_id &&
                   (!filter.subsystem || filter.subsystem == board.subsystem);
        });
    return kind &&
           (!rule.devices || std::ranges::find(*rule.devices, board.index) != rule.devices->end());
}

Error at_line(ErrorCode code, const NamedConfig& config, const Rule& rule,
              const std::string& what) {
    return {code, "configuration " + config.name + ", line " + std::to_string(rule.mark.line) +
                      ": " + what};
}

}  // namespace

const NamedConfig* Config::find(std::string_view name) const {
    const auto found = std::ranges::find(configs, name, &NamedConfig::name);
    return found == configs.end() ? nullptr : &*found;
}

std::string to_text(std::string_view file, const Problem& problem) {
    return std::string(file) + ':' + std::to_string(problem.mark.line) + ':' +
           std::to_string(problem.mark.column) + ": " + problem.message;
}

ReadConfig read_config(std::string_view text) {
    ReadConfig result;
    ConfigReader reader;
    const document::Stream stream = document::parse_yaml(text, kLimits);
    if (!stream.errors.empty()) {
        reader.complain(stream.errors.front().mark, stream.errors.front().message);
    } else if (stream.documents.size() != 1) {
        reader.complain(stream.documents.empty() ? Mark{1, 1} : stream.documents[1].mark,
                        "expected one document");
    } else {
        result.config = reader.read_file(stream.documents.front());
    }
    result.problems = reader.take_problems();
    return result;
}

Result<std::vector<Target>> targets_of(const NamedConfig& config,
                                       const std::vector<Board>& boards) {
    for (const Rule& rule : config.rules) {
        for (const unsigned index : rule.devices.value_or(std::vector<unsigned>{})) {
            if (std::ranges::find(boards, index, &Board::index) == boards.end()) {
                return at_line(ErrorCode::kNotFound, config, rule,
                               "there is no GPU " + std::to_string(index) + "; this node has " +
                                   std::to_string(boards.size()));
            }
        }
    }
    std::vector<Target> targets;
    for (const Board& board : boards) {
        const auto rule = std::find_if(config.rules.rbegin(), config.rules.rend(),
                                       [&](const Rule& one) { return matches(one, board); });
        if (rule == config.rules.rend()) continue;
        if (!board.mig_capable) {
            if (!rule->enabled || !rule->devices) continue;
            return at_line(ErrorCode::kUnsupported, config, *rule,
                           "GPU " + std::to_string(board.index) + " has no MIG");
        }
        targets.push_back({board, rule->enabled, rule->spec});
    }
    return targets;
}

}  // namespace aliquot::mig
