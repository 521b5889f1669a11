// SPDX-License-Identifier: Apache-2.0
#include "sim/node/driver_root.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "os/root.h"
#include "sim/node/capabilities.h"
#include "sim/node/model.h"
#include "sim/node/topology.h"

namespace aliquot::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kTopNames = {"bin", "dev", "lib", "proc", "sys", "usr"};
constexpr std::string_view kMpsControl = "nvidia-cuda-mps-control";  // beside nvidia-smi
constexpr std::string_view kLibraryName = "libnvidia-ml.so";

std::string hexadecimal(unsigned value, int digits) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%0*x", digits, value);
    return text.data();
}

Error error_of(const std::error_code& problem, const fs::path& subject) {
    return os::error_from_errno(problem.value(), subject.string());
}

Result<Done> copy_to(const fs::path& from, const fs::path& to) {
    std::error_code problem;
    fs::create_directories(to.parent_path(), problem);
    if (problem) return error_of(problem, to.parent_path());
    fs::copy_file(from, to, problem);
    if (problem) return error_of(problem, fs::exists(from) ? to : from).during("make driver root");
    return Done{};
}

/// A new file. Without fsync: a node does not outlive a power cut, and there are many of them.
Result<Done> write(const fs::path& path, std::string_view content) {
    std::error_code problem;
    fs::create_directories(path.parent_path(), problem);
    if (problem) return error_of(problem, path.parent_path());
    std::ofstream file(path);
    file << content;
    file.close();
    if (!file) return Error{ErrorCode::kUnavailable, path.string() + ": cannot be written"};
    return Done{};
}

/// A second name for a file of the tree (a hard link, so that both are real files).
Result<Done> link_to(const fs::path& existing, const fs::path& name) {
    std::error_code problem;
    fs::create_directories(name.parent_path(), problem);
    if (problem) return error_of(problem, name.parent_path());
    fs::create_hard_link(existing, name, problem);
    if (problem) fs::copy_file(existing, name, problem);  // a file system without hard links
    if (problem) return error_of(problem, name);
    return Done{};
}

Result<Done> link_symbolically(const std::string& target, const fs::path& name) {
    std::error_code problem;
    fs::create_symlink(target, name, problem);
    if (problem) return error_of(problem, name);
    return Done{};
}

Result<Done> make_programs(const fs::path& directory, const State& state, const fs::path& library,
                           const fs::path& smi) {
    const std::string versioned =
        std::string(kLibraryName) + "." + std::string(state.driver_version.view());
    const std::string by_soname = std::string(kLibraryName) + ".1";
    if (auto made = copy_to(library, directory / "lib" / versioned); !made) return made;
    if (auto made = link_symbolically(versioned, directory / "lib" / by_soname); !made) return made;
    const fs::path usual = directory / "usr/lib/x86_64-linux-gnu";
    if (auto made = link_to(directory / "lib" / versioned, usual / versioned); !made) return made;
    if (auto made = link_symbolically(versioned, usual / by_soname); !made) return made;
    if (smi.empty()) return Done{};
    if (auto made = copy_to(smi, directory / "bin/nvidia-smi"); !made) return made;
    auto linked = link_to(directory / "bin/nvidia-smi", directory / "usr/bin/nvidia-smi");
    const fs::path mps = smi.parent_path() / kMpsControl;
    std::error_code problem;
    if (!linked || !fs::exists(mps, problem)) return linked;
    if (auto made = copy_to(mps, directory / "bin" / kMpsControl); !made) return made;
    return link_to(directory / "bin" / kMpsControl, directory / "usr/bin" / kMpsControl);
}

std::string information_of(const Model& model, const GpuState& gpu, const State& state) {
    std::string text;
    const auto line = [&](const char* name, std::string_view value) {
        text += std::string(name) + "\t " + std::string(value) + "\n";
    };
    line("Model: \t", model.product);
    line("IRQ:   \t", std::to_string(64 + gpu.minor));
    line("GPU UUID: ", gpu.uuid.view());
    line("Video BIOS:", model.vbios);
    line("Bus Type: ", "PCIe");
    line("DMA Size: ", "47 bits");
    line("DMA Mask: ", "0x7fffffffffff");
    line("Bus Location: ", bus_id(gpu.pci_domain, gpu.pci_bus, 4));
    line("Device Minor: ", std::to_string(gpu.minor));
    line("GPU Firmware: ", model.architecture >= 6 ? state.driver_version.view() : "N/A");
    line("GPU Excluded:\t", "No");
    return text;
}

Result<Done> describe_gpu(const fs::path& directory, const State& state, const GpuState& gpu) {
    const Model& model = *find_model(gpu.model.view());
    const std::string name = bus_id(gpu.pci_domain, gpu.pci_bus, 4);
    const std::string sysfs = "sys/bus/pci/devices/" + name + "/";
    const struct {
        std::string path;
        std::string content;
    } files[] = {
        {"dev/nvidia" + std::to_string(gpu.minor), ""},
        {"proc/driver/nvidia/gpus/" + name + "/information", information_of(model, gpu, state)},
        {sysfs + "vendor", "0x10de\n"},
        {sysfs + "device", hexadecimal(model.pci_device, 4) + "\n"},
        {sysfs + "subsystem_vendor", "0x10de\n"},
        {sysfs + "subsystem_device", hexadecimal(model.pci_subsystem, 4) + "\n"},
        {sysfs + "class", model.display ? "0x030000\n" : "0x030200\n"},
        {sysfs + "numa_node", std::to_string(gpu.numa_node) + "\n"},
        {sysfs + "max_link_width", std::to_string(model.pcie_width) + "\n"},
        {sysfs + "current_link_width", std::to_string(model.pcie_width) + "\n"},
    };
    for (const auto& file : files) {
        if (auto made = write(directory / file.path, file.content); !made) return made;
    }
    return Done{};
}

Result<Done> describe_driver(const fs::path& directory, const State& state) {
    for (const auto* name : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
        if (auto made = write(directory / "dev" / name, ""); !made) return made;
    }
    const std::string version = std::string(state.driver_version.view());
    if (auto made =
            write(directory / "proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version +
                      "  (simulated)\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
        !made) {
        return made;
    }
    bool mig = false;
    for (unsigned i = 0; i < state.gpu_count; ++i) {
        if (auto made = describe_gpu(directory, state, state.gpus[i]); !made) return made;
        mig = mig || find_model(state.gpus[i].model.view())->mig_devices > 0;
    }
    if (!mig) return Done{};
    std::error_code problem;
    fs::create_directories(directory / "dev/nvidia-caps", problem);
    if (problem) return error_of(problem, directory / "dev/nvidia-caps");
    update_capability_files(directory, state);
    return write(directory / "proc/driver/nvidia-caps/mig-minors", mig_minors(state));
}

}  // namespace

Result<Done> make_driver_root(const fs::path& directory, const State& state,
                              const fs::path& library, const fs::path& smi) {
    if (auto made = make_programs(directory, state, library, smi); !made) return made;
    return describe_driver(directory, state);
}

fs::path first_taken_name(const fs::path& directory) {
    for (const auto name : kTopNames) {
        std::error_code problem;
        const auto status = fs::symlink_status(directory / name, problem);
        if (fs::exists(status)) return directory / name;
    }
    return {};
}

Result<Done> remove_driver_root(const fs::path& directory) {
    for (const auto name : kTopNames) {
        std::error_code problem;
        fs::remove_all(directory / name, problem);
        if (problem) return error_of(problem, directory / name);
    }
    return Done{};
}

}  // namespace aliquot::sim
