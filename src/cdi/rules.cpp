// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "cdi/names.h"
#include "cdi/spec.h"

namespace aliquot::cdi {
namespace {

bool is_empty(const Edits& edits) {
    return edits.environment.empty() && edits.device_nodes.empty() && edits.mounts.empty() &&
           edits.hooks.empty();
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Gathers problems; every line begins with where in the spec it is.
class Check {
public:
    void kind(const std::string& kind) {
        const auto parts = split_kind(kind);
        if (!parts) {
            add("kind", in_quotes(kind) + " is not vendor/class");
            return;
        }
        if (!is_vendor_or_class(parts->vendor)) {
            add("kind", "vendor " + in_quotes(parts->vendor) + kNameRule);
        }
        if (!is_vendor_or_class(parts->device_class)) {
            add("kind", "class " + in_quotes(parts->device_class) + kNameRule);
        }
    }

    void devices(const std::vector<Device>& devices) {
        if (devices.empty()) add("devices", "there is none; a spec has at least one");
        std::set<std::string_view> seen;
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const std::string where = "devices[" + std::to_string(i) + "]";
            const Device& device = devices[i];
            if (!is_device_name(device.name)) {
                add(where, "name " + in_quotes(device.name) +
                               " must begin and end with a letter or digit and have only letters, "
                               "digits, '_', '-', '.' and ':' between");
            }
            if (!seen.insert(device.name).second) {
                add(where, "name " + in_quotes(device.name) + " is there twice");
            }
            if (is_empty(device.edits)) {
                add(where, in_quotes(device.name) + " has no container edits");
            }
            edits(where + ".containerEdits", device.edits);
        }
    }

    void edits(const std::string& where, const Edits& edits) {
        for (const std::string& entry : edits.environment) environment(where + ".env", entry);
        for (const DeviceNode& node : edits.device_nodes) {
            path(where + ".deviceNodes", "path", node.path, true);
            path(where + ".deviceNodes", "hostPath", node.host_path, false);
            if (!is_permissions(node.permissions)) {
                add(where + ".deviceNodes", in_quotes(node.path) + " has permissions " +
                                                in_quotes(node.permissions) +
                                                ", allowed are r, w and m");
            }
        }
        for (const Mount& mount : edits.mounts) {
            path(where + ".mounts", "hostPath", mount.host_path, true);
            path(where + ".mounts", "containerPath", mount.container_path, true);
            for (const std::string& option : mount.options) text(where + ".mounts.options", option);
        }
        for (const Hook& hook : edits.hooks) {
            if (!is_hook_name(hook.name)) {
                add(where + ".hooks",
                    in_quotes(hook.name) + " is not a hook of the OCI runtime spec");
            }
            path(where + ".hooks", "path", hook.path, true);
            for (const std::string& argument : hook.arguments)
                text(where + ".hooks.args", argument);
            for (const std::string& entry : hook.environment)
                environment(where + ".hooks.env", entry);
        }
    }

    std::vector<std::string> take() { return std::move(problems_); }

private:
    static constexpr const char* kNameRule =
        " must begin with a letter, end with a letter or digit and have only letters, digits, '_', "
        "'-' and '.' between";

    void add(std::string_view where, const std::string& what) {
        problems_.push_back(std::string(where) + ": " + what);
    }
    void environment(std::string_view where, const std::string& entry) {
        if (!is_environment_entry(entry)) add(where, in_quotes(entry) + " is not NAME=value");
        text(where, entry);
    }
    void path(std::string_view where, std::string_view name, const std::string& path, bool needed) {
        if (needed && path.empty()) add(where, "an entry has no " + std::string(name));
        text(where, path);
    }
    void text(std::string_view where, std::string_view text) {
        if (!is_utf8(text) || text.contains('\0')) add(where, "a text is not UTF-8 or has a NUL");
    }

    std::vector<std::string> problems_;
};

bool any_host_path(const Edits& edits) {
    return std::ranges::any_of(edits.device_nodes,
                               [](const DeviceNode& node) { return !node.host_path.empty(); });
}

}  // namespace

std::string minimum_version(const Spec& spec) {
    const auto kind = split_kind(spec.kind);
    if (kind && kind->device_class.contains('.')) return "0.6.0";
    const bool needs_0_5 =
        any_host_path(spec.edits) || std::ranges::any_of(spec.devices, [](const Device& device) {
            const bool digit_first =
                !device.name.empty() && device.name.front() >= '0' && device.name.front() <= '9';
            return digit_first || any_host_path(device.edits);
        });
    return needs_0_5 ? "0.5.0" : "0.3.0";
}

std::vector<std::string> problems_of(const Spec& spec) {
    Check check;
    check.kind(spec.kind);
    check.devices(spec.devices);
    check.edits("containerEdits", spec.edits);
    return check.take();
}

}  // namespace aliquot::cdi
