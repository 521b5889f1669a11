// SPDX-License-Identifier: Apache-2.0
#include "sharing/config_file.h"

#include <algorithm>

#include "document/path.h"
#include "document/write.h"
#include "document/yaml.h"
#include "k8s/memory_amount.h"
#include "sharing/config_objects.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

/// Reads all the documents of one file, then holds them against each other.
class FileCheck {
public:
    FileCheck(std::string_view file, std::string_view text, Compatibility compatibility)
        : file_(file), text_(text), compatibility_(compatibility), reader_(file, compatibility) {}

    CheckedFile run();

private:
    void check_document(const Value& document, unsigned depth);
    void check_config_map(const Value& object);
    void check_data(const Value& data, const std::string& where, FoundConfigMap& map);
    void check_text(const Value& value, const std::string& where, FoundConfigMap& map);
    void check_mapping(const Value& value, const std::string& key, const std::string& where,
                       FoundConfigMap& map);
    void read(const std::vector<Value>& documents, const std::string& where, FoundConfigMap& map);
    void note_mig_parted(Mark mark);

    std::string file_;
    std::string_view text_;
    Compatibility compatibility_;
    Reader reader_;
    CheckedFile result_;
    Wiring wiring_;
    unsigned values_read_ = 0;
};

void collect_words(const Value& node, std::vector<std::string>& words) {
    constexpr std::size_t kMostWords = 2000;
    constexpr std::size_t kLongestName = 253;
    if (words.size() >= kMostWords) return;
    if (!node.scalar.empty() && node.scalar.size() <= kLongestName) words.push_back(node.scalar);
    for (const Value& item : node.items) collect_words(item, words);
    for (const auto& [key, value] : node.entries) collect_words(value, words);
}

bool runs_plugin(const Value& daemon_set, const std::vector<std::string>& words) {
    const auto names_plugin = [](const std::string& word) {
        return word.find("k8s-device-plugin") != std::string::npos ||
               word.find("nvidia-device-plugin") != std::string::npos;
    };
    return names_plugin(name_at(daemon_set, "metadata.name")) ||
           std::any_of(words.begin(), words.end(), names_plugin);
}

void FileCheck::note_mig_parted(Mark mark) {
    reader_.info(
        mark, rule::kOtherFile,
        "a mig-parted configuration (it divides GPUs by MIG), not a sharing configuration");
}

/// Reads one configuration with a reader of its own, since errors of one do not spoil another.
void FileCheck::read(const std::vector<Value>& documents, const std::string& where,
                     FoundConfigMap& map) {
    Reader reader(file_, compatibility_);
    auto config = read_documents(reader, documents);
    for (auto& finding : reader.take_findings()) result_.findings.push_back(std::move(finding));
    if (!config) return;
    if (config->flags.mig_strategy) map.mig_strategy = config->flags.mig_strategy;
    result_.configs.push_back({where, *std::move(config)});
}

/// A value of a ConfigMap that is a text: YAML in YAML.
void FileCheck::check_text(const Value& value, const std::string& where, FoundConfigMap& map) {
    const document::Stream stream = document::parse_embedded(text_, value, kConfigLimits);
    if (!stream.errors.empty()) {
        if (!looks_like_config(value.scalar)) return;
        map.keys.push_back(where.substr(where.rfind(' ') + 1));
        const auto& error = stream.errors.front();
        const bool folded =
            value.block && value.scalar.find('\n') != std::string::npos && error.mark == value.mark;
        reader_.error(error.mark, rule::kSyntax, where + ": " + error.message,
                      {folded ? "a literal block ('|'), which keeps the line breaks" : "", ""});
        return;
    }
    const auto& documents = stream.documents;
    if (kind_of(documents.front()) == ObjectKind::kMigParted) {
        note_mig_parted(documents.front().mark);
        return;
    }
    const bool ours = std::any_of(documents.begin(), documents.end(),
                                  [](const Value& node) { return looks_like_config(node); });
    if (!ours) return;
    map.keys.push_back(where.substr(where.rfind(' ') + 1));
    read(documents, where, map);
}

/// A value of a ConfigMap that is no text, but a configuration.
void FileCheck::check_mapping(const Value& value, const std::string& key, const std::string& where,
                              FoundConfigMap& map) {
    if (same_letters(key, "sharing") || same_letters(key, "flags")) {
        reader_.error(value.mark, rule::kSyntax,
                      "'" + key +
                          "' is a key of 'data' itself: the configuration has lost its "
                          "indentation, or the line 'config.yaml: |' above it is missing",
                      {"the configuration as a text below a key of 'data'",
                       "data:\n  config.yaml: |\n    version: v1\n    " + key + ":\n" +
                           document::to_yaml(value, 6)});
        return;
    }
    if (!looks_like_config(value)) return;
    Value text = document::make_mapping();
    document::append(text, key, document::make_string(document::to_yaml(value)));
    complain_type(reader_, value, where, "a text: a ConfigMap holds nothing else",
                  document::to_yaml(text));
    map.keys.push_back(key);
    read({value}, where, map);
}

void FileCheck::check_data(const Value& data, const std::string& where, FoundConfigMap& map) {
    for (const auto& [key, value] : data.entries) {
        constexpr unsigned kMostValues = 1000;  // each costs a look through the file
        if (++values_read_ > kMostValues) return;
        const std::string place = where + ", key " + key.scalar.substr(0, 253);
        if (value.is_string()) {
            check_text(value, place, map);
        } else if (value.is_mapping()) {
            check_mapping(value, key.scalar.substr(0, 253), place, map);
        }
    }
}

