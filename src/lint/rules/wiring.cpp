// SPDX-License-Identifier: Apache-2.0
// Sharing configurations held against what is around them: DPC009, DPC010, DPC016, DPC017,
// DPC019, GOP005.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "k8s/quantity.h"
#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using catalog::GpuModel;

const Object* holder_of(const File& file, const Object& object) {
    if (object.holder < 0 || static_cast<std::size_t>(object.holder) >= file.objects.size()) {
        return nullptr;
    }
    return &file.objects[static_cast<std::size_t>(object.holder)];
}

/// Which ConfigMap an installer of the file reads; from Helm values or --set.
struct Reference {
    std::string name;
    std::string default_key;
    std::string name_space;  // of the helm command
    Mark mark;               // of the name
    Mark default_mark;
    Mark config_mark;
    bool gpu_operator = false;
    bool made = false;  // the chart makes the ConfigMap of what stands in the values
};

std::vector<Reference> references_of(const File& file) {
    std::vector<Reference> references;
    for (const Object& object : file.objects) {
        const bool is_operator = object.chart == "gpu-operator" || object.kind == "ClusterPolicy";
        if (!is_operator && object.chart != "nvidia-device-plugin") continue;
        std::string_view path = "config";
        if (is_operator) path = "devicePlugin.config";
        if (object.kind == "ClusterPolicy") path = "spec.devicePlugin.config";
        const Value* config = at_path(*object.node, path);
        const Value* name = config == nullptr ? nullptr : config->find("name");
        if (name == nullptr || name->scalar.empty() || is_placeholder(name->scalar)) continue;
        Reference reference;
        reference.name = name->scalar;
        reference.mark = name->mark;
        reference.config_mark = config->mark;
        reference.gpu_operator = is_operator;
        const Value* data = config->find(is_operator ? "data" : "map");
        reference.made =
            text_at(*config, "create") == "true" || (data != nullptr && !data->entries.empty());
        if (const Value* key = config->find("default")) {
            reference.default_key = key->scalar;
            reference.default_mark = key->mark;
        }
        references.push_back(std::move(reference));
    }
    for (const ChartInstall& install : chart_installs(file)) {
        const bool is_operator = install.chart == "gpu-operator";
        if (!is_operator && install.chart != "nvidia-device-plugin") continue;
        Reference reference;
        reference.gpu_operator = is_operator;
        reference.name_space = install.name_space;
        const std::string prefix = is_operator ? "devicePlugin.config." : "config.";
        for (const auto& [path, word] : install.sets) {
            if (path == prefix + "name") {
                reference.name = word.text;
                reference.mark = reference.config_mark = word.mark;
            } else if (path == prefix + "default") {
                reference.default_key = word.text;
                reference.default_mark = word.mark;
            }
        }
        if (!reference.name.empty() && !is_placeholder(reference.name)) {
            references.push_back(std::move(reference));
        }
    }
    return references;
}

/// A ConfigMap with sharing configurations.
struct SharingMap {
    const Object* object = nullptr;
    std::vector<std::string> keys;
    const Object* config = nullptr;  // the first of its configurations
};

std::vector<SharingMap> sharing_maps(const File& file) {
    std::vector<SharingMap> maps;
    for (const Object& object : file.objects) {
        if (object.role != Role::kDevicePluginConfig) continue;
        const Object* holder = holder_of(file, object);
        if (holder == nullptr || holder->kind != "ConfigMap") continue;
        auto map = std::find_if(maps.begin(), maps.end(),
                                [holder](const SharingMap& one) { return one.object == holder; });
        if (map == maps.end()) {
            maps.push_back({holder, {}, &object});
            map = maps.end() - 1;
            if (const Value* data = holder->node->find("data")) {
                for (const Value::Entry& entry : data->entries)
                    map->keys.push_back(entry.first.scalar);
            }
        }
    }
    return maps;
}

void check_reference(const File& file, const Reference& reference,
                     const std::vector<SharingMap>& maps, Report& report) {
    const SharingMap* target = nullptr;
    for (const SharingMap& map : maps) {
        if (map.object->name == reference.name) target = &map;
    }
    if (target == nullptr) {
        if (maps.size() != 1 || file.find_object("ConfigMap", reference.name) != nullptr) return;
        const std::string& other = maps.front().object->name;
        if (other.empty() || is_placeholder(other) || nearest(reference.name, {other}).empty())
            return;
        report
            .add("GOP005", reference.mark,
                 "the plugin is to read the ConfigMap '" + reference.name +
                     "', but the one here is called '" + other + "'")
            .expected(other);
        return;
    }
    if (!reference.default_key.empty()) {
        const bool known = std::find(target->keys.begin(), target->keys.end(),
                                     reference.default_key) != target->keys.end();
        if (known || target->keys.empty() || is_placeholder(reference.default_key)) return;
        report
            .add("GOP005", reference.default_mark,
                 "the default configuration is '" + reference.default_key + "', but ConfigMap " +
                     reference.name + " has no such key")
            .expected(join(target->keys));
        return;
    }
    if (!reference.gpu_operator && target->keys.size() < 2) return;
    if (file.mentions("nvidia.com/device-plugin.config")) return;
    if (file.mentions("config.default") || file.mentions("\"default\"")) return;
    report
        .add("DPC017", reference.config_mark,
             "the configuration has no 'default': nodes without the label "
             "nvidia.com/device-plugin.config share nothing")
        .expected(join(target->keys));
}

