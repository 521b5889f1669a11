// SPDX-License-Identifier: Apache-2.0
#include "sharing/config.h"

#include <algorithm>
#include <set>

#include "document/write.h"
#include "document/yaml.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

void read_version(Reader& reader, const Fields& fields) {
    const Value* node = fields.find("version");
    if (node == nullptr) return;  // NVIDIA's plugin takes v1 for granted
    if (node->is_string() && node->scalar == "v1") return;
    const bool scalar = !node->is_mapping() && !node->is_sequence();
    if (!reader.strict() && node->is_string() && node->scalar.empty()) return;
    std::string message = "'version' is " + document::describe(*node);
    if (!reader.strict() && scalar) {
        message += "; NVIDIA's plugin: unknown version: " + node->scalar;
    }
    reader.error(node->mark, rule::kVersion, std::move(message), {"v1", "version: v1"});
}

std::vector<unsigned> read_channels(Reader& reader, const Fields& fields) {
    const Value* node = fields.find("channelIDs");
    if (node == nullptr) return {};
    if (!node->is_sequence()) {
        complain_type(reader, *node, "imex.channelIDs", "[] or [0]", "channelIDs: [0]");
        return {};
    }
    std::vector<unsigned> channels;
    for (const Value& item : node->items) {
        if (integer_of(item, reader.strict()) == 0) {
            channels.assign(1, 0);
            continue;
        }
        reader.error(item.mark, rule::kImex, "'imex.channelIDs' has " + document::describe(item),
                     {"[] or [0]: channel 0 is the only one", "channelIDs: [0]"});
    }
    return channels;
}

void read_imex(Reader& reader, const Value& node, Config& config) {
    const auto fields = read_section(reader, node, section("imex"), "imex");
    if (!fields) return;
    config.imex_channel_ids = read_channels(reader, *fields);
    config.imex_required = read_bool(reader, *fields, "required").value_or(false);
    if (config.imex_required && config.imex_channel_ids.empty() && reader.strict()) {
        reader.warning(fields->key_mark("required"), rule::kImex,
                       "'imex.required' without a channel in 'imex.channelIDs' asks for nothing",
                       {"channel 0", "channelIDs: [0]"});
    }
}

/// The keys of a Kubernetes object instead of a configuration: somebody gave the outer file.
bool is_kubernetes_object(const Value& root) {
    return root.find("apiVersion") != nullptr && root.find("kind") != nullptr;
}

/// In NVIDIA's reading `<<` brings the keys of another mapping in, where they are not there yet.
Value with_merged_keys(const Value& node) {
    Value result = node;
    result.entries.clear();
    for (Value& item : result.items) item = with_merged_keys(item);
    for (const auto& [key, value] : node.entries) {
        if (key.scalar != "<<" || key.quoted) {
            result.entries.emplace_back(key, with_merged_keys(value));
        }
    }
    std::set<std::string> present;
    for (const auto& entry : result.entries) present.insert(entry.first.scalar);
    for (const auto& [key, value] : node.entries) {
        if (key.scalar != "<<" || key.quoted) continue;
        std::vector<const Value*> sources;
        if (value.is_mapping()) sources.push_back(&value);
        for (const Value& item : value.items) sources.push_back(&item);
        for (const Value* source : sources) {
            const Value merged = with_merged_keys(*source);
            for (const auto& entry : merged.entries) {
                if (present.insert(entry.first.scalar).second) result.entries.push_back(entry);
            }
        }
    }
    return result;
}