void FileCheck::check_config_map(const Value& object) {
    FoundConfigMap map;
    map.name = name_at(object, "metadata.name");
    map.name_space = name_at(object, "metadata.namespace");
    const Value* name_space = document::at_path(object, "metadata.namespace");
    map.mark = name_space == nullptr ? object.mark : name_space->mark;
    if (const Value* data = object.find("data"); data != nullptr && data->is_mapping()) {
        check_data(*data, "ConfigMap " + map.name, map);
    }
    if (map.keys.empty()) {
        wiring_.other_config_maps.push_back(map.name);
    } else {
        wiring_.config_maps.push_back(std::move(map));
    }
}

void FileCheck::check_document(const Value& document, unsigned depth) {
    constexpr unsigned kMostNested = 4;  // a List of Lists is legal, and nobody has one
    const ObjectKind kind = kind_of(document);
    if (const auto reference = find_reference(document, kind)) {
        if (reference->data != nullptr && reference->data->is_mapping()) {
            FoundConfigMap own;
            check_data(*reference->data, reference->path, own);
        }
        wiring_.references.push_back(*reference);
    }
    if (kind == ObjectKind::kConfigMap) {
        check_config_map(document);
    } else if (kind == ObjectKind::kList && depth < kMostNested) {
        for (const Value& item : document.find("items")->items) check_document(item, depth + 1);
    } else if (kind == ObjectKind::kMigParted) {
        note_mig_parted(document.mark);
    } else if (kind == ObjectKind::kConfig && looks_like_config(document)) {
        FoundConfigMap none;
        read({document}, "line " + std::to_string(document.mark.line), none);
    } else if (kind == ObjectKind::kDaemonSet) {
        PluginDaemonSet set;
        set.name_space = name_at(document, "metadata.namespace");
        collect_words(document, set.words);
        if (runs_plugin(document, set.words)) wiring_.daemon_sets.push_back(std::move(set));
    }
}

CheckedFile FileCheck::run() {
    const document::Stream stream = document::parse_yaml(text_);
    const auto first =
        std::find_if(stream.documents.begin(), stream.documents.end(),
                     [](const Value& document) { return document.kind != Value::Kind::kNull; });
    if (first == stream.documents.end() || kind_of(*first) == ObjectKind::kConfig) {
        ReadConfig whole = read_config(file_, text_, compatibility_);
        result_.findings = std::move(whole.findings);
        if (whole.config) result_.configs.push_back({"", *std::move(whole.config)});
        return std::move(result_);
    }
    for (const document::SyntaxError& error : stream.errors) {
        reader_.error(error.mark, rule::kSyntax, error.message);
    }
    for (const Value& document : stream.documents) check_document(document, 0);
    check_helm_documents(reader_, text_, stream.documents);
    check_wiring(reader_, wiring_);
    for (auto& finding : reader_.take_findings()) result_.findings.push_back(std::move(finding));
    if (result_.findings.empty() && result_.configs.empty()) {
        reader_.info({}, rule::kOtherFile, "nothing in this file is a sharing configuration");
        result_.findings = reader_.take_findings();
    }
    findings::sort(result_.findings);
    return std::move(result_);
}

std::string selector_text(const DeviceSelector& devices) {
    if (devices.all) return "";
    if (devices.first) {
        return *devices.first == 1 ? " on the first GPU"
                                   : " on the first " + std::to_string(*devices.first) + " GPUs";
    }
    std::vector<std::string> words = devices.models;
    words.insert(words.end(), devices.uuids.begin(), devices.uuids.end());
    words.insert(words.end(), devices.mig.begin(), devices.mig.end());
    for (const unsigned index : devices.indices) words.push_back("GPU " + std::to_string(index));
    const std::vector<std::string_view> views(words.begin(), words.end());
    return " on " + join_words(views);
}

}  // namespace

CheckedFile check_config_file(std::string_view file, std::string_view text,
                              Compatibility compatibility) {
    return FileCheck(file, text, compatibility).run();
}

std::vector<findings::Finding> check_config_text(std::string_view file, std::string_view text,
                                                 Compatibility compatibility) {
    return check_config_file(file, text, compatibility).findings;
}

std::string summary(const Config& config) {
    if (config.sharing.mechanism == grant::Mechanism::kNone) return "no sharing: whole GPUs";
    std::string text =
        config.sharing.mechanism == grant::Mechanism::kMps ? "MPS: " : "time-slicing: ";
    bool first = true;
    for (const SharedResource& resource : config.sharing.resources) {
        if (!first) text += ", ";
        first = false;
        text += resource.name + " in " + std::to_string(resource.replicas) + " shares";
        if (resource.limits.memory_bytes)
            text += " of " + k8s::bytes_text(*resource.limits.memory_bytes);
        if (resource.limits.compute_percent) {
            text += resource.limits.memory_bytes ? " and " : " of ";
            text += std::to_string(*resource.limits.compute_percent) + " % compute";
        }
        if (resource.limits.weight) text += ", weight " + std::to_string(*resource.limits.weight);
        text += selector_text(resource.devices);
        if (resource.rename) {
            text += " as " + *resource.rename;
        } else if (config.sharing.rename_by_default) {
            text += " as " + resource.name + ".shared";
        }
    }
    return text;
}

}  // namespace aliquot::sharing
