// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "cdi/names.h"
#include "cdi/spec.h"

namespace aliquot::cdi {
namespace {

namespace fs = std::filesystem;

// The first of these that holds a driver library is the one: on a merged /usr several are the same.
constexpr std::array<std::string_view, 10> kLibraryDirectories{"/usr/lib/x86_64-linux-gnu",
                                                               "/usr/lib/aarch64-linux-gnu",
                                                               "/lib/x86_64-linux-gnu",
                                                               "/lib/aarch64-linux-gnu",
                                                               "/usr/lib64",
                                                               "/lib64",
                                                               "/usr/lib/nvidia/current",
                                                               "/usr/lib/nvidia",
                                                               "/usr/lib",
                                                               "/lib"};

constexpr std::array<std::string_view, 6> kProgramDirectories{
    "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/opt/bin"};

/// A driver library: its name up to ".so", and how programs ask for it when the installation has
/// only the versioned file.
struct Library {
    std::string_view stem;
    std::string_view soname;  // empty: nobody asks by a name without the version
};
constexpr auto kLibraries = std::to_array<Library>({
    {"libcuda", "libcuda.so.1"},
    {"libnvidia-ml", "libnvidia-ml.so.1"},
    {"libcudadebugger", "libcudadebugger.so.1"},
    {"libnvidia-ptxjitcompiler", "libnvidia-ptxjitcompiler.so.1"},
    {"libnvidia-nvvm", "libnvidia-nvvm.so.4"},
    {"libnvidia-nvvm70", "libnvidia-nvvm70.so.4"},
    {"libnvidia-cfg", "libnvidia-cfg.so.1"},
    {"libnvidia-opencl", "libnvidia-opencl.so.1"},
    {"libnvidia-gpucomp", ""},
    {"libnvidia-allocator", "libnvidia-allocator.so.1"},
    {"libnvidia-encode", "libnvidia-encode.so.1"},
    {"libnvcuvid", "libnvcuvid.so.1"},
    {"libnvidia-opticalflow", "libnvidia-opticalflow.so.1"},
    {"libnvoptix", "libnvoptix.so.1"},
    {"libnvidia-fbc", "libnvidia-fbc.so.1"},
    {"libnvidia-ngx", "libnvidia-ngx.so.1"},
    {"libvdpau_nvidia", "libvdpau_nvidia.so.1"},
    {"libGLX_nvidia", "libGLX_nvidia.so.0"},
    {"libEGL_nvidia", "libEGL_nvidia.so.0"},
    {"libGLESv1_CM_nvidia", "libGLESv1_CM_nvidia.so.1"},
    {"libGLESv2_nvidia", "libGLESv2_nvidia.so.2"},
    {"libnvidia-eglcore", ""},
    {"libnvidia-glcore", ""},
    {"libnvidia-glsi", ""},
    {"libnvidia-glvkspirv", ""},
    {"libnvidia-rtcore", ""},
    {"libnvidia-tls", ""},
});

constexpr std::array<std::string_view, 5> kPrograms{
    "nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server"};

constexpr std::array<std::string_view, 4> kControlNodes{
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};

// So that NVIDIA's own runtime hook does not put in devices a second time by what the image says.
constexpr std::string_view kNoSecondInjection = "NVIDIA_VISIBLE_DEVICES=void";

constexpr int kMaxLinks = 8;

/// "/" and "/usr/bin" give "/usr/bin"; "/run/driver" and "/usr/bin" give "/run/driver/usr/bin".
std::string join(std::string_view prefix, std::string_view path) {
    while (prefix.ends_with('/')) prefix.remove_suffix(1);
    return std::string(prefix) + std::string(path);
}

/// What follows ".so" of a library file: "", ".1", ".580.65.06". Empty optional: not such a name.
std::optional<std::string_view> version_suffix(std::string_view file, std::string_view stem) {
    if (!file.starts_with(stem) || !file.substr(stem.size()).starts_with(".so"))
        return std::nullopt;
    const std::string_view rest = file.substr(stem.size() + 3);
    const bool dotted =
        std::ranges::all_of(rest, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
    if (!dotted || (!rest.empty() && (!rest.starts_with('.') || rest.ends_with('.')))) {
        return std::nullopt;
    }
    return rest;
}

/// The driver installation, seen through the root.
class Installation {
public:
    Installation(const os::Root& root, std::string driver_root, std::string version)
        : root_(root), driver_root_(std::move(driver_root)), version_(std::move(version)) {}

    /// Every library of kLibraries, each under all the names that programs ask for.
    [[nodiscard]] std::vector<Mount> libraries() const {
        std::vector<Mount> mounts;
        const std::string directory = library_directory();
        if (directory.empty()) return mounts;
        for (const std::string& folder : {directory, directory + "/vdpau"}) {
            const auto names = root_.list(join(driver_root_, folder), 20'000);
            if (!names) continue;
            for (const Library& library : kLibraries) add_library(mounts, folder, *names, library);
        }
        return mounts;
    }

    [[nodiscard]] std::vector<Mount> programs() const {
        std::vector<Mount> mounts;
        for (const std::string_view program : kPrograms) {
            for (const std::string_view directory : kProgramDirectories) {
                const std::string path = std::string(directory) + "/" + std::string(program);
                if (!is_file(path)) continue;
                mounts.push_back(read_only(real_path(path), path));
                break;
            }
        }
        return mounts;
    }

private:
    static Mount read_only(std::string host_path, std::string container_path) {
        return {.host_path = std::move(host_path),
                .container_path = std::move(container_path),
                .options = {"ro", "nosuid", "nodev", "rbind", "rprivate"}};
    }

    [[nodiscard]] bool is_file(const std::string& path) const {
        const auto status = root_.status(join(driver_root_, path));
        return status && status->kind == os::FileStatus::Kind::kRegular;
    }

    [[nodiscard]] std::string library_directory() const {
        for (const std::string_view directory : kLibraryDirectories) {
            const auto names = root_.list(join(driver_root_, directory), 20'000);
            if (!names) continue;
            const bool driver = std::ranges::any_of(*names, [&](const std::string& name) {
                return (version_suffix(name, "libcuda") || version_suffix(name, "libnvidia-ml")) &&
                       is_file(std::string(directory) + "/" + name);
            });
            if (driver) return std::string(directory);
        }
        return {};
    }

    /// The host path of the file behind `path`, when its links lead to one of the installation;
    /// else of `path` itself, which the kernel follows when it mounts.
    [[nodiscard]] std::string real_path(const std::string& path) const {
        std::string at = path;
        for (int hop = 0; hop < kMaxLinks; ++hop) {
            std::error_code problem;
            const fs::path target =
                fs::read_symlink(root_.resolve(join(driver_root_, at)), problem);
            if (problem) break;
            at = (fs::path(at).parent_path() / target).lexically_normal().native();
        }
        return join(driver_root_, is_file(at) ? at : path);
    }

    /// A file that belongs to another driver version: left behind by an update.
    [[nodiscard]] bool is_foreign(const std::string& real, std::string_view stem,
                                  const std::vector<std::string>& names) const {
        const std::string ours = std::string(stem) + ".so." + version_;
        if (version_.empty() || !std::ranges::binary_search(names, ours)) return false;
        return fs::path(real).filename() != ours;
    }

    void add_library(std::vector<Mount>& mounts, const std::string& folder,
                     const std::vector<std::string>& names, const Library& library) const {
        std::string real;
        std::set<std::string> targets;
        for (const std::string& name : names) {
            std::string path = folder;
            path.append("/").append(name);
            if (!version_suffix(name, library.stem) || !is_file(path)) continue;
            const std::string host = real_path(path);
            if (is_foreign(host, library.stem, names)) continue;
            mounts.push_back(read_only(host, path));
            targets.insert(name);
            real = host;
        }
        if (real.empty() || library.soname.empty()) return;
        if (!targets.contains(std::string(library.soname))) {
            mounts.push_back(read_only(real, folder + "/" + std::string(library.soname)));
        }
    }

    const os::Root& root_;
    std::string driver_root_;
    std::string version_;
};

DeviceNode device_node(const std::string& path, const std::string& dev_root) {
    const std::string host = join(dev_root, path);
    return {.path = path, .host_path = host == path ? "" : host, .permissions = "rw"};
}

/// /dev/dri/card1 and renderD128 of a GPU, for EGL and Vulkan; none on most compute nodes.
std::vector<DeviceNode> drm_nodes(const os::Root& root, const gpu::Gpu& gpu,
                                  const std::string& dev_root) {
    std::vector<DeviceNode> nodes;
    const auto names = root.list("/sys/bus/pci/devices/" + to_text(gpu.pci) + "/drm", 64);
    if (!names) return nodes;
    for (const std::string& name : *names) {
        const bool known = name.starts_with("card") || name.starts_with("renderD");
        const std::string path = "/dev/dri/" + name;
        if (known && root.exists(join(dev_root, path)))
            nodes.push_back(device_node(path, dev_root));
    }
    return nodes;
}

/// Collects devices under different names, and all their nodes.
class DeviceList {
public:
    /// A name that is taken, or that CDI does not allow, is passed over.
    void add(std::string name, const std::vector<DeviceNode>& nodes) {
        if (!is_device_name(name) || !seen_.insert(name).second) return;
        for (const DeviceNode& node : nodes) {
            if (std::ranges::find(all_, node) == all_.end()) all_.push_back(node);
        }
        devices_.push_back({.name = std::move(name), .edits = {.device_nodes = nodes}});
    }
    std::vector<Device> take() {
        if (!devices_.empty() && !seen_.contains("all")) {
            devices_.push_back({.name = "all", .edits = {.device_nodes = std::move(all_)}});
        }
        return std::move(devices_);
    }

private:
    std::vector<Device> devices_;
    std::vector<DeviceNode> all_;
    std::set<std::string> seen_;
};

/// The capabilities of a MIG device. Without them the GPU's own node shows a program nothing.
std::vector<DeviceNode> capability_nodes(const gpu::MigDevice& device,
                                         const std::string& dev_root) {
    std::vector<DeviceNode> nodes;
    for (const auto& minor : {device.gpu_instance_cap, device.compute_instance_cap}) {
        if (!minor) continue;
        nodes.push_back(
            device_node("/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor), dev_root));
    }
    return nodes;
}

std::vector<Device> describe_gpus(const os::Root& root, const gpu::Inventory& inventory,
                                  const std::string& dev_root, bool by_index) {
    DeviceList list;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        const std::string index = std::to_string(gpu.index);
        std::vector<DeviceNode> nodes{
            device_node("/dev/nvidia" + std::to_string(gpu.minor), dev_root)};
        const std::vector<DeviceNode> own = nodes;
        std::ranges::move(drm_nodes(root, gpu, dev_root), std::back_inserter(nodes));
        list.add(by_index ? index : gpu.uuid.text, nodes);
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            std::vector<DeviceNode> part = own;  // MIG has no graphics
            std::ranges::move(capability_nodes(device, dev_root), std::back_inserter(part));
            list.add(by_index ? index + ":" + std::to_string(device.index) : device.uuid.text,
                     part);
        }
    }
    return list.take();
}

}  // namespace

Result<Spec> describe_node(const os::Root& root, const gpu::Inventory& inventory,
                           const DescribeOptions& options) {
    const std::string& driver_root = options.place.driver_root;
    const std::string& dev_root =
        options.place.dev_root.empty() ? driver_root : options.place.dev_root;
    Spec spec{.kind = options.vendor + "/" + options.device_class,
              .devices = describe_gpus(root, inventory, dev_root, options.by_index)};
    if (spec.devices.empty()) {
        return Error{ErrorCode::kNotFound,
                     "CDI spec " + spec.kind + ": this node has no GPU to name"};
    }

    const Installation installation(root, driver_root, inventory.driver_version);
    spec.edits.mounts = installation.libraries();
    if (spec.edits.mounts.empty()) {
        return Error{ErrorCode::kNotFound,
                     "CDI spec " + spec.kind +
                         ": neither libcuda nor libnvidia-ml in the library "
                         "directories under the driver root '" +
                         driver_root + "'; set --driver-root to where the driver is installed"};
    }
    std::vector<Mount> programs = installation.programs();
    std::ranges::move(programs, std::back_inserter(spec.edits.mounts));
    for (const std::string_view node : kControlNodes) {
        if (root.exists(join(dev_root, node))) {
            spec.edits.device_nodes.push_back(device_node(std::string(node), dev_root));
        }
    }
    spec.edits.environment.emplace_back(kNoSecondInjection);

    const std::vector<std::string> problems = problems_of(spec);
    if (!problems.empty()) {
        return Error{ErrorCode::kInvalidInput, "CDI spec " + spec.kind + ": " + problems.front()};
    }
    return spec;
}

}  // namespace aliquot::cdi
