// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

void read_version(Facts& facts) {
    ToolkitFacts& toolkit = facts.toolkit;
    for (const char* const pattern : {"cmd/nvidia-ctk*", "cmd/nvidia-container-toolkit*",
                                      "cmd/nvidia-container-cli*", "cmd/dpkg*", "cmd/rpm*"}) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const std::string* const text = facts.tree.text(path);
            if (text == nullptr) continue;
            for_each_line(*text, [&](std::string_view line, unsigned number) {
                if (line.contains("nvidia-docker2")) {
                    toolkit.nvidia_docker2 = true;
                    toolkit.docker2_place = place_in(path, number, line);
                }
                const bool of_toolkit = contains_folded(line, "container toolkit") ||
                                        line.contains("nvidia-container-toolkit") ||
                                        line.contains("nvidia-ctk") ||
                                        line.starts_with("cli-version");
                if (!of_toolkit || !toolkit.version.empty()) return;
                for (std::string_view word : words_of(line)) {
                    const auto digit = word.find_first_of("0123456789");
                    if (digit == std::string_view::npos) continue;
                    word.remove_prefix(digit);
                    const auto end = std::min(word.find_first_not_of("0123456789."), word.size());
                    const std::string_view version = word.substr(0, end);
                    if (std::ranges::count(version, '.') != 2) continue;
                    toolkit.version = std::string(version);
                    toolkit.version_place = place_in(path, number, line);
                    return;
                }
            });
        }
    }
}

void read_installation(Facts& facts) {
    ToolkitFacts& toolkit = facts.toolkit;
    const Tree& tree = facts.tree;
    toolkit.on_host = tree.has("/usr/bin/nvidia-container-runtime") ||
                      tree.has("/usr/bin/nvidia-ctk") ||
                      tree.has("/usr/bin/nvidia-container-toolkit");
    toolkit.from_operator = tree.has_beneath("/usr/local/nvidia/toolkit");
    for (const std::string& path : tree.paths("/var/lib/dpkg/info/nvidia-docker2*")) {
        toolkit.nvidia_docker2 = true;
        toolkit.docker2_place = {path, 0, "installed"};
    }
    std::vector<std::string> configs{"/etc/nvidia-container-runtime/config.toml"};
    for (const std::string& path : tree.paths("/usr/local/nvidia/toolkit/.config/*/config.toml")) {
        configs.push_back(path);
    }
    toolkit.config.state = State::kAbsent;
    for (const std::string& path : configs) {
        const std::string* const text = tree.text(path);
        if (text == nullptr) continue;
        toolkit.config = {State::kOk, document::parse_toml(*text), {}, {path, 0, ""}};
        toolkit.config_path = path;
        break;
    }
}

void read_edits(const Value* edits, const std::string& path, CdiSpec& spec) {
    for (const Value& node : items_at(edits, {"deviceNodes"})) {
        std::string host = text_at(node, {"hostPath"});
        if (host.empty()) host = text_at(node, {"path"});
        if (!host.empty()) spec.device_nodes.push_back({path, node.mark.line, std::move(host)});
    }
    for (const Value& mount : items_at(edits, {"mounts"})) {
        const std::string host = text_at(mount, {"hostPath"});
        if (!host.empty()) spec.libraries.push_back({path, mount.mark.line, host});
    }
}

/// The driver version in a path: ".../libcuda.so.580.95.05", "/lib/firmware/nvidia/580.95.05/gsp.bin".
std::string driver_of(std::string_view path) {
    const bool named = path.contains("libcuda") || path.contains("nvidia");
    if (!named) return {};
    for (const std::string_view part : split(path, '/')) {
        const std::string_view suffix = after(part, ".so.");
        const std::string_view version = suffix.empty() ? part : suffix;
        if (version.size() >= 5 && is_driver_version(version)) return std::string(version);
    }
    return {};
}

void read_specs(Facts& facts) {
    std::vector<std::string> files = facts.tree.paths("/etc/cdi/*");
    for (const std::string& path : facts.tree.paths("/run/cdi/*")) files.push_back(path);
    for (const std::string& path : files) {
        const std::string* const text = facts.tree.text(path);
        const bool named = path.ends_with(".yaml") || path.ends_with(".json");
        if (text == nullptr || !named) continue;
        CdiSpec spec{.place = {path, 0, ""}};
        const auto root = document::parse_object(*text);
        if (!root) {
            spec.problem = root.error().message;
            if (path.contains("nvidia")) facts.cdi.push_back(std::move(spec));
            continue;
        }
        spec.kind = text_at(*root, {"kind"});
        spec.version = text_at(*root, {"cdiVersion"});
        if (!spec.kind.contains("nvidia") && !spec.kind.contains("aliquot")) continue;
        for (const Value& device : items_at(*root, {"devices"})) {
            spec.devices.push_back(text_at(device, {"name"}));
            read_edits(device.find("containerEdits"), path, spec);
        }
        read_edits(root->find("containerEdits"), path, spec);
        spec.place.text = "kind " + spec.kind;
        for (const Location& library : spec.libraries) {
            const std::string version = driver_of(library.text);
            if (version.empty() || !spec.driver.empty()) continue;
            spec.driver = version;
            spec.driver_place = library;
        }
        facts.cdi.push_back(std::move(spec));
    }
}

}  // namespace

void read_toolkit(Facts& facts) {
    read_version(facts);
    read_installation(facts);
    read_specs(facts);
}

}  // namespace aliquot::doctor
