// SPDX-License-Identifier: Apache-2.0
// `sharing`: which mechanism, and its list of resources.
#include <algorithm>
#include <array>

#include "base/number.h"
#include "document/write.h"
#include "k8s/memory_amount.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

void complain_no_resources(Reader& reader, Mark mark, const std::string& path,
                           const std::string& found) {
    std::string message = "'" + path + "' " + found;
    if (!reader.strict()) message += "; NVIDIA's plugin: no resources specified";
    reader.error(
        mark, rule::kNoResources, std::move(message),
        {"a list 'resources' with an entry for each resource to share", reader.corrected()});
}

/// The list of a block; null when there is none (complained about).
const Value* find_resources(Reader& reader, const Value& node, const Fields& fields, Mark key) {
    const std::string path = fields.path;
    if (!fields.has("resources")) {
        // Of `replicas` beside it, or of the list one level higher, all was said already.
        const Value* sharing =
            reader.root() == nullptr ? nullptr : find_any_case(*reader.root(), "sharing");
        const bool list_above =
            sharing != nullptr && find_any_case(*sharing, "resources") != nullptr;
        const bool told =
            find_any_case(node, "replicas") != nullptr || (list_above && reader.strict());
        if (!told || !reader.failed()) {
            complain_no_resources(reader, key, path, "has no list 'resources'");
        }
        return nullptr;
    }
    const Value* list = fields.find("resources");
    if (list == nullptr) {
        complain_no_resources(reader, fields.key_mark("resources"), path,
                              "has nothing under 'resources'");
        return nullptr;
    }
    if (list->is_sequence() && list->items.empty()) {
        complain_no_resources(reader, list->mark, path, "has an empty list 'resources'");
        return nullptr;
    }
    if (list->is_sequence()) return list;
    std::string fix;
    if (list->is_mapping()) {
        Value items = document::make_sequence();
        items.items.push_back(*list);
        Value block = document::make_mapping();
        document::append(block, "resources", std::move(items));
        fix = document::to_yaml(block);
    }
    complain_type(reader, *list, fields.path_of("resources"), "a list: each entry begins with '- '",
                  fix);
    return nullptr;
}

/// NVIDIA's plugin keeps one entry per name: the place of the last, the replicas of the largest.
std::vector<SharedResource> merge_same_names(Reader& reader,
                                             std::vector<SharedResource> resources) {
    std::vector<SharedResource> merged;
    for (SharedResource& resource : resources) {
        const auto same = std::find_if(
            merged.begin(), merged.end(),
            [&resource](const SharedResource& one) { return one.name == resource.name; });
        if (same == merged.end()) {
            merged.push_back(std::move(resource));
            continue;
        }
        const unsigned most = std::max(same->replicas, resource.replicas);
        reader.warning(resource.mark, rule::kSameResource,
                       resource.name +
                           " stands in two entries; NVIDIA's plugin takes the later "
                           "one, with the larger number of replicas (" +
                           std::to_string(most) + ")");
        *same = std::move(resource);
        same->replicas = most;
    }
    return merged;
}

/// NVIDIA's plugin reads `devices` and `rename` and then shares all GPUs under the usual name.
void discard_selection(Reader& reader, const Value& list, std::vector<SharedResource>& resources,
                       bool rename_by_default) {
    for (const Value& entry : list.items) {
        for (const auto& [key, value] : entry.entries) {
            const bool all = value.is_string() && value.scalar == "all";
            if (key.scalar == "devices" && !all && value.kind != Value::Kind::kNull) {
                reader.warning(key.mark, rule::kDiscarded,
                               "'devices' limits nothing; NVIDIA's plugin discards it and shares "
                               "all GPUs");
            }
            if (key.scalar != "rename" || value.kind == Value::Kind::kNull) continue;
            const Value* name = entry.find("name");
            const bool usual = rename_by_default && name != nullptr &&
                               parse_resource_name(value.scalar).name ==
                                   parse_resource_name(name->scalar).name + ".shared";
            if (usual) continue;
            reader.warning(key.mark, rule::kDiscarded,
                           "'rename' renames nothing; NVIDIA's plugin discards it");
        }
    }
    for (SharedResource& resource : resources) {
        resource.devices = {};
        resource.rename.reset();
    }
}

/// An mps or timeSlicing block; empty when it is wrong (complained about).
std::optional<Sharing> read_block(Reader& reader, const Value& node, Mark key,
                                  grant::Mechanism mechanism, const Flags& flags) {
    const std::string path = "sharing." + std::string(config_key(mechanism));
    Sharing sharing;
    sharing.mechanism = mechanism;
    sharing.fail_requests_greater_than_one = mechanism == grant::Mechanism::kMps;
    if (node.kind == Value::Kind::kNull || (node.is_mapping() && node.entries.empty()) ||
        node.is_sequence()) {
        const char* found = node.kind == Value::Kind::kNull ? "has nothing in it"
                            : node.is_sequence()            ? "is a list"
                                                            : "is empty";
        complain_no_resources(reader, key, path, found);
        return std::nullopt;
    }
    const auto fields = read_section(reader, node, section(path), path);
    if (!fields) return std::nullopt;
    if (const auto rename = read_bool(reader, *fields, "renameByDefault")) {
        sharing.rename_by_default = *rename;
    }
    if (const auto fail = read_bool(reader, *fields, "failRequestsGreaterThanOne")) {
        sharing.fail_requests_greater_than_one = *fail;
    }
    const Value* list = find_resources(reader, node, *fields, key);
    if (list == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        const std::string entry_path = path + ".resources[" + std::to_string(i) + ']';
        auto resource = read_shared_resource(reader, list->items[i], entry_path, mechanism, flags);
        if (resource) sharing.resources.push_back(*std::move(resource));
    }
    if (reader.strict()) {
        find_shadowed(reader, sharing.resources, path + ".resources");
    } else {
        discard_selection(reader, *list, sharing.resources, sharing.rename_by_default);
        sharing.resources = merge_same_names(reader, std::move(sharing.resources));
    }
    return sharing;
}

