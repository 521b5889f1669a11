// SPDX-License-Identifier: Apache-2.0
// Whether the ConfigMaps of a file are those that the plugin is told to read.
#include <algorithm>
#include <array>

#include "sharing/config_objects.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

std::string listed(const std::vector<std::string>& words) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    return join_words(views);
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// The keys of the one ConfigMap that a reference means; null when the file does not have it.
struct Target {
    std::string name;
    std::vector<std::string> keys;
};

std::optional<Target> target_of(const Wiring& wiring, const ConfigReference& reference) {
    Target target;
    if (reference.data != nullptr && reference.data->is_mapping()) {
        target.name = reference.path + (reference.gpu_operator ? ".data" : ".map");
        for (const auto& [key, value] : reference.data->entries) target.keys.push_back(key.scalar);
        return target;
    }
    if (reference.name == nullptr) return std::nullopt;
    for (const FoundConfigMap& map : wiring.config_maps) {
        if (map.name != reference.name->scalar) continue;
        target.name = "ConfigMap " + map.name;
        target.keys = map.keys;
        return target;
    }
    return std::nullopt;
}

void check_keys(Reader& reader, const ConfigReference& reference, const Target& target) {
    const Value* chosen = reference.default_key;
    if (chosen != nullptr && chosen->is_string() && !chosen->scalar.empty()) {
        if (contains(target.keys, chosen->scalar) || target.keys.empty()) return;
        reader.warning(chosen->mark, rule::kHelmConfigName,
                       "'" + reference.path + ".default' is '" + chosen->scalar + "', but " +
                           target.name + " has no such key: the plugin does not start",
                       {listed(target.keys), "default: " + target.keys.front()});
        return;
    }
    // The plugin's own chart falls back to a lone key; gpu-operator never does.
    if (target.keys.empty() || (!reference.gpu_operator && target.keys.size() == 1)) return;
    reader.warning(reference.node->mark, rule::kNoDefault,
                   "'" + reference.path +
                       "' has no 'default': a node without the label "
                       "nvidia.com/device-plugin.config shares nothing",
                   {"one of the keys of " + target.name, "default: " + target.keys.front()});
}

void check_reference(Reader& reader, const Wiring& wiring, const ConfigReference& reference) {
    if (const auto target = target_of(wiring, reference)) {
        check_keys(reader, reference, *target);
        return;
    }
    if (reference.name == nullptr || wiring.config_maps.empty()) return;
    const std::string& name = reference.name->scalar;
    if (contains(wiring.other_config_maps, name)) {
        reader.warning(reference.name->mark, rule::kHelmConfigName,
                       "ConfigMap " + name + " holds no sharing configuration",
                       {"a ConfigMap whose data has one", ""});
        return;
    }
    std::vector<std::string> names;
    for (const FoundConfigMap& map : wiring.config_maps) names.push_back(map.name);
    reader.warning(reference.name->mark, rule::kHelmConfigName,
                   "'" + reference.path + ".name' is '" + name + "', but the ConfigMap here is " +
                       listed(names),
                   {listed(names), "name: " + names.front()});
}

void check_namespaces(Reader& reader, const Wiring& wiring) {
    for (const FoundConfigMap& map : wiring.config_maps) {
        for (const PluginDaemonSet& set : wiring.daemon_sets) {
            if (!contains(set.words, map.name) || set.name_space == map.name_space) continue;
            reader.warning(map.mark, rule::kNamespace,
                           "ConfigMap " + map.name + " is in the namespace " +
                               (map.name_space.empty() ? "default" : map.name_space) +
                               ", but the DaemonSet that mounts it is in " + set.name_space,
                           {"the namespace of the DaemonSet", "namespace: " + set.name_space});
        }
        const bool by_operator =
            std::any_of(wiring.references.begin(), wiring.references.end(),
                        [](const ConfigReference& reference) { return reference.gpu_operator; });
        constexpr std::array<std::string_view, 3> kNever{"default", "kube-system", "kube-public"};
        if (!by_operator ||
            std::find(kNever.begin(), kNever.end(), map.name_space) == kNever.end()) {
            continue;
        }
        reader.warning(map.mark, rule::kNamespace,
                       "ConfigMap " + map.name + " is in the namespace " + map.name_space +
                           ", but gpu-operator reads it from its own",
                       {"the namespace of gpu-operator, usually gpu-operator "
                        "(gpu-operator-resources with MicroK8s)",
                        "namespace: gpu-operator"});
    }
}

