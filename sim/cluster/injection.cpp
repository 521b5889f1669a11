// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/injection.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "abi/region.h"
#include "base/number.h"
#include "base/text.h"
#include "cdi/spec.h"
#include "guard_region/guard_library.h"

namespace aliquot::sim::cluster {
namespace {

constexpr std::string_view kMountedDevices = "/var/run/nvidia-container-devices";
constexpr std::string_view kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr std::size_t kMaxSpecBytes = 4U << 20U;

std::vector<std::string> cdi_names(const grant::Grant& grant) {
    std::vector<std::string> names = grant.cdi_devices;
    for (const auto& annotation : grant.annotations) {
        if (!annotation.first.starts_with("cdi.k8s.io/")) continue;
        for (const auto name : split_list(annotation.second)) names.emplace_back(name);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Result<std::vector<cdi::Spec>> read_specs(const os::Root& root) {
    std::vector<cdi::Spec> specs;
    for (const std::string directory : {"/var/run/cdi", "/etc/cdi"}) {
        const auto names = root.list(directory);
        if (!names) continue;
        for (const std::string& name : *names) {
            const bool wanted = name.ends_with(".json") || name.ends_with(".yaml");
            if (!wanted || name.starts_with('.')) continue;
            std::string path = directory;
            path.append("/").append(name);
            const auto text = root.read(path, kMaxSpecBytes);
            if (!text) return text.error();
            auto spec = cdi::parse(*text);
            if (!spec) return std::move(spec).error().during(path);
            specs.push_back(*std::move(spec));
        }
    }
    return specs;
}

/// What a container with the guard's mounts finds by them, as variables: no mount is made here.
void guard_by_variables(const os::Root& root, const std::vector<grant::Grant::Mount>& mounts,
                        Environment& environment) {
    for (const grant::Grant::Mount& mount : mounts) {
        const std::filesystem::path host = root.resolve(mount.host_path);
        if (mount.container_path == abi::kGuardDirectory) {
            environment["ALIQUOT_GUARD_CONFIG"] = host / abi::kConfigFile;
            environment["ALIQUOT_GUARD_REGION"] = host / abi::kLedgerFile;
            environment["ALIQUOT_GUARD_NODE"] = host / abi::kNodeFile;
        }
        if (mount.container_path == guard_region::kLibraryDirectory) {
            environment["LD_PRELOAD"] = host / guard_region::kLibraryFile;
        }
    }
}

/// The GPU behind "/dev/nvidia3"; nullptr for any other node.
const gpu::Gpu* gpu_of_node(std::string_view path, const gpu::Inventory& inventory) {
    constexpr std::string_view kPrefix = "/dev/nvidia";
    if (!path.starts_with(kPrefix)) return nullptr;
    path.remove_prefix(kPrefix.size());
    const auto minor = parse_number<unsigned>(path);
    if (!minor) return nullptr;
    const auto found = std::ranges::find(inventory.gpus, *minor, &gpu::Gpu::minor);
    return found == inventory.gpus.end() ? nullptr : &*found;
}

class Runtime {
public:
    explicit Runtime(const gpu::Inventory& inventory) : inventory_(inventory) {}

    Result<Done> apply_cdi(const std::vector<std::string>& names,
                           const std::vector<cdi::Spec>& specs) {
        for (const std::string& name : names) {
            bool found = false;
            for (const cdi::Spec& spec : specs) {
                for (const cdi::Device& device : spec.devices) {
                    if (spec.kind + "=" + device.name != name) continue;
                    found = true;
                    apply(spec.edits, Nodes::kCount);
                    // A MIG device comes with its GPU's file; the container sees the device alone.
                    // The name of a claim's device ends with a dot and the uuid.
                    const std::string uuid = device.name.substr(device.name.rfind('.') + 1);
                    apply(device.edits, see_mig(uuid) ? Nodes::kPass : Nodes::kCount);
                }
            }
            if (!found) {
                return Error{ErrorCode::kNotFound, "unresolvable CDI device " + name};
            }
        }
        return Done{};
    }

    /// "GPU-...", "0", "MIG-...", "0:1" or "all" as NVIDIA_VISIBLE_DEVICES has them.
    void see(std::string_view word) {
        if (see_mig(word)) return;
        for (const gpu::Gpu& gpu : inventory_.gpus) {
            if (word == gpu.uuid.text || word == std::to_string(gpu.index) || word == "all") {
                seen_.insert(gpu.index);
            }
        }
    }

    /// Of the CDI files.
    [[nodiscard]] const std::vector<grant::Grant::Mount>& mounts() const { return mounts_; }

    Injection take() {
        for (const gpu::Gpu& gpu : inventory_.gpus) {
            if (seen_.contains(gpu.index)) injection_.gpus.push_back(gpu.uuid.text);
            for (const gpu::MigDevice& device : gpu.mig_devices) {
                if (seen_mig_.contains({gpu.index, device.index})) {
                    injection_.gpus.push_back(device.uuid.text);
                }
            }
        }
        return std::move(injection_);
    }

private:
    enum class Nodes : std::uint8_t { kCount, kPass };  // does /dev/nvidia0 mean GPU 0?

    bool see_mig(std::string_view word) {
        for (const gpu::Gpu& gpu : inventory_.gpus) {
            for (const gpu::MigDevice& device : gpu.mig_devices) {
                const std::string by_index =
                    std::to_string(gpu.index) + ':' + std::to_string(device.index);
                if (word != device.uuid.text && word != by_index) continue;
                seen_mig_.emplace(gpu.index, device.index);
                return true;
            }
        }
        return false;
    }

    void apply(const cdi::Edits& edits, Nodes nodes) {
        for (const std::string& entry : edits.environment) {
            const std::size_t equals = entry.find('=');
            injection_.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
        }
        for (const cdi::Mount& mount : edits.mounts) {
            mounts_.push_back(
                {.container_path = mount.container_path, .host_path = mount.host_path});
        }
        if (nodes == Nodes::kPass) return;
        for (const cdi::DeviceNode& node : edits.device_nodes) {
            if (const gpu::Gpu* const gpu = gpu_of_node(node.path, inventory_)) {
                seen_.insert(gpu->index);
            }
        }
    }

    const gpu::Inventory& inventory_;
    std::set<unsigned> seen_;  // by index, so that the order is the driver's
    std::set<std::pair<unsigned, unsigned>> seen_mig_;  // GPU and MIG device
    std::vector<grant::Grant::Mount> mounts_;
    Injection injection_;
};

}  // namespace

Result<Injection> inject(const os::Root& root, const grant::Grant& grant,
                         const gpu::Inventory& inventory) {
    Runtime runtime(inventory);
    const std::vector<std::string> names = cdi_names(grant);
    if (!names.empty()) {
        const auto specs = read_specs(root);
        if (!specs) return specs.error();
        auto applied = runtime.apply_cdi(names, *specs);
        if (!applied) return std::move(applied).error();
    }
    const auto visible = grant.environment.find(std::string(kVisible));
    if (visible != grant.environment.end()) {
        for (const auto word : split_list(visible->second)) runtime.see(std::string(word));
    }
    for (const grant::Grant::Mount& mount : grant.mounts) {
        std::string_view path = mount.container_path;
        if (!path.starts_with(kMountedDevices)) continue;
        path.remove_prefix(std::min(path.size(), kMountedDevices.size() + 1));
        runtime.see(path);
    }
    Injection injection = runtime.take();
    // No mount is made here: a variable that names a mounted directory names it on the host.
    for (const grant::Grant::Mount& mount : grant.mounts) {
        for (const auto& [name, value] : grant.environment) {
            if (value != mount.container_path || name == kVisible) continue;
            injection.environment[name] = root.resolve(mount.host_path).native();
        }
    }
    guard_by_variables(root, runtime.mounts(), injection.environment);
    guard_by_variables(root, grant.mounts, injection.environment);
    return injection;
}

}  // namespace aliquot::sim::cluster
