// SPDX-License-Identifier: Apache-2.0
#include "node_groups/machines.h"

#include <algorithm>
#include <set>

#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"
#include "document/path.h"
#include "document/yaml.h"
#include "k8s/names.h"
#include "pools/read.h"

namespace aliquot::node_groups {
namespace {

using document::Value;
using Problems = std::vector<pools::Problem>;

constexpr std::size_t kMostMachines = 1'000;
constexpr std::size_t kMostWords = 64;

std::vector<std::string> read_command(const Value& spec, const char* key, Problems& problems) {
    std::vector<std::string> words;
    const Value* const value = spec.find(key);
    if (value == nullptr || !value->is_sequence() || value->items.empty() ||
        value->items.size() > kMostWords) {
        problems.push_back(
            {value == nullptr ? spec.mark : value->mark,
             std::string("spec.") + key + ": a list of a program and its arguments expected"});
        return words;
    }
    for (const Value& word : value->items) words.push_back(word.scalar);
    return words;
}

Machine read_machine(const Value& node, Problems& problems) {
    Machine machine;
    if (!node.is_mapping()) {
        problems.push_back({node.mark, "spec.machines: a mapping with 'name' expected"});
        return machine;
    }
    for (const auto& [key, value] : node.entries) {
        if (value.is_mapping() || value.is_sequence() || value.scalar.empty() ||
            value.scalar.front() == '-') {
            problems.push_back({value.mark, "spec.machines: '" + one_line(key.scalar, 40) +
                                                "' is not a text, or begins with '-'"});
        } else if (key.scalar == "name") {
            machine.name = value.scalar;
        } else {
            machine.values[key.scalar] = value.scalar;
        }
    }
    if (!k8s::is_dns_subdomain(machine.name)) {
        problems.push_back({node.mark, "spec.machines: '" + one_line(machine.name, 70) +
                                           "' is not a name of a node"});
    }
    return machine;
}

void read_machines(const Value& object, std::vector<Group>& groups, Problems& problems) {
    const std::string name = document::text_at(object, {"metadata", "name"});
    const auto group =
        std::ranges::find_if(groups, [&](const Group& one) { return one.pool.name == name; });
    const Value* const spec = object.find("spec");
    if (group == groups.end() || spec == nullptr || !spec->is_mapping()) {
        problems.push_back(
            {object.mark, "machines of '" + one_line(name, 70) +
                              "': no pool of engine external has this name, or spec is missing"});
        return;
    }
    const std::set<std::string_view> known{"start", "stop", "timeout", "machines"};
    for (const auto& entry : spec->entries) {
        if (!known.contains(entry.first.scalar)) {
            problems.push_back(
                {entry.first.mark, "spec." + one_line(entry.first.scalar, 40) +
                                       ": no such key; expected start, stop, timeout, machines"});
        }
    }
    group->power.start = read_command(*spec, "start", problems);
    group->power.stop = read_command(*spec, "stop", problems);
    if (const Value* const timeout = spec->find("timeout")) {
        const auto read = parse_duration(timeout->scalar);
        if (!read || *read < std::chrono::seconds(1) || *read > std::chrono::minutes(10)) {
            problems.push_back({timeout->mark, "spec.timeout: a duration from 1s to 10m expected"});
        } else {
            group->power.timeout = std::chrono::ceil<std::chrono::seconds>(*read);
        }
    }
    const auto& list = document::items_at(spec, {"machines"});
    if (list.empty() || list.size() > kMostMachines) {
        problems.push_back({spec->mark, "spec.machines: 1 to " + std::to_string(kMostMachines) +
                                            " machines expected"});
        return;
    }
    std::set<std::string> names;
    for (const Value& node : list) {
        Machine machine = read_machine(node, problems);
        if (!names.insert(machine.name).second) {
            problems.push_back({node.mark, "spec.machines: '" + machine.name + "' is there twice"});
        }
        for (const auto* const words : {&group->power.start, &group->power.stop}) {
            const auto made = command_for(*words, machine);
            if (!made) problems.push_back({node.mark, made.error().message});
        }
        group->machines.push_back(std::move(machine));
    }
}

}  // namespace

Result<std::vector<Group>> read_groups(std::string_view file, std::string_view text) {
    const auto stream = document::parse_yaml(text);
    std::vector<Group> groups;
    Problems problems;
    for (const auto& error : stream.errors) problems.push_back({error.mark, error.message});
    for (const Value& object : stream.documents) {
        if (document::text_at(object, {"kind"}) != "Pool") continue;
        auto read = pools::read_pool(object);
        std::ranges::copy_if(read.problems, std::back_inserter(problems),
                             [](const pools::Problem& one) { return !one.is_warning; });
        for (pools::Pool& pool : read.pools) {
            if (pool.engine == pools::Engine::kExternal)
                groups.push_back({.pool = std::move(pool)});
        }
    }
    for (const Value& object : stream.documents) {
        if (document::text_at(object, {"kind"}) == "Machines")
            read_machines(object, groups, problems);
    }
    for (const Group& group : groups) {
        if (group.machines.empty() && problems.empty()) {
            problems.push_back({group.pool.mark, "pool '" + group.pool.name + "' has no machines"});
        } else if (group.pool.max > group.machines.size() && problems.empty()) {
            problems.push_back({group.pool.mark, "pool '" + group.pool.name + "' has " +
                                                     counted(group.machines.size(), "machine") +
                                                     ", max is " + std::to_string(group.pool.max)});
        }
    }
    if (groups.empty() && problems.empty()) {
        problems.push_back({{1, 1}, "no pool with 'engine: external'"});
    }
    if (problems.empty()) return groups;
    std::string all = pools::text_of(file, problems);
    all.pop_back();
    return Error{ErrorCode::kInvalidInput, std::move(all)};
}

Result<std::vector<std::string>> command_for(const std::vector<std::string>& words,
                                             const Machine& machine) {
    std::vector<std::string> made;
    for (const std::string& word : words) {
        std::string text;
        std::string_view rest = word;
        while (!rest.empty()) {
            const auto open = rest.find('{');
            const auto close = open == std::string_view::npos ? open : rest.find('}', open);
            text += rest.substr(0, close == std::string_view::npos ? rest.size() : open);
            if (close == std::string_view::npos) break;
            const std::string key(rest.substr(open + 1, close - open - 1));
            const auto value = machine.values.find(key);
            if (key != "name" && value == machine.values.end()) {
                return Error{
                    ErrorCode::kInvalidInput,
                    "machine '" + machine.name + "' has no value for {" + one_line(key, 40) + "}"};
            }
            text += key == "name" ? machine.name : value->second;
            rest.remove_prefix(close + 1);
        }
        made.push_back(std::move(text));
    }
    return made;
}

std::string provider_id(std::string_view group, std::string_view machine) {
    return concat({"aliquot://", group, "/", machine});
}

}  // namespace aliquot::node_groups