void check_mig_strategy(Reader& reader, const Wiring& wiring) {
    constexpr std::array<std::string_view, 3> kWords{"none", "single", "mixed"};
    for (const ConfigReference& reference : wiring.references) {
        if (reference.mig_strategy.empty()) continue;
        for (const FoundConfigMap& map : wiring.config_maps) {
            if (!map.mig_strategy) continue;
            const auto word = kWords[static_cast<std::size_t>(*map.mig_strategy)];
            if (word == reference.mig_strategy) continue;
            reader.info(map.mark, rule::kMigStrategies,
                        "ConfigMap " + map.name + " has flags.migStrategy " + std::string(word) +
                            ", but the operator's mig.strategy is " + reference.mig_strategy +
                            ", which the plugin gets as MIG_STRATEGY and prefers");
        }
    }
}

/// The last line `---` above a line; 0 when there is none.
unsigned separator_above(std::string_view text, unsigned line) {
    unsigned found = 0;
    for (unsigned at = 1; at <= line; ++at) {
        if (text.substr(0, 3) == "---") found = at;
        const auto end = text.find('\n');
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return found;
}

std::string name_of(const Value& document) {
    const std::string kind = name_at(document, "kind");
    const std::string name = name_at(document, "metadata.name");
    if (kind.empty()) return "the document";
    return "the " + kind + (name.empty() ? "" : " " + name);
}

}  // namespace

void check_wiring(Reader& reader, const Wiring& wiring) {
    constexpr std::size_t kMostCompared = 200;  // everything below is quadratic
    if (wiring.config_maps.size() > kMostCompared || wiring.references.size() > kMostCompared ||
        wiring.daemon_sets.size() > kMostCompared) {
        return;
    }
    for (const ConfigReference& reference : wiring.references) {
        check_reference(reader, wiring, reference);
    }
    check_namespaces(reader, wiring);
    check_mig_strategy(reader, wiring);
}

void check_helm_documents(Reader& reader, std::string_view text,
                          const std::vector<Value>& documents) {
    std::vector<const Value*> present;
    for (const Value& document : documents) {
        if (document.kind != Value::Kind::kNull) present.push_back(&document);
    }
    const auto values = std::find_if(present.begin(), present.end(), [](const Value* document) {
        return kind_of(*document) == ObjectKind::kHelmValues;
    });
    if (present.size() < 2 || values == present.end()) return;
    const auto after = [text](const Value& document) {
        const unsigned line = separator_above(text, document.mark.line);
        return " after line " + std::to_string(line);
    };
    const std::string expected =
        "values in a file of their own: apply the other objects with kubectl before helm runs, or "
        "let the chart make the ConfigMap (devicePlugin.config.create with data)";
    if (values != present.begin()) {
        reader.error((*values)->mark, rule::kHelmDocuments,
                     "Helm reads only the first document of a values file: the values" +
                         after(**values) + " are never used",
                     {expected, ""});
        return;
    }
    const auto reference = find_reference(**values, ObjectKind::kHelmValues);
    for (auto other = present.begin() + 1; other != present.end(); ++other) {
        const bool config_map = kind_of(**other) == ObjectKind::kConfigMap;
        reader.error(
            (*other)->mark, rule::kHelmDocuments,
            "Helm reads only the first document of a values file: " + name_of(**other) +
                after(**other) + " is never " +
                (kind_of(**other) == ObjectKind::kHelmValues ? "used" : "created"),
            {expected,
             config_map && reference ? values_with_data(**values, *reference, **other) : ""});
    }
}

}  // namespace aliquot::sharing
