// SPDX-License-Identifier: Apache-2.0
// The file that mig-parted's export writes.
#include <algorithm>
#include <map>
#include <set>

#include "document/json.h"
#include "document/write.h"
#include "mig/config.h"

namespace aliquot::mig {
namespace {

using document::make_mapping;
using document::Value;

/// GPUs that are cut alike.
struct Group {
    bool enabled = false;
    std::map<std::string, unsigned> counts;
    std::set<unsigned> devices;
    std::set<std::string> kinds;  // "0x20B010DE"
};

std::string kind_of(std::uint32_t id) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) {
        text += kDigits[(id >> static_cast<unsigned>(shift)) & 0xFU];
    }
    return text;
}

std::vector<Group> grouped(const std::vector<CurrentCut>& gpus) {
    std::vector<Group> groups;
    for (const CurrentCut& gpu : gpus) {
        std::map<std::string, unsigned> counts;
        for (const std::string& profile : gpu.profiles) ++counts[profile];
        auto group = std::ranges::find_if(groups, [&](const Group& one) {
            return one.enabled == gpu.enabled && one.counts == counts;
        });
        if (group == groups.end()) {
            group = groups.insert(groups.end(), {gpu.enabled, std::move(counts), {}, {}});
        }
        group->devices.insert(gpu.index);
        group->kinds.insert(kind_of(gpu.pci_device_id));
    }
    return groups;
}

/// A list in one line: [0, 1] or ["0x20B010DE"].
std::string flow(const std::vector<std::string>& items) {
    std::string text = "[";
    for (const std::string& item : items) text += (text.size() == 1 ? "" : ", ") + item;
    return text + "]";
}

/// One entry as text and as a value.
struct Entry {
    std::vector<std::string> filter;
    std::vector<std::string> devices;  // empty: all
    const Group* group = nullptr;
};

std::string to_yaml(const std::vector<Entry>& entries, std::string_view label) {
    std::string text = "version: v1\nmig-configs:\n  " +
                       document::scalar_text(document::make_string(std::string(label))) + ":" +
                       (entries.empty() ? " []\n" : "\n");
    for (const Entry& entry : entries) {
        text += "  - ";
        std::vector<std::string> quoted;
        for (const std::string& kind : entry.filter) quoted.push_back('"' + kind + '"');
        if (quoted.size() == 1) text += "device-filter: " + quoted.front() + "\n    ";
        if (quoted.size() > 1) text += "device-filter: " + flow(quoted) + "\n    ";
        text += "devices: " + (entry.devices.empty() ? "all" : flow(entry.devices)) + '\n';
        text += std::string("    mig-enabled: ") + (entry.group->enabled ? "true\n" : "false\n");
        text += "    mig-devices:";
        text += entry.group->counts.empty() ? " {}\n" : "\n";
        for (const auto& [profile, count] : entry.group->counts) {
            text += "      " + document::scalar_text(document::make_string(profile)) + ": " +
                    std::to_string(count) + '\n';
        }
    }
    return text;
}

std::string to_json(const std::vector<Entry>& entries, std::string_view label) {
    Value list = document::make_sequence();
    for (const Entry& entry : entries) {
        Value one = document::make_mapping();
        if (entry.filter.size() == 1) {
            append(one, "device-filter", entry.filter.front());
        } else if (!entry.filter.empty()) {
            append(one, "device-filter", entry.filter);
        }
        Value devices = document::make_string("all");
        if (!entry.devices.empty()) {
            devices = document::make_sequence();
            for (const std::string& device : entry.devices) {
                devices.items.push_back(document::make_integer(std::stoll(device)));
            }
        }
        append(one, "devices", std::move(devices));
        append(one, "mig-enabled", entry.group->enabled);
        Value counts = document::make_mapping();
        for (const auto& [profile, count] : entry.group->counts) {
            append(counts, profile, document::make_integer(count));
        }
        append(one, "mig-devices", std::move(counts));
        list.items.push_back(std::move(one));
    }
    Value configs = document::make_mapping();
    append(configs, std::string(label), std::move(list));
    return document::to_json(
               make_mapping({{"version", "v1"}, {"mig-configs", std::move(configs)}})) +
           '\n';
}

}  // namespace

std::string export_config(const std::vector<CurrentCut>& gpus, std::string_view label,
                          ExportFormat format) {
    std::map<std::string, std::set<unsigned>> of_kind;
    for (const CurrentCut& gpu : gpus) of_kind[kind_of(gpu.pci_device_id)].insert(gpu.index);
    const std::vector<Group> groups = grouped(gpus);
    std::vector<Entry> entries;
    for (const Group& group : groups) {
        Entry entry{.group = &group};
        std::set<unsigned> of_these_kinds;
        for (const std::string& kind : group.kinds) {
            of_these_kinds.insert(of_kind[kind].begin(), of_kind[kind].end());
        }
        if (of_kind.size() > 1 && groups.size() > 1) {
            entry.filter.assign(group.kinds.begin(), group.kinds.end());
        }
        if (of_these_kinds != group.devices) {
            for (const unsigned index : group.devices) {
                entry.devices.push_back(std::to_string(index));
            }
        }
        entries.push_back(std::move(entry));
    }
    return format == ExportFormat::kYaml ? to_yaml(entries, label) : to_json(entries, label);
}

}  // namespace aliquot::mig
