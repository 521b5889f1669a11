// SPDX-License-Identifier: Apache-2.0
// Container runtimes: RUN001 to RUN004 of containerd, dockerd, CDI and compose files.
#include <algorithm>
#include <array>
#include <set>

#include "base/number.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/rules/runtime_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

constexpr std::string_view kPluginV2 = "io.containerd.grpc.v1.cri";
constexpr std::string_view kPluginV3 = "io.containerd.cri.v1.runtime";

std::string named(std::string_view text) { return '\'' + std::string(text) + '\''; }

/// The plugin whose runtimes count in a configuration of that version.
std::string_view plugin_of(std::string_view version) {
    if (version == "3" || version == "4") return kPluginV3;
    return version == "2" ? kPluginV2 : std::string_view("cri");
}

/// A name of a runtime that the same document does not define.
void check_runtime_name(const Value& name, const std::vector<std::string_view>& known,
                        std::string_view where, Report& report) {
    const std::string& text = name.scalar;
    if (text.empty() || is_placeholder(text)) return;
    if (std::find(known.begin(), known.end(), text) != known.end()) return;
    std::string list;
    for (const std::string_view one : known) list += (list.empty() ? "" : ", ") + std::string(one);
    report
        .add("RUN001", name.mark,
             "the default runtime is " + named(text) + ", which " + std::string(where) +
                 " does not define")
        .expected(list.empty() ? "a runtime of that name" : "one of " + list);
}

void check_runtime_options(const Value& runtime, const std::string& name, Report& report) {
    const Value* options = runtime.find("options");
    if (const Value* type = runtime.find("runtime_type");
        type != nullptr && !type->scalar.empty() && type->scalar != "io.containerd.runc.v2" &&
        !nearest(type->scalar, {"io.containerd.runc.v2"}).empty()) {
        report.add("RUN002", type->mark, "runtime_type is " + named(type->scalar))
            .expected("io.containerd.runc.v2")
            .fix("runtime_type = \"io.containerd.runc.v2\"");
    }
    if (options == nullptr) return;
    for (const Value::Entry& entry : options->entries) {
        const std::string& key = entry.first.scalar;
        const std::string_view meant =
            nearest(key, {"BinaryName", "SystemdCgroup", "NoPivotRoot", "NoNewKeyring",
                          "ShimCgroup", "IoUid", "IoGid", "Root", "CriuPath", "CriuImagePath",
                          "CriuWorkPath", "TypeUrl", "ConfigPath", "ConfigBody"});
        if (!meant.empty() && meant != key) {
            report
                .add("RUN002", entry.second.mark,
                     "the options of the runtime " + named(name) + " have no " + named(key))
                .expected(std::string(meant));
        }
        if (key == "BinaryName" && contains(lower(name), "nvidia") &&
            !entry.second.scalar.empty() &&
            entry.second.scalar.find("nvidia-container-runtime") == std::string::npos &&
            !is_placeholder(entry.second.scalar)) {
            report
                .add("RUN002", entry.second.mark,
                     "BinaryName of the runtime " + named(name) + " is " +
                         named(entry.second.scalar))
                .expected("/usr/bin/nvidia-container-runtime");
        }
        if ((key == "SystemdCgroup" || key == "NoPivotRoot") &&
            entry.second.kind != Value::Kind::kBool) {
            report.add("RUN002", entry.second.mark, key + " is " + named(entry.second.scalar))
                .expected("true or false, without quotes");
        }
    }
}