/// Whether a kustomization makes ConfigMaps of files: their names stand in it alone.
bool makes_maps(const File& file) {
    return std::any_of(file.objects.begin(), file.objects.end(), [](const Object& object) {
        return object.role == Role::kKustomization &&
               object.node->find("configMapGenerator") != nullptr;
    });
}

/// Values beside a manifest with the ConfigMap, as repositories of a cluster have them. Runbooks are
/// held against themselves.
void check_beside(const File& file, const Set& set, const Reference& reference, Report& report) {
    if (reference.made || file.is_prose()) return;
    std::vector<SharingMap> maps;
    const File* holder = nullptr;
    for (const File* near : set.neighbours(file)) {
        if (near == &file || near->is_prose()) continue;
        if (makes_maps(*near) || near->find_object("ConfigMap", reference.name) != nullptr) return;
        for (SharingMap& map : sharing_maps(*near)) {
            maps.push_back(std::move(map));
            holder = near;
        }
    }
    if (maps.size() != 1) return;
    const std::string& other = maps.front().object->name;
    if (other.empty() || is_placeholder(other)) return;
    report
        .add("GOP005", reference.mark,
             "the plugin is to read the ConfigMap '" + reference.name + "', but the one in " +
                 holder->name + " is called '" + other + "'")
        .expected(other);
}

/// The same for the key of a ConfigMap that is there.
void check_default_beside(const File& file, const Set& set, const Reference& reference,
                          Report& report) {
    if (reference.made || file.is_prose() || reference.default_key.empty() ||
        is_placeholder(reference.default_key)) {
        return;
    }
    const Set::Found found = set.find_object(file, "ConfigMap", reference.name);
    if (!found || found.file == &file || found.file->is_prose()) return;
    const Value* data = found.object->node->find("data");
    if (data == nullptr || data->entries.empty() || found.object->templated) return;
    if (data->find(reference.default_key) != nullptr) return;
    std::vector<std::string> keys;
    for (const Value::Entry& entry : data->entries) keys.push_back(entry.first.scalar);
    report
        .add("GOP005", reference.default_mark,
             "the default configuration is '" + reference.default_key + "', but ConfigMap " +
                 reference.name + " in " + found.file->name + " has no such key")
        .expected(join(keys));
}

/// Whether something besides the ConfigMap itself speaks of it.
bool is_referred_to(const File& file, const SharingMap& map,
                    const std::vector<Reference>& references) {
    const std::string& name = map.object->name;
    for (const Reference& one : references) {
        if (one.name == name) return true;
    }
    for (const Command& command : file.commands) {
        const bool creates = command.is("kubectl", "apply") || command.is("kubectl", "create");
        if (!creates && command.text.find(name) != std::string::npos) return true;
    }
    for (const Object& object : file.objects) {
        if (&object == map.object || object.role == Role::kDevicePluginConfig) continue;
        bool found = false;
        walk(*object.node, [&](const Value::Entry& entry) {
            found = found || (entry.second.scalar == name && &object != map.object &&
                              object.kind != "ConfigMap");
        });
        if (found) return true;
    }
    return false;
}

bool has_installer(const File& file, const std::vector<Reference>& references) {
    if (!references.empty() || installs_operator(file)) return true;
    for (const ChartInstall& install : chart_installs(file)) {
        if (install.chart == "nvidia-device-plugin") return true;
    }
    return false;
}

/// The namespace that an operator of the file is installed to; empty: not said.
std::string operator_namespace(const File& file) {
    for (const ChartInstall& install : chart_installs(file)) {
        if (!is_gpu_chart(install.chart) || install.chart == "dcgm-exporter") continue;
        // The map may be meant for the operator, which the text installs with its words alone.
        const bool both = install.chart != "gpu-operator" && file.mentions("gpu-operator");
        return both ? std::string() : install.name_space;
    }
    for (const Object& object : file.objects) {
        if (object.kind == "HelmRelease" &&
            is_gpu_chart(text_at(*object.node, "spec.chart.spec.chart"))) {
            const std::string target = text_at(*object.node, "spec.targetNamespace");
            return target.empty() ? object.name_space : target;
        }
        if (object.kind == "Application" &&
            is_gpu_chart(text_at(*object.node, "spec.source.chart"))) {
            return text_at(*object.node, "spec.destination.namespace");
        }
    }
    for (const std::string_view known : {"gpu-operator-resources"}) {
        if (file.mentions(known)) return std::string(known);
    }
    return {};
}

