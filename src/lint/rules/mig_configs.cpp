// SPDX-License-Identifier: Apache-2.0
// Configurations of mig-parted: MIG001 to MIG004, GOP007.
#include <algorithm>
#include <array>
#include <set>

#include "base/sentence.h"
#include "k8s/quantity.h"
#include "lint/rules/evidence.h"
#include "lint/rules/mig_fit.h"
#include "lint/rules/mig_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

constexpr std::array<std::string_view, 4> kKeys{"devices", "device-filter", "mig-enabled",
                                                "mig-devices"};

void check_keys(const Value& entry, Report& report) {
    for (const Value::Entry& one : entry.entries) {
        const std::string& key = one.first.scalar;
        if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() || key == "<<") continue;
        auto finding = report.add("MIG001", one.first.mark,
                                  "mig-parted knows no key '" + key + "' and refuses the file");
        const auto meant = nearest(key, {kKeys.begin(), kKeys.end()});
        finding.expected(meant.empty() ? "devices, device-filter, mig-enabled, mig-devices"
                                       : std::string(meant));
    }
}

void check_devices(const Value& entry, Report& report) {
    const Value* devices = entry.find("devices");
    if (devices == nullptr) {
        report.add("MIG001", entry.mark, "the entry has no 'devices'")
            .expected("devices: all, or a list of indices")
            .fix("devices: all");
        return;
    }
    if (devices->is_string() && devices->scalar != "all" && !is_placeholder(devices->scalar)) {
        report.add("MIG001", devices->mark, "'devices' is '" + devices->scalar + "'")
            .expected("all, or a list of indices such as [0, 1]")
            .fix("devices: all");
    } else if (devices->is_sequence()) {
        for (const Value& item : devices->items) {
            if (item.kind == Value::Kind::kInteger || is_placeholder(item.scalar)) continue;
            report
                .add("MIG001", item.mark,
                     "'devices' has '" + item.scalar + "', which is not an index")
                .expected("numbers such as [0, 1], without quotes");
            return;
        }
    } else if (devices->kind == Value::Kind::kInteger) {
        report.add("MIG001", devices->mark, "'devices' is a number")
            .expected("all, or a list of indices")
            .fix("devices: [" + devices->scalar + "]");
    }
}

void check_enabled(const Value& entry, Report& report) {
    const Value* enabled = entry.find("mig-enabled");
    const Value* instances = entry.find("mig-devices");
    if (enabled == nullptr) {
        report.add("MIG001", entry.mark, "the entry has no 'mig-enabled'")
            .expected("mig-enabled: true or false")
            .fix("mig-enabled: true");
        return;
    }
    if (enabled->kind != Value::Kind::kBool) {
        if (is_placeholder(enabled->scalar)) return;
        report.add("MIG001", enabled->mark, "'mig-enabled' is '" + enabled->scalar + "'")
            .expected("true or false");
        return;
    }
    const bool on = lower(enabled->scalar) == "true";
    if (on && instances == nullptr) {
        report.add("MIG001", enabled->mark, "the entry switches MIG on and has no 'mig-devices'")
            .expected("mig-devices with profiles, or {} for none")
            .fix("mig-devices: {}");
    } else if (!on && instances != nullptr && !instances->entries.empty()) {
        report.add("MIG001", instances->mark, "the entry switches MIG off and has 'mig-devices'")
            .expected("mig-devices: {} or none at all");
    }
}

/// The families of the GPUs that `device-filter` names; empty: it has none, or none that we know.
std::vector<std::string_view> families_of(const Value& entry, Report& report) {
    std::vector<std::string_view> families;
    const Value* filter = entry.find("device-filter");
    if (filter == nullptr) return families;
    std::vector<const Value*> ids;
    if (filter->is_sequence()) {
        for (const Value& item : filter->items) ids.push_back(&item);
    } else {
        ids.push_back(filter);
    }
    for (const Value* id : ids) {
        for (const auto* model : catalog::gpu_models_with_pci_id(id->scalar)) {
            if (model->has_known_mig()) {
                families.push_back(model->mig_family);
            } else if (!model->has_mig()) {
                report.add(
                    "MIG004", id->mark,
                    "'" + id->scalar + "' is " + std::string(model->name) + ", which has no MIG");
            } else {
                return {};
            }
        }
    }
    return families;
}

void check_instances(const Value& entry, Report& report) {
    const Value* instances = entry.find("mig-devices");
    auto families = families_of(entry, report);
    const auto names_profile = [](const Value& item) {
        return is_known_profile(item.entries.empty() ? item.scalar
                                                     : item.entries.front().first.scalar);
    };
    if (instances != nullptr && instances->is_sequence() && !instances->items.empty() &&
        names_profile(instances->items.front())) {
        report.add("MIG001", instances->mark, "mig-devices is a list")
            .expected("a mapping of profile and number: \"1g.5gb\": 7");
        return;
    }
    if (instances == nullptr || !instances->is_mapping() || instances->entries.empty()) return;
    bool unknown = false;
    for (const Value::Entry& one : instances->entries) {
        if (is_placeholder(one.first.scalar)) return;
        const bool counted = k8s::quantity_value(one.second.scalar).has_value();
        if (!counted && one.second.kind == Value::Kind::kString &&
            !is_placeholder(one.second.scalar)) {
            report
                .add("MIG001", one.second.mark,
                     "the number of " + one.first.scalar + " is '" + one.second.scalar + "'")
                .expected("a whole number");
        }
        if (is_known_profile(one.first.scalar)) continue;
        unknown = true;
        report.add("MIG002", one.first.mark,
                   "no GPU has the MIG profile '" + one.first.scalar + "'");
    }
    if (unknown) return;
    const bool filtered = !families.empty();
    if (!filtered) families = mig_families();
    bool possible = false;  // some family has all the profiles
    for (const std::string_view family : families) {
        Profiles profiles;
        bool all = true;
        for (const Value::Entry& one : instances->entries) {
            const auto* profile = find_in_family(family, one.first.scalar);
            const auto count = k8s::quantity_value(one.second.scalar);
            if (profile == nullptr || !count || *count < 0 || *count > 100) {
                all = false;
                break;
            }
            for (double i = 0; i < *count; i += 1) profiles.push_back(profile);
        }
        if (!all) continue;
        possible = true;
        if (fit_together(profiles)) return;
    }
    std::string text = listed(
        instances->entries,
        [](const Value::Entry& one) { return one.second.scalar + " x " + one.first.scalar; },
        " + ");
    if (possible) {
        report.add("MIG003", instances->entries.front().first.mark,
                   text + " do not fit on one GPU together");
    } else if (filtered) {
        report.add("MIG002", instances->entries.front().first.mark,
                   "the GPUs of this device-filter do not have all of: " + text);
    }
}