void check_cri(const Value& cri, bool whole, Report& report) {
    if (const Value* enable = cri.find("enable_cdi");
        enable != nullptr && enable->kind != Value::Kind::kBool) {
        report.add("RUN002", enable->mark, "enable_cdi is " + named(enable->scalar))
            .expected("true or false, without quotes");
    }
    if (const Value* dirs = cri.find("cdi_spec_dirs"); dirs != nullptr) {
        for (const Value& one : dirs->items) {
            if (one.scalar.starts_with('/') || is_placeholder(one.scalar)) continue;
            report.add("RUN002", one.mark, "cdi_spec_dirs has " + named(one.scalar))
                .expected("absolute paths: /etc/cdi, /var/run/cdi");
        }
    }
    for (const Value::Entry& entry : cri.entries) {
        const std::string_view meant = nearest(entry.first.scalar, {"enable_cdi", "cdi_spec_dirs"});
        if (meant.empty() || meant == entry.first.scalar) continue;
        report
            .add("RUN002", entry.second.mark, "the CRI plugin has no " + named(entry.first.scalar))
            .expected(std::string(meant));
    }
    const Value* containerd = cri.find("containerd");
    if (containerd == nullptr) return;
    std::vector<std::string_view> names;
    if (const Value* runtimes = containerd->find("runtimes"); runtimes != nullptr) {
        for (const Value::Entry& entry : runtimes->entries) {
            names.push_back(entry.first.scalar);
            check_runtime_options(entry.second, entry.first.scalar, report);
        }
    }
    for (const Value::Entry& entry : containerd->entries) {
        const std::string& key = entry.first.scalar;
        const std::string_view meant =
            nearest(key, {"default_runtime_name", "runtimes", "snapshotter", "default_runtime"});
        if (meant.empty() || meant == key || key == "default_runtime") continue;
        report.add("RUN002", entry.second.mark, "containerd's CRI plugin has no " + named(key))
            .expected(std::string(meant));
    }
    const Value* table = containerd->find("default_runtime");
    if (table != nullptr && !table->is_mapping() &&
        containerd->find("default_runtime_name") == nullptr) {
        report
            .add("RUN002", table->mark,
                 "'default_runtime' is a table; the name of a runtime does not go there")
            .expected("default_runtime_name = \"" + table->scalar + '"')
            .fix("default_runtime_name = \"" + table->scalar + '"');
    }
    // Drop-ins and imports add to what there is; a drop-in for one runtime defines just that.
    const Value* name = containerd->find("default_runtime_name");
    if (name != nullptr && whole && name->scalar != "runc") {
        check_runtime_name(*name, names, "the configuration", report);
    }
}

/// whole   false: a part of a configuration, in a text or a directory of drop-ins
void check_containerd(const Object& object, bool whole, Report& report) {
    const Value& root = *object.node;
    const Value* plugins = root.find("plugins");
    if (plugins == nullptr || !plugins->is_mapping()) return;
    const Value* version = root.find("version");
    const std::string number = version == nullptr ? "1" : version->scalar;
    if (version != nullptr && number != "1" && number != "2" && number != "3" && number != "4") {
        report.add("RUN002", version->mark, "the version of the configuration is " + named(number))
            .expected("2 or 3");
        return;
    }
    const std::string_view wanted = plugin_of(number);
    for (const Value::Entry& plugin : plugins->entries) {
        const std::string& key = plugin.first.scalar;
        const bool runtimes = plugin.second.find("containerd") != nullptr;
        if (key == kPluginV2 || key == kPluginV3 || key == "cri") {
            check_cri(plugin.second, whole && root.find("imports") == nullptr, report);
            if (key != wanted && runtimes && version != nullptr) {
                report
                    .add("RUN002", plugin.second.mark,
                         "a configuration of version " + number +
                             " has its runtimes in the plugin " + named(wanted) + ", not in " +
                             named(key))
                    .expected(std::string(wanted));
            } else if (whole && key != wanted && runtimes && key != "cri") {
                report
                    .add("RUN002", plugin.second.mark,
                         "the plugin " + named(key) +
                             " needs 'version = " + (key == kPluginV3 ? "3" : "2") + "' at the top")
                    .expected("version = " + std::string(key == kPluginV3 ? "3" : "2"))
                    .severity(Severity::kWarning);
            }
        } else if (const auto meant = nearest(key, {kPluginV2, kPluginV3}); !meant.empty()) {
            report.add("RUN002", plugin.second.mark, "there is no plugin " + named(key))
                .expected(std::string(meant));
        }
    }
}