void check_map(const File& file, const SharingMap& map, const std::vector<Reference>& references,
               Report& report) {
    const std::string& name = map.object->name;
    if (name.empty() || is_placeholder(name)) return;
    const Value* name_node = at_path(*map.object->node, "metadata.name");
    const std::string wanted = operator_namespace(file);
    const std::string& found = map.object->name_space;
    const Value* place = at_path(*map.object->node, "metadata.namespace");
    if (!wanted.empty() && !found.empty() && wanted != found && !is_placeholder(wanted) &&
        !is_placeholder(found) && place != nullptr) {
        report
            .add("DPC016", place->mark,
                 "ConfigMap " + name + " is in the namespace " + found +
                     ", and the plugin looks in " + wanted)
            .expected(wanted)
            .fix("namespace: " + wanted);
        return;
    }
    if (!file.is_prose() || !has_installer(file, references)) return;
    if (is_referred_to(file, map, references)) return;
    report
        .add("DPC016", name_node->mark,
             "nothing here tells the plugin to read the ConfigMap " + name)
        .expected("devicePlugin.config.name=" + name + " and devicePlugin.config.default=" +
                  (map.keys.empty() ? std::string("<key>") : map.keys.front()));
}

/// Whether the strategy stands in one of the file's own sharing configurations.
bool is_of_config(const File& file, const MigStrategy& one) {
    return std::any_of(file.objects.begin(), file.objects.end(), [&one](const Object& object) {
        const Value* node = at_path(*object.node, "flags.migStrategy");
        return object.role == Role::kDevicePluginConfig && node != nullptr &&
               node->mark == one.mark;
    });
}

void check_strategies(const File& file, const SharingMap& map, Report& report) {
    const Value* own = at_path(*map.config->node, "flags.migStrategy");
    if (own == nullptr) return;
    for (const MigStrategy& one : mig_strategies(file)) {
        if (one.mark == own->mark || one.word == own->scalar || is_placeholder(one.word)) continue;
        if (is_of_config(file, one)) continue;
        report.add("DPC019", own->mark,
                   "flags.migStrategy is " + own->scalar + ", but the operator gives the plugin " +
                       one.word + " (line " + std::to_string(one.mark.line) + "), which wins");
        return;
    }
}

const Value* sharing_block(const Object& object, std::string_view way) {
    if (const Value* block = at_path(*object.node, std::string("sharing.") + std::string(way))) {
        return block;
    }
    return object.node->find(way);
}

Mark block_mark(const Object& object, std::string_view way) {
    const Value::Entry* entry = entry_at(*object.node, std::string("sharing.") + std::string(way));
    if (entry == nullptr) entry = entry_at(*object.node, way);
    return entry != nullptr ? entry->first.mark : object.mark();
}

void check_mps(const File& file, const Object& object, double replicas, Report& report) {
    const Mark mark = block_mark(object, "mps");
    const GpuModel* old = nullptr;
    for (const GpuModel* model : gpu_models_above(file, object.block)) {
        if (model->mps == catalog::MpsClass::kOld) old = model;
    }
    constexpr double kOldClients = 16;
    if (old != nullptr && replicas > kOldClients) {
        report.add(
            "DPC010", mark,
            std::string(old->name) + " takes 16 clients of MPS, not " + number_text(replicas));
    }
    if (file.is_prose()) return;  // its examples stand apart
    for (const MigStrategy& one : mig_strategies(file)) {
        if (one.word != "mixed" || is_of_config(file, one)) continue;  // another node's, or its own
        report.add("DPC009", mark,
                   "MPS, and the MIG strategy mixed in line " + std::to_string(one.mark.line) +
                       ": the plugin refuses both together");
        break;
    }
}

void check_config(const File& file, const Object& object, Report& report) {
    const Value* block = sharing_block(object, "mps");
    const Value* list = block == nullptr ? nullptr : block->find("resources");
    if (list == nullptr || !list->is_sequence() || list->items.empty()) return;
    const auto replicas = k8s::quantity_value(text_at(list->items.front(), "replicas"));
    check_mps(file, object, replicas.value_or(0), report);
}

}  // namespace

void check_wiring(const File& file, const Set& set, const Facts* /*facts*/, Report& report) {
    if (!file.mentions("timeslicing") && !file.mentions("mps") && !file.mentions("config")) return;
    const auto maps = sharing_maps(file);
    const auto references = references_of(file);
    for (const Reference& reference : references) {
        check_reference(file, reference, maps, report);
        if (!maps.empty()) continue;
        check_beside(file, set, reference, report);
        check_default_beside(file, set, reference, report);
    }
    for (const SharingMap& map : maps) {
        check_map(file, map, references, report);
        check_strategies(file, map, report);
    }
    for (const Object& object : file.objects) {
        if (object.role == Role::kDevicePluginConfig && !object.broken) {
            check_config(file, object, report);
        }
    }
}

}  // namespace aliquot::lint
