// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include "cdi/names.h"
#include "cdi/spec.h"
#include "document/yaml.h"

namespace aliquot::cdi {
namespace {

using document::Mark;
using document::Value;

constexpr document::Limits kLimits{.bytes = 4U << 20U, .nodes = 100'000, .depth = 12};

/// Reads values out of nodes and keeps the first complaint, so that the readers below are plain
/// assignments; what they return after a complaint is thrown away.
class Reader {
public:
    void complain(Mark mark, const std::string& what) {
        if (problem_) return;
        problem_ = Error{ErrorCode::kInvalidInput, "CDI spec, line " + std::to_string(mark.line) +
                                                       ", column " + std::to_string(mark.column) +
                                                       ": " + what};
    }
    [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

    /// True when `node` is a mapping that has only keys of `known`, each once.
    bool mapping(const Value& node, const std::string& name,
                 std::initializer_list<std::string_view> known) {
        if (!node.is_mapping()) {
            complain(node.mark, name + " is " + describe(node) + ", expected an object");
            return false;
        }
        for (std::size_t i = 0; i < node.entries.size(); ++i) {
            const Value& key = node.entries[i].first;
            if (std::ranges::find(known, key.scalar) == known.end()) {
                complain(key.mark, "'" + key.scalar + "' is not a field of " + name);
                return false;
            }
            for (std::size_t earlier = 0; earlier < i; ++earlier) {
                if (node.entries[earlier].first.scalar == key.scalar) {
                    complain(key.mark, "'" + key.scalar + "' is in " + name + " twice");
                    return false;
                }
            }
        }
        return true;
    }

    std::string text(const Value& parent, std::string_view key) {
        const Value* const node = parent.find(key);
        if (node == nullptr) return {};
        if (!node->is_string()) expected(*node, key, "a string");
        return node->scalar;
    }

    std::vector<std::string> texts(const Value& parent, std::string_view key) {
        std::vector<std::string> result;
        for (const Value& item : items(parent, key)) {
            if (!item.is_string()) expected(item, key, "a list of strings");
            result.push_back(item.scalar);
        }
        return result;
    }

    std::span<const Value> items(const Value& parent, std::string_view key) {
        const Value* const node = parent.find(key);
        if (node == nullptr) return {};
        if (node->is_sequence()) return node->items;
        expected(*node, key, "a list");
        return {};
    }

    /// Fields that we check and drop.
    void number(const Value& parent, std::string_view key) {
        const Value* const node = parent.find(key);
        if (node != nullptr && node->kind != Value::Kind::kInteger)
            expected(*node, key, "a number");
    }
    void numbers(const Value& parent, std::string_view key) {
        for (const Value& item : items(parent, key)) {
            if (item.kind != Value::Kind::kInteger) expected(item, key, "a list of numbers");
        }
    }
    void annotations(const Value& parent) {
        const Value* const node = parent.find("annotations");
        if (node == nullptr) return;
        if (!node->is_mapping()) expected(*node, "annotations", "an object");
        for (const auto& entry : node->entries) {
            if (!entry.second.is_string()) expected(entry.second, "annotations", "strings");
        }
    }

private:
    void expected(const Value& node, std::string_view key, std::string_view what) {
        complain(node.mark, "'" + std::string(key) + "' is " + describe(node) + ", expected " +
                                std::string(what));
    }

    std::optional<Error> problem_;
};

DeviceNode read_device_node(Reader& reader, const Value& node) {
    if (!reader.mapping(node, "a device node",
                        {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions",
                         "uid", "gid"})) {
        return {};
    }
    for (const std::string_view key : {"major", "minor", "fileMode", "uid", "gid"}) {
        reader.number(node, key);
    }
    const std::string type = reader.text(node, "type");
    if (!type.empty() && type != "b" && type != "c" && type != "u" && type != "p") {
        reader.complain(node.mark, "device type '" + type + "' is not one of b, c, u, p");
    }
    return {.path = reader.text(node, "path"),
            .host_path = reader.text(node, "hostPath"),
            .permissions = reader.text(node, "permissions")};
}

Mount read_mount(Reader& reader, const Value& node) {
    if (!reader.mapping(node, "a mount", {"hostPath", "containerPath", "type", "options"}))
        return {};
    reader.text(node, "type");
    return {.host_path = reader.text(node, "hostPath"),
            .container_path = reader.text(node, "containerPath"),
            .options = reader.texts(node, "options")};
}

Hook read_hook(Reader& reader, const Value& node) {
    if (!reader.mapping(node, "a hook", {"hookName", "path", "args", "env", "timeout"})) return {};
    reader.number(node, "timeout");
    return {.name = reader.text(node, "hookName"),
            .path = reader.text(node, "path"),
            .arguments = reader.texts(node, "args"),
            .environment = reader.texts(node, "env")};
}

void check_intel_rdt(Reader& reader, const Value& edits) {
    const Value* const node = edits.find("intelRdt");
    if (node != nullptr) {
        reader.mapping(*node, "intelRdt",
                       {"closID", "l3CacheSchema", "memBwSchema", "schemata", "enableCMT",
                        "enableMBM", "enableMonitoring"});
    }
}

Edits read_edits(Reader& reader, const Value& parent) {
    const Value* const node = parent.find("containerEdits");
    if (node == nullptr) return {};
    if (!reader.mapping(*node, "containerEdits",
                        {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt",
                         "netDevices"})) {
        return {};
    }
    Edits edits{.environment = reader.texts(*node, "env")};
    for (const Value& item : reader.items(*node, "deviceNodes")) {
        edits.device_nodes.push_back(read_device_node(reader, item));
    }
    for (const Value& item : reader.items(*node, "mounts")) {
        edits.mounts.push_back(read_mount(reader, item));
    }
    for (const Value& item : reader.items(*node, "hooks")) {
        edits.hooks.push_back(read_hook(reader, item));
    }
    reader.numbers(*node, "additionalGids");
    check_intel_rdt(reader, *node);
    for (const Value& item : reader.items(*node, "netDevices")) {
        reader.mapping(item, "a net device", {"hostInterfaceName", "name"});
    }
    return edits;
}

/// The lowest version for the fields that Spec does not keep.
std::string_view version_of_dropped(const Value& edits) {
    if (edits.find("netDevices") != nullptr) return "1.1.0";
    if (edits.find("additionalGids") != nullptr || edits.find("intelRdt") != nullptr)
        return "0.7.0";
    const Value* const mounts = edits.find("mounts");
    if (mounts == nullptr) return "0.3.0";
    const bool typed = std::ranges::any_of(
        mounts->items, [](const Value& mount) { return mount.find("type") != nullptr; });
    return typed ? "0.4.0" : "0.3.0";
}

std::string version_needed(const Value& document, const Spec& spec) {
    std::string needed = minimum_version(spec);
    const auto raise = [&](std::string_view version) {
        if (version_rank(version) > version_rank(needed)) needed = version;
    };
    const auto look_at = [&](const Value& holder) {
        if (holder.find("annotations") != nullptr) raise("0.6.0");
        const Value* const edits = holder.find("containerEdits");
        if (edits != nullptr) raise(version_of_dropped(*edits));
    };
    look_at(document);
    for (const Value& device : document.find("devices")->items) look_at(device);
    return needed;
}

Spec read_spec(Reader& reader, const Value& document) {
    Spec spec;
    if (!reader.mapping(document, "a CDI spec",
                        {"cdiVersion", "kind", "annotations", "devices", "containerEdits"})) {
        return spec;
    }
    for (const std::string_view key : {"cdiVersion", "kind", "devices"}) {
        if (document.find(key) == nullptr) {
            reader.complain(document.mark, "'" + std::string(key) + "' is missing");
        }
    }
    reader.annotations(document);
    spec.kind = reader.text(document, "kind");
    for (const Value& item : reader.items(document, "devices")) {
        if (!reader.mapping(item, "a device", {"name", "annotations", "containerEdits"})) break;
        reader.annotations(item);
        spec.devices.push_back(
            {.name = reader.text(item, "name"), .edits = read_edits(reader, item)});
    }
    spec.edits = read_edits(reader, document);
    return spec;
}

void check_version(Reader& reader, const Value& document, const Spec& spec) {
    if (reader.problem()) return;
    const Value& node = *document.find("cdiVersion");
    const std::string version = reader.text(document, "cdiVersion");
    if (reader.problem()) return;
    const auto rank = version_rank(version);
    if (!rank) {
        reader.complain(node.mark, "cdiVersion '" + version + "' is not one of 0.3.0 to 1.1.0");
        return;
    }
    const std::string needed = version_needed(document, spec);
    if (*rank < *version_rank(needed)) {
        reader.complain(node.mark,
                        "cdiVersion is '" + version + "', but what the spec uses needs " + needed);
    }
}

}  // namespace

Result<Spec> parse(std::string_view text) {
    const document::Stream stream = document::parse_yaml(text, kLimits);
    Reader reader;
    if (!stream.errors.empty()) {
        reader.complain(stream.errors.front().mark, stream.errors.front().message);
    } else if (stream.documents.size() != 1) {
        reader.complain({.line = 1, .column = 1},
                        std::to_string(stream.documents.size()) + " documents, expected one");
    }
    if (reader.problem()) return *reader.problem();

    const Value& document = stream.documents.front();
    Spec spec = read_spec(reader, document);
    check_version(reader, document, spec);
    if (reader.problem()) return *reader.problem();
    const std::vector<std::string> problems = problems_of(spec);
    if (!problems.empty()) reader.complain(document.mark, problems.front());
    if (reader.problem()) return *reader.problem();
    return spec;
}

}  // namespace aliquot::cdi
