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
constexpr std::string_view kCudaName = "libcuda.so";  // beside libnvidia-ml

std::string hexadecimal(std::uint64_t value, int digits) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "0x%0*llx", digits,
                  static_cast<unsigned long long>(value));
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

/// A library of the driver in its two places, under its version and its SONAME.
Result<Done> make_library(const fs::path& directory, std::string_view name, const State& state,
                          const fs::path& library) {
    const std::string versioned =
        std::string(name) + "." + std::string(state.driver_version.view());
    const std::string by_soname = std::string(name) + ".1";
    if (auto made = copy_to(library, directory / "lib" / versioned); !made) return made;
    if (auto made = link_symbolically(versioned, directory / "lib" / by_soname); !made) return made;
    const fs::path usual = directory / "usr/lib/x86_64-linux-gnu";
    if (auto made = link_to(directory / "lib" / versioned, usual / versioned); !made) return made;
    return link_symbolically(versioned, usual / by_soname);
}

/// libcuda.so, by which some programs open it instead of its SONAME.
Result<Done> make_cuda_library(const fs::path& directory, const State& state,
                               const fs::path& library) {
    const std::string by_soname = std::string(kCudaName) + ".1";
    const fs::path cuda = library.parent_path() / by_soname;
    std::error_code problem;
    if (!fs::exists(cuda, problem)) return Done{};
    if (auto made = make_library(directory, kCudaName, state, cuda); !made) return made;
    const std::string name(kCudaName);
    if (auto made = link_symbolically(by_soname, directory / "lib" / name); !made) return made;
    return link_symbolically(by_soname, directory / "usr/lib/x86_64-linux-gnu" / name);
}

Result<Done> make_programs(const fs::path& directory, const State& state, const fs::path& library,
                           const fs::path& smi) {
    if (auto made = make_library(directory, kLibraryName, state, library); !made) return made;
    if (auto made = make_cuda_library(directory, state, library); !made) return made;
    if (smi.empty()) return Done{};
    if (auto made = copy_to(smi, directory / "bin/nvidia-smi"); !made) return made;
    auto linked = link_to(directory / "bin/nvidia-smi", directory / "usr/bin/nvidia-smi");
    const fs::path mps = smi.parent_path() / kMpsControl;
    std::error_code problem;
    if (!linked || !fs::exists(mps, problem)) return linked;
    if (auto made = copy_to(mps, directory / "bin" / kMpsControl); !made) return made;
    return link_to(directory / "bin" / kMpsControl, directory / "usr/bin" / kMpsControl);
}

/// The regions of a GPU: registers, memory, state; a line for each of the thirteen that PCI knows.
std::string regions_of(const Model& model, const GpuState& gpu) {
    constexpr std::uint64_t kRegisterBytes = 16ULL << 20;
    constexpr std::uint64_t kStateBytes = 32ULL << 20;
    constexpr std::uint64_t kPlain = 0x40200;
    constexpr std::uint64_t kWidePrefetched = 0x14220c;
    constexpr std::uint64_t kWindow = 1ULL << 42;  // far more than any GPU's memory
    const std::uint64_t low = 0xa0000000 + std::uint64_t{gpu.minor} * kRegisterBytes;
    const std::uint64_t high = kWindow * (1 + gpu.minor);
    const std::uint64_t memory_bytes = std::uint64_t{model.bar1_mib} << 20;
    const struct {
        std::uint64_t start;
        std::uint64_t bytes;
        std::uint64_t flags;
    } regions[13] = {{low, kRegisterBytes, kPlain},
                     {high, memory_bytes, kWidePrefetched},
                     {},
                     {high + kWindow / 2, kStateBytes, kWidePrefetched}};
    std::string text;
    for (const auto& region : regions) {
        const std::uint64_t end = region.bytes == 0 ? 0 : region.start + region.bytes - 1;
        text += hexadecimal(region.start, 16) + " " + hexadecimal(end, 16) + " " +
                hexadecimal(region.flags, 16) + "\n";
    }
    return text;
}

/// The beginning of PCI configuration space: who the device is and of what class.
std::string configuration_of(const Model& model) {
    std::string bytes(256, '\0');
    const auto put = [&](std::size_t at, unsigned value) {
        bytes[at] = static_cast<char>(value & 0xff);
        bytes[at + 1] = static_cast<char>(value >> 8 & 0xff);
    };
    put(0x00, 0x10de);
    put(0x02, model.pci_device);
    put(0x04, 0x0407);  // it answers, and may be master of the bus
    put(0x06, 0x0010);
    put(0x08, 0x00a1);  // revision
    put(0x0a, model.display ? 0x0300 : 0x0302);
    put(0x2c, 0x10de);
    put(0x2e, model.pci_subsystem);
    return bytes;
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
        {sysfs + "resource", regions_of(model, gpu)},
        {sysfs + "config", configuration_of(model)},
        {sysfs + "numa_node", std::to_string(gpu.numa_node) + "\n"},
        {sysfs + "max_link_width", std::to_string(model.pcie_width) + "\n"},
        {sysfs + "current_link_width", std::to_string(model.pcie_width) + "\n"},
    };
    for (const auto& file : files) {
        if (auto made = write(directory / file.path, file.content); !made) return made;
    }
    return link_symbolically("../../drivers/nvidia", directory / (sysfs + "driver"));
}

Result<Done> describe_driver(const fs::path& directory, const State& state) {
    for (const auto* name : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
        if (auto made = write(directory / "dev" / name, ""); !made) return made;
    }
    if (auto made = describe_module(directory, state); !made) return made;
    if (auto made = write(directory / "proc/modules",
                          "nvidia_uvm 1974272 0 - Live 0x0000000000000000\n"
                          "nvidia 14331904 1 nvidia_uvm, Live 0x0000000000000000\n");
        !made) {
        return made;
    }
    std::error_code problem;
    fs::create_directories(directory / "sys/bus/pci/drivers/nvidia", problem);
    if (problem) return error_of(problem, directory / "sys/bus/pci/drivers/nvidia");
    bool mig = false;
    for (unsigned i = 0; i < state.gpu_count; ++i) {
        if (auto made = describe_gpu(directory, state, state.gpus[i]); !made) return made;
        mig = mig || find_model(state.gpus[i].model.view())->mig_devices > 0;
    }
    if (!mig) return Done{};
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

Result<Done> describe_module(const fs::path& directory, const State& state) {
    const std::string version =
        std::string(state.driver_version.view()) + (state.driver_mismatch == 0 ? "" : ".99");
    return write(directory / "proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version +
                     "  (simulated)\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
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
