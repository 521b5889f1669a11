// SPDX-License-Identifier: Apache-2.0
#include "sim/node/capabilities.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include "base/number.h"
#include "sim/node/instances.h"

namespace aliquot::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "nvidia-cap";
constexpr unsigned kConfigMinor = 1;
constexpr unsigned kMonitorMinor = 2;
constexpr unsigned kFirstInstanceMinor = 3;

std::set<unsigned> wanted_minors(const State& state) {
    std::set<unsigned> minors = {kConfigMinor, kMonitorMinor};
    for (unsigned gpu = 0; gpu < std::min(state.gpu_count, kMaxGpus); ++gpu) {
        const unsigned number = state.gpus[gpu].minor;
        for (unsigned id = 0; id < kMaxGpuInstances; ++id) {
            if (find_gpu_instance(state, gpu, id)) {
                minors.insert(capability_minor(number, id, kNoInstance));
            }
        }
        for (const Instance& device : mig_devices(state, gpu)) {
            minors.insert(capability_minor(number, device.gpu_instance, device.compute_instance));
        }
    }
    return minors;
}

/// The files of instances are names of the config device's file: all are empty, and a new name takes a
/// file system a tenth of the time of a new file where many have just gone.
void make_file(const fs::path& devices, unsigned minor) {
    const auto path_of = [&](unsigned number) {
        return devices / (std::string(kPrefix) + std::to_string(number));
    };
    const fs::path path = path_of(minor);
    if (minor != kConfigMinor && ::link(path_of(kConfigMinor).c_str(), path.c_str()) == 0) return;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (file >= 0) ::close(file);
}

bool has_capabilities(const fs::path& directory, unsigned gpu, const Instance& device) {
    const auto there = [&](unsigned minor) {
        std::error_code problem;
        return fs::exists(
            directory / "nvidia-caps" / (std::string(kPrefix) + std::to_string(minor)), problem);
    };
    return there(capability_minor(gpu, device.gpu_instance, kNoInstance)) &&
           there(capability_minor(gpu, device.gpu_instance, device.compute_instance));
}

}  // namespace

unsigned capability_minor(unsigned gpu, unsigned gpu_instance, unsigned compute_instance) {
    const unsigned minor =
        kFirstInstanceMinor + (gpu * kMaxGpuInstances + gpu_instance) * (kMaxComputeInstances + 1);
    return compute_instance == kNoInstance ? minor : minor + 1 + compute_instance;
}

std::string mig_minors(const State& state) {
    std::string text = "config 1\nmonitor 2\n";
    for (unsigned gpu = 0; gpu < std::min(state.gpu_count, kMaxGpus); ++gpu) {
        for (unsigned instance = 0; instance < kMaxGpuInstances; ++instance) {
            const std::string name = "gpu" + std::to_string(gpu) + "/gi" + std::to_string(instance);
            text += name + "/access " +
                    std::to_string(capability_minor(gpu, instance, kNoInstance)) + "\n";
            for (unsigned compute = 0; compute < kMaxComputeInstances; ++compute) {
                text += name + "/ci" + std::to_string(compute) + "/access " +
                        std::to_string(capability_minor(gpu, instance, compute)) + "\n";
            }
        }
    }
    return text;
}

void update_capability_files(const fs::path& directory, const State& state) {
    const fs::path devices = directory / "dev/nvidia-caps";
    std::set<unsigned> missing = wanted_minors(state);
    std::error_code problem;
    for (auto entry = fs::directory_iterator(devices, problem);
         !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
        const std::string name = entry->path().filename().native();
        if (!name.starts_with(kPrefix)) continue;
        const auto minor = parse_number<unsigned>(std::string_view(name).substr(kPrefix.size()));
        if (minor && missing.erase(*minor) == 0) ::unlink(entry->path().c_str());
    }
    if (problem) return;
    for (const unsigned minor : missing) make_file(devices, minor);
}

std::string listed_devices(const State& state, std::string_view list, const fs::path& directory) {
    if (list != "devices") return std::string(list);
    std::string found;
    const auto add = [&found](const std::string& item) {
        found += found.empty() ? item : "," + item;
    };
    for (unsigned slot = 0; slot < std::min(state.gpu_count, kMaxGpus); ++slot) {
        const GpuState& gpu = state.gpus[slot];
        std::error_code problem;
        if (!fs::exists(directory / ("nvidia" + std::to_string(gpu.minor)), problem)) continue;
        if (gpu.mig_current == 0) add(std::to_string(slot));
        for (const Instance& device : mig_devices(state, slot)) {
            const auto* const compute = find_compute_instance(state, slot, device);
            if (compute == nullptr || !has_capabilities(directory, gpu.minor, device)) continue;
            add(std::to_string(slot) + ":" + std::to_string(compute->device_index));
        }
    }
    return found;
}

}  // namespace aliquot::sim