void check_mps(Reader& reader, const Sharing& mps, Mark key, const Flags& flags) {
    if (flags.mig_strategy == MigStrategy::kMixed) {
        reader.error(key, rule::kMpsAndMig, "'sharing.mps' with 'flags.migStrategy: mixed'",
                     {"migStrategy none, or timeSlicing", "flags:\n  migStrategy: none"});
    }
    for (const SharedResource& resource : mps.resources) {
        if (resource.name.find("/mig-") == std::string::npos) continue;
        reader.error(resource.mark, rule::kMpsAndMig,
                     "'" + resource.name + "' under sharing.mps: MIG devices are not shared by MPS",
                     {"nvidia.com/gpu, or timeSlicing", "name: nvidia.com/gpu"});
    }
    if (!flags.mps_root || flags.mps_root->empty()) {
        reader.warning(key, rule::kMpsRoot,
                       "'sharing.mps' without 'flags.mpsRoot': the plugin ends unless --mps-root "
                       "or MPS_ROOT names it",
                       {"a directory of the host for MPS", "flags:\n  mpsRoot: /run/nvidia/mps"});
    }
}

/// "5%" or an amount of memory.
void read_slack(Reader& reader, const Fields& fields, GuardConfig& guard) {
    const Value* node = fields.find("slack");
    if (node == nullptr) return;
    const std::string& text = node->scalar;
    const bool scalar = !node->is_mapping() && !node->is_sequence();
    if (scalar && text.size() > 1 && text.ends_with('%')) {
        const auto percent =
            parse_number<double>(std::string_view(text).substr(0, text.size() - 1));
        if (percent && *percent >= 0 && *percent <= 100) {
            guard.slack_percent = *percent;
            return;
        }
    } else if (const auto bytes = k8s::parse_bytes(text); scalar && bytes) {
        guard.slack_bytes = *bytes;
        return;
    }
    reader.error(node->mark, rule::kLimit,
                 "'" + fields.path_of("slack") + "' is " + document::describe(*node),
                 {"a part of the limit such as 5%, or an amount such as 256Mi", "slack: 5%"});
}

/// `sharing.guard`, which NVIDIA's plugin does not know.
GuardConfig read_guard(Reader& reader, const Fields& sharing) {
    if (!reader.strict()) {
        reader.warning(sharing.key_mark("guard"), rule::kUnknownKey,
                       "'guard' is not a key of sharing; NVIDIA's plugin ignores it");
        return {};
    }
    const Value* node = sharing.find("guard");
    if (node == nullptr) return {};
    const auto fields = read_section(reader, *node, section("sharing.guard"), "sharing.guard");
    if (!fields) return {};
    constexpr std::array<std::string_view, 2> kFail{"closed", "open"};
    constexpr std::array<std::string_view, 2> kWatchdog{"report", "kill"};
    GuardConfig guard;
    guard.fail_open = read_word(reader, *fields, "fail", kFail).value_or(0) == 1;
    guard.kill = read_word(reader, *fields, "watchdog", kWatchdog).value_or(0) == 1;
    guard.kernel_limit = read_bool(reader, *fields, "kernelLimit").value_or(false);
    read_slack(reader, *fields, guard);
    return guard;
}

}  // namespace

Sharing read_sharing(Reader& reader, const Value& node, const Flags& flags) {
    const auto fields = read_section(reader, node, section("sharing"), "sharing");
    if (!fields) return {};
    std::optional<Sharing> time_slicing;
    std::optional<Sharing> mps;
    if (fields->has("timeSlicing")) {
        time_slicing =
            read_block(reader, *fields->fields_.at("timeSlicing").value,
                       fields->key_mark("timeSlicing"), grant::Mechanism::kTimeSlicing, flags);
    }
    // To NVIDIA's plugin `mps:` without a value is no mps at all; timeSlicing is another matter.
    const bool has_mps = fields->has("mps") && (reader.strict() || fields->find("mps") != nullptr);
    if (has_mps) {
        const Mark key = fields->key_mark("mps");
        mps = read_block(reader, *fields->fields_.at("mps").value, key, grant::Mechanism::kMps,
                         flags);
        if (mps) check_mps(reader, *mps, key, flags);
    }
    if (has_mps && fields->has("timeSlicing")) {
        reader.refuse(std::max(fields->key_mark("mps"), fields->key_mark("timeSlicing"),
                               [](Mark a, Mark b) { return a.line < b.line; }),
                      rule::kBothMechanisms, "both 'sharing.timeSlicing' and 'sharing.mps'",
                      "shares by MPS only", {"one of them", ""});
    }
    Sharing sharing;
    if (mps) {
        sharing = *std::move(mps);
    } else if (time_slicing) {
        sharing = *std::move(time_slicing);
    }
    if (fields->has("guard")) sharing.guard = read_guard(reader, *fields);
    return sharing;
}

}  // namespace aliquot::sharing