void check_docker_daemon(const Object& object, Report& report) {
    const Value* name = object.node->find("default-runtime");
    std::vector<std::string_view> known{"runc", "io.containerd.runc.v2"};
    if (const Value* runtimes = object.node->find("runtimes"); runtimes != nullptr) {
        for (const Value::Entry& entry : runtimes->entries) known.push_back(entry.first.scalar);
    }
    if (name != nullptr) check_runtime_name(*name, known, "daemon.json", report);
    const Value* options = object.node->find("exec-opts");
    if (options == nullptr) return;
    constexpr std::string_view kDriver = "native.cgroupdriver=";
    for (const Value& one : options->items) {
        if (!one.scalar.starts_with(kDriver)) continue;
        const std::string driver = one.scalar.substr(kDriver.size());
        if (driver == "systemd" || driver == "cgroupfs" || is_placeholder(driver)) continue;
        report.add("RUN002", one.mark, "the cgroup driver is " + named(driver))
            .expected("systemd or cgroupfs");
    }
}

bool is_vendor_class(std::string_view kind) {
    const auto slash = kind.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == kind.size()) return false;
    return kind.find('/', slash + 1) == std::string_view::npos &&
           kind.find_first_of(" =:@") == std::string_view::npos;
}

void check_cdi_edits(const Value* edits, Report& report) {
    if (edits == nullptr) return;
    const Value* env = edits->find("env");
    if (env == nullptr) return;
    for (const Value& one : env->items) {
        if (!one.is_string() || is_placeholder(one.scalar)) continue;
        if (one.scalar.find('=') != std::string::npos && one.scalar.front() != '=') continue;
        report.add("RUN003", one.mark, "env has " + named(one.scalar)).expected("NAME=VALUE");
    }
}

void check_cdi(const Object& object, Report& report) {
    const Value& root = *object.node;
    if (const Value* kind = root.find("kind");
        kind != nullptr && !is_placeholder(kind->scalar) && !is_vendor_class(kind->scalar)) {
        report.add("RUN003", kind->mark, "the kind of the specification is " + named(kind->scalar))
            .expected("vendor/class, as nvidia.com/gpu");
    }
    check_cdi_edits(root.find("containerEdits"), report);
    const Value* devices = root.find("devices");
    if (devices == nullptr) return;
    std::set<std::string> names;
    for (const Value& device : devices->items) {
        check_cdi_edits(device.find("containerEdits"), report);
        const Value* name = device.find("name");
        if (name == nullptr || is_placeholder(name->scalar)) continue;
        if (names.insert(name->scalar).second) continue;
        report.add("RUN003", name->mark, "a second device of the name " + named(name->scalar))
            .expected("a name once");
    }
    if (!devices->is_sequence() || !devices->items.empty()) return;
    report.add("RUN003", devices->mark, "the specification has no device")
        .expected("at least one device");
}

}  // namespace

bool is_visible_devices(std::string_view value) {
    if (value.empty() || value == "all" || value == "none" || value == "void") return true;
    if (value.starts_with("/var/run/nvidia-container-devices")) return true;
    const auto parts = split(value, ',');
    return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
        part = trim(part);
        if (part.starts_with("GPU-") || part.starts_with("MIG-")) return part.size() > 4;
        if (part.find('=') != std::string_view::npos) return true;  // a CDI device
        const auto colon = part.find(':');
        const bool gpu = parse_number<unsigned>(part.substr(0, colon)).has_value();
        return gpu && (colon == std::string_view::npos ||
                       parse_number<unsigned>(part.substr(colon + 1)).has_value());
    });
}

void check_runtimes(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    for (const Object& object : file.objects) {
        if (!object.node->is_mapping()) continue;
        if (object.role == Role::kToml) {
            const Block& block = file.blocks[static_cast<std::size_t>(object.block)];
            check_containerd(
                object, block.setting == Setting::kFile && !contains(file.directory, ".d"), report);
        } else if (object.node->find("cdiVersion") != nullptr && object.kind != "ConfigMap") {
            check_cdi(object, report);
        } else if (object.api_version.empty() && object.node->find("default-runtime") != nullptr) {
            check_docker_daemon(object, report);
        }
    }
}

}  // namespace aliquot::lint