Config read_root(Reader& reader, const Value& root) {
    Config config;
    if (root.kind == Value::Kind::kNull) return config;
    if (is_kubernetes_object(root) && reader.strict()) {
        const Value* kind = root.find("kind");
        reader.error(kind->mark, rule::kOtherFile,
                     "this is a Kubernetes object (" + kind->scalar.substr(0, 80) +
                         "), not the configuration itself",
                     {"the text of one key of its 'data', in a file of its own", ""});
        return config;
    }
    reader.set_root(&root);
    const auto fields = read_section(reader, root, section(""), "");
    if (fields) {
        read_version(reader, *fields);
        if (const Value* flags = fields->find("flags")) config.flags = read_flags(reader, *flags);
        if (const Value* resources = fields->find("resources")) {
            read_root_resources(reader, *resources);
        }
        if (const Value* sharing = fields->find("sharing")) {
            config.sharing = read_sharing(reader, *sharing, config.flags);
        }
        if (const Value* imex = fields->find("imex")) read_imex(reader, *imex, config);
    }
    reader.set_root(nullptr);
    return config;
}

}  // namespace

void read_root_resources(Reader& reader, const Value& node) {
    if (node.is_sequence()) {
        const bool named = std::any_of(node.items.begin(), node.items.end(), [](const Value& item) {
            return find_any_case(item, "name") != nullptr ||
                   find_any_case(item, "replicas") != nullptr;
        });
        Advice advice{"nothing here: the list of resources belongs under sharing.timeSlicing", ""};
        if (named) advice.fix = reader.corrected();
        std::string message = "'resources' at the top of the file is " + document::describe(node);
        if (!reader.strict()) {
            message += "; NVIDIA's plugin: cannot unmarshal array into Config.resources";
        }
        reader.error(node.mark, rule::kRootResources, std::move(message), std::move(advice));
        return;
    }
    const auto fields = read_section(reader, node, section("resources"), "resources");
    if (!fields) return;
    for (const auto* key : {"gpus", "mig"}) {
        const Value* list = fields->find(key);
        if (list == nullptr) continue;
        const std::string path = fields->path_of(key);
        if (!list->is_sequence()) {
            complain_type(reader, *list, path, "a list", "");
            continue;
        }
        for (std::size_t i = 0; i < list->items.size(); ++i) {
            const auto entry = read_section(reader, list->items[i], section("resources.gpus[]"),
                                            path + '[' + std::to_string(i) + ']');
            if (entry) read_text(reader, *entry, "pattern");
            if (entry) read_text(reader, *entry, "name");
        }
        if (list->items.empty()) continue;
        reader.refuse(fields->key_mark(key), rule::kRootResources, "'" + path + "' has no effect",
                      "discards it",
                      {"nothing here; to name shared GPUs use 'rename' in an entry of "
                       "sharing.timeSlicing.resources",
                       ""});
    }
}

std::optional<Config> read_documents(Reader& reader, const std::vector<Value>& documents) {
    Config config;
    if (!documents.empty()) {
        const Value root = reader.strict() ? documents[0] : with_merged_keys(documents[0]);
        config = read_root(reader, root);
    }
    for (std::size_t i = 1; i < documents.size(); ++i) {
        if (documents[i].kind == Value::Kind::kNull) continue;
        reader.refuse(documents[i].mark, rule::kSecondDocument,
                      "a second YAML document begins here", "reads only the first",
                      {"one document: a file without a line '---' in its middle", ""});
        break;
    }
    if (reader.failed()) return std::nullopt;
    return config;
}

ReadConfig read_config(std::string_view file, std::string_view text, Compatibility compatibility) {
    Reader reader(file, compatibility);
    const document::Stream stream = document::parse_yaml(text, kConfigLimits);
    for (const document::SyntaxError& error : stream.errors) {
        // NVIDIA's plugin never reads as far as a second document.
        if (!reader.strict() && !stream.documents.empty()) {
            reader.warning(error.mark, rule::kSyntax,
                           error.message + "; NVIDIA's plugin reads only the first document");
        } else {
            reader.error(error.mark, rule::kSyntax, error.message);
        }
    }
    ReadConfig result;
    result.config = read_documents(reader, stream.documents);
    result.findings = reader.take_findings();
    return result;
}

}  // namespace aliquot::sharing