/// The configuration that gpu-operator's chart is to make a ConfigMap of.
void check_values(const Object& values, const Object& object, const Value& configs,
                  Report& report) {
    if (object.templated || configs.find("all-disabled") != nullptr) return;
    const Value* config = nullptr;
    for (const std::string_view path :
         {"migManager.config", "gpu-operator.migManager.config", "spec.values.migManager.config"}) {
        config = at_path(*values.node, path);
        if (config != nullptr) break;
    }
    if (config == nullptr || text_at(*config, "create") != "true") return;
    const Value* data = config->find("data");
    const Value* fallback = config->find("default");
    if (data == nullptr || data->find("config.yaml") == nullptr) return;
    if (data->find("config.yaml")->mark.line > object.mark().line) return;
    if (fallback != nullptr && fallback->scalar.empty()) return;  // nodes are left as they are
    report
        .add("GOP007", entry_at(*object.node, "mig-configs")->first.mark,
             "the configuration has no 'all-disabled', which mig-manager applies to nodes without "
             "a label")
        .fix("all-disabled:\n  - devices: all\n    mig-enabled: false");
}

void check_config(const File& file, const Object& object, Report& report) {
    const Value& node = *object.node;
    const Value* configs = node.find("mig-configs");
    if (configs == nullptr || object.broken) return;
    const Value* version = node.find("version");
    if (version == nullptr) {
        report.add("MIG001", object.mark(), "the configuration has no 'version'")
            .expected("version: v1")
            .fix("version: v1");
    } else if (version->scalar != "v1" && !is_placeholder(version->scalar)) {
        report.add("MIG001", version->mark, "'version' is '" + version->scalar + "'")
            .expected("v1")
            .fix("version: v1");
    }
    for (const Value::Entry& one : node.entries) {
        if (one.first.scalar == "version" || one.first.scalar == "mig-configs") continue;
        report.add("MIG001", one.first.mark,
                   "mig-parted knows no key '" + one.first.scalar + "' and refuses the file");
    }
    std::set<std::string_view> names;
    for (const Value::Entry& config : configs->entries) {
        if (!names.insert(config.first.scalar).second && !is_placeholder(config.first.scalar)) {
            report.add("MIG001", config.first.mark,
                       "the configuration '" + config.first.scalar +
                           "' stands twice, and mig-parted refuses the file");
        }
        if (!config.second.is_sequence()) {
            if (config.second.kind == Value::Kind::kNull || is_placeholder(config.second.scalar))
                continue;
            report
                .add("MIG001", config.first.mark,
                     "the configuration '" + config.first.scalar + "' is not a list")
                .expected("a list of entries with devices and mig-enabled");
            continue;
        }
        if (config.second.items.empty()) {
            report.add("MIG001", config.first.mark,
                       "the configuration '" + config.first.scalar + "' is empty");
        }
        for (const Value& entry : config.second.items) {
            if (!entry.is_mapping() || entry.find("<<") != nullptr) continue;
            check_keys(entry, report);
            check_devices(entry, report);
            check_enabled(entry, report);
            check_instances(entry, report);
        }
    }
    const Object* holder =
        object.holder >= 0 && static_cast<std::size_t>(object.holder) < file.objects.size()
            ? &file.objects[static_cast<std::size_t>(object.holder)]
            : nullptr;
    if (holder != nullptr) check_values(*holder, object, *configs, report);
    if (holder == nullptr || holder->kind != "ConfigMap") return;
    if (object.key != "config.yaml" && !object.key.empty() && !is_placeholder(object.key)) {
        report.add("GOP007", object.mark(),
                   "mig-manager reads the key config.yaml of ConfigMap " + holder->name +
                       ", not '" + object.key + "'");
    }
    if (configs->find("all-disabled") == nullptr && !object.templated) {
        report
            .add("GOP007", entry_at(node, "mig-configs")->first.mark,
                 "ConfigMap " + holder->name +
                     " has no configuration 'all-disabled', which mig-manager applies to nodes "
                     "without a label")
            .fix("all-disabled:\n  - devices: all\n    mig-enabled: false");
    }
}

}  // namespace

void check_mig_configs(const File& file, Report& report) {
    for (const Object& object : file.objects) {
        if (object.role == Role::kMigParted) check_config(file, object, report);
    }
}

}  // namespace aliquot::lint
