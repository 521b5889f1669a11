// SPDX-License-Identifier: Apache-2.0
#include "nvml/library.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

namespace aliquot::nvml {
namespace {

constexpr std::string_view kFile = "libnvidia-ml.so.1";
constexpr unsigned kFirstProcessCount = 64;
constexpr unsigned kProcessCountLimit = 65536;
constexpr unsigned kPlacementLimit = 64;

bool names_library(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().native();
    return name.ends_with(".so") || name.contains(".so.");
}

/// A text of at most `Size` bytes that `call(buffer, size)` writes; never trusts it to be ended.
template <std::size_t Size, class Call>
Answer<std::string> read_text(Call call) {
    std::array<char, Size + 1> text{};
    Answer<std::string> answer;
    answer.code = call(text.data(), static_cast<unsigned>(Size));
    if (answer.ok()) answer.value = text.data();
    return answer;
}

/// Calls until the list fits: processes come and go between two calls.
template <class Entry, class Call>
Answer<std::vector<Entry>> read_list(Call call) {
    Answer<std::vector<Entry>> answer;
    unsigned room = kFirstProcessCount;
    while (room <= kProcessCountLimit) {
        answer.value.assign(room, Entry{});
        unsigned count = room;
        answer.code = call(&count, answer.value.data());
        if (answer.code != NVML_ERROR_INSUFFICIENT_SIZE) {
            answer.value.resize(answer.ok() ? std::min(count, room) : 0);
            return answer;
        }
        room = std::max(room * 2, std::min(count, kProcessCountLimit));
    }
    return answer;
}

/// The first of two functions that exists.
template <class Newer, class Older, class... Arguments>
nvmlReturn_t call_newest(const Newer& newer, const Older& older, Arguments... arguments) {
    return newer ? newer(arguments...) : older(arguments...);
}

template <class V3, class V2, class V1>
Answer<std::vector<nvmlProcessInfo_t>> read_processes(nvmlDevice_t device, const V3& v3,
                                                      const V2& v2, const V1& v1) {
    if (v3 || v2) {
        return read_list<nvmlProcessInfo_t>([&](unsigned* count, nvmlProcessInfo_t* entries) {
            return call_newest(v3, v2, device, count, entries);
        });
    }
    const auto old = read_list<nvmlProcessInfo_v1_t>(
        [&](unsigned* count, nvmlProcessInfo_v1_t* entries) { return v1(device, count, entries); });
    Answer<std::vector<nvmlProcessInfo_t>> answer;
    answer.code = old.code;
    for (const auto& entry : old.value) {
        nvmlProcessInfo_t info{};
        info.pid = entry.pid;
        info.usedGpuMemory = entry.usedGpuMemory;
        info.gpuInstanceId = NVML_NO_INSTANCE;
        info.computeInstanceId = NVML_NO_INSTANCE;
        answer.value.push_back(info);
    }
    return answer;
}

/// The part that all layouts of the PCI record share.
nvmlPciInfo_t from_older(const nvmlPciInfo_v2_t& old) {
    nvmlPciInfo_t pci{};
    pci.domain = old.domain;
    pci.bus = old.bus;
    pci.device = old.device;
    pci.pciDeviceId = old.pciDeviceId;
    return pci;
}

}  // namespace

std::vector<std::string> library_candidates(const os::Root& root, const std::string& driver_root) {
    if (names_library(driver_root)) return {root.resolve(driver_root).native(), driver_root};
    std::vector<std::string> candidates;
    for (const auto* folder :
         {"lib", "usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib64",
          "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
        const auto path = std::filesystem::path(driver_root) / folder / kFile;
        candidates.push_back(root.resolve(path.native()).native());
    }
    if (driver_root.empty() || std::filesystem::path(driver_root) == "/") {
        candidates.emplace_back(kFile);
    }
    return candidates;
}

bool is_not_reported(nvmlReturn_t code) {
    switch (code) {
        case NVML_ERROR_INVALID_ARGUMENT:
        case NVML_ERROR_NOT_SUPPORTED:
        case NVML_ERROR_NO_PERMISSION:
        case NVML_ERROR_NOT_FOUND:
        case NVML_ERROR_FUNCTION_NOT_FOUND:
        case NVML_ERROR_NO_DATA:
        case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        case NVML_ERROR_DEPRECATED:
        case NVML_ERROR_NOT_READY:
            return true;
        default:
            return false;
    }
}

Library::Library(const os::DynamicLibrary& file, std::shared_ptr<CallPosition> position)
    : watch_{.position = std::move(position)},
      nvml_{file, watch_},
      error_string_(reinterpret_cast<decltype(&nvmlErrorString)>(file.symbol("nvmlErrorString"))) {}

Result<std::unique_ptr<os::DynamicLibrary>> Library::find(
    const std::vector<std::string>& candidates) {
    auto file = os::DynamicLibrary::open(candidates);
    if (!file) {
        Error error = std::move(file).error();
        error.message += "; is the NVIDIA driver installed, and is its directory the driver root?";
        return std::move(error).during("NVIDIA management library");
    }
    return std::make_unique<os::DynamicLibrary>(*std::move(file));
}

Result<std::unique_ptr<Library>> Library::over(const os::DynamicLibrary& file,
                                               std::shared_ptr<CallPosition> position) {
    std::unique_ptr<Library> library(new Library(file, std::move(position)));
    const Functions& nvml = library->nvml_;
    const bool complete = (nvml.nvmlInit_v2 || nvml.nvmlInitWithFlags || nvml.nvmlInit) &&
                          (nvml.nvmlDeviceGetCount_v2 || nvml.nvmlDeviceGetCount) &&
                          (nvml.nvmlDeviceGetHandleByIndex_v2 || nvml.nvmlDeviceGetHandleByIndex) &&
                          nvml.nvmlDeviceGetUUID;
    if (!complete) {
        return Error{ErrorCode::kUnsupported,
                     file.path() +
                         ": not a libnvidia-ml.so.1: it lacks nvmlInit, "
                         "nvmlDeviceGetCount, nvmlDeviceGetHandleByIndex or "
                         "nvmlDeviceGetUUID"};
    }
    return library;
}

bool Library::take_driver_gone() { return std::exchange(watch_.driver_gone, false); }

nvmlReturn_t Library::init() const {
    if (nvml_.nvmlInit_v2) return nvml_.nvmlInit_v2();
    if (nvml_.nvmlInitWithFlags) return nvml_.nvmlInitWithFlags(0);
    return nvml_.nvmlInit();
}

std::string Library::text(nvmlReturn_t code) const {
    const std::string number = "NVML error " + std::to_string(code);
    const char* const words = error_string_ != nullptr ? error_string_(code) : nullptr;
    return words != nullptr ? std::string(words) + " (" + number + ")" : number;
}

Answer<unsigned> Library::count() const {
    Answer<unsigned> answer;
    answer.code = call_newest(nvml_.nvmlDeviceGetCount_v2, nvml_.nvmlDeviceGetCount, &answer.value);
    return answer;
}

Answer<nvmlDevice_t> Library::handle(unsigned index) const {
    Answer<nvmlDevice_t> answer;
    answer.code = call_newest(nvml_.nvmlDeviceGetHandleByIndex_v2, nvml_.nvmlDeviceGetHandleByIndex,
                              index, &answer.value);
    return answer;
}

Answer<std::string> Library::uuid(nvmlDevice_t device) const {
    return read_text<NVML_DEVICE_UUID_V2_BUFFER_SIZE>(
        [&](char* text, unsigned size) { return nvml_.nvmlDeviceGetUUID(device, text, size); });
}

Answer<std::string> Library::name(nvmlDevice_t device) const {
    return read_text<NVML_DEVICE_NAME_V2_BUFFER_SIZE>(
        [&](char* text, unsigned size) { return nvml_.nvmlDeviceGetName(device, text, size); });
}

Answer<std::string> Library::driver_version() const {
    return read_text<NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE>(
        [&](char* text, unsigned size) { return nvml_.nvmlSystemGetDriverVersion(text, size); });
}

Answer<int> Library::cuda_version() const {
    Answer<int> answer;
    answer.code = call_newest(nvml_.nvmlSystemGetCudaDriverVersion_v2,
                              nvml_.nvmlSystemGetCudaDriverVersion, &answer.value);
    return answer;
}

Answer<nvmlPciInfo_t> Library::pci(nvmlDevice_t device) const {
    Answer<nvmlPciInfo_t> answer;
    if (nvml_.nvmlDeviceGetPciInfo_v3) {
        answer.code = nvml_.nvmlDeviceGetPciInfo_v3(device, &answer.value);
        return answer;
    }
    nvmlPciInfo_v2_t old{};
    answer.code =
        call_newest(nvml_.nvmlDeviceGetPciInfo_v2, nvml_.nvmlDeviceGetPciInfo, device, &old);
    answer.value = from_older(old);
    return answer;
}

Answer<nvmlPciInfo_t> Library::link_remote(nvmlDevice_t device, unsigned link) const {
    Answer<nvmlPciInfo_t> answer;
    if (nvml_.nvmlDeviceGetNvLinkRemotePciInfo_v2) {
        answer.code = nvml_.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &answer.value);
        return answer;
    }
    nvmlPciInfo_v2_t old{};
    answer.code = nvml_.nvmlDeviceGetNvLinkRemotePciInfo(device, link, &old);
    answer.value = from_older(old);
    return answer;
}

Answer<nvmlMemory_t> Library::memory(nvmlDevice_t device) const {
    Answer<nvmlMemory_t> answer;
    if (nvml_.nvmlDeviceGetMemoryInfo) {
        answer.code = nvml_.nvmlDeviceGetMemoryInfo(device, &answer.value);
        return answer;
    }
    nvmlMemory_v2_t memory{};
    memory.version = nvmlMemory_v2;
    answer.code = nvml_.nvmlDeviceGetMemoryInfo_v2(device, &memory);
    answer.value = {memory.total, memory.free, memory.used + memory.reserved};
    return answer;
}

Answer<unsigned> Library::temperature(nvmlDevice_t device) const {
    Answer<unsigned> answer;
    if (nvml_.nvmlDeviceGetTemperature) {
        answer.code = nvml_.nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &answer.value);
        return answer;
    }
    nvmlTemperature_t reading{};
    reading.version = nvmlTemperature_v1;
    reading.sensorType = NVML_TEMPERATURE_GPU;
    answer.code = nvml_.nvmlDeviceGetTemperatureV(device, &reading);
    answer.value = static_cast<unsigned>(std::max(0, reading.temperature));
    return answer;
}

Answer<std::vector<nvmlProcessInfo_t>> Library::processes(nvmlDevice_t device,
                                                          ProcessKind kind) const {
    switch (kind) {
        case ProcessKind::kCompute:
            return read_processes(device, nvml_.nvmlDeviceGetComputeRunningProcesses_v3,
                                  nvml_.nvmlDeviceGetComputeRunningProcesses_v2,
                                  nvml_.nvmlDeviceGetComputeRunningProcesses);
        case ProcessKind::kGraphics:
            return read_processes(device, nvml_.nvmlDeviceGetGraphicsRunningProcesses_v3,
                                  nvml_.nvmlDeviceGetGraphicsRunningProcesses_v2,
                                  nvml_.nvmlDeviceGetGraphicsRunningProcesses);
        case ProcessKind::kMps:
            return read_processes(device, nvml_.nvmlDeviceGetMPSComputeRunningProcesses_v3,
                                  nvml_.nvmlDeviceGetMPSComputeRunningProcesses_v2,
                                  nvml_.nvmlDeviceGetMPSComputeRunningProcesses);
    }
    return {};
}

Answer<nvmlDeviceAttributes_t> Library::attributes(nvmlDevice_t mig_device) const {
    Answer<nvmlDeviceAttributes_t> answer;
    answer.code = call_newest(nvml_.nvmlDeviceGetAttributes_v2, nvml_.nvmlDeviceGetAttributes,
                              mig_device, &answer.value);
    return answer;
}

Answer<std::vector<nvmlGpuInstancePlacement_t>> Library::placements(nvmlDevice_t device,
                                                                    unsigned profile_id) const {
    Answer<std::vector<nvmlGpuInstancePlacement_t>> answer;
    unsigned count = 0;
    answer.code = call_newest(nvml_.nvmlDeviceGetGpuInstancePossiblePlacements_v2,
                              nvml_.nvmlDeviceGetGpuInstancePossiblePlacements, device, profile_id,
                              static_cast<nvmlGpuInstancePlacement_t*>(nullptr), &count);
    if (!answer.ok() && answer.code != NVML_ERROR_INSUFFICIENT_SIZE) return answer;
    answer.value.resize(std::min(count, kPlacementLimit));
    if (answer.value.empty()) return answer;
    count = static_cast<unsigned>(answer.value.size());
    answer.code = call_newest(nvml_.nvmlDeviceGetGpuInstancePossiblePlacements_v2,
                              nvml_.nvmlDeviceGetGpuInstancePossiblePlacements, device, profile_id,
                              answer.value.data(), &count);
    answer.value.resize(answer.ok() ? std::min<std::size_t>(count, answer.value.size()) : 0);
    return answer;
}

Answer<nvmlEventData_t> Library::wait_event(nvmlEventSet_t set, unsigned ms) const {
    Answer<nvmlEventData_t> answer;
    // The first NVML writes only the part before the instances.
    answer.value.gpuInstanceId = NVML_NO_INSTANCE;
    answer.value.computeInstanceId = NVML_NO_INSTANCE;
    answer.code =
        call_newest(nvml_.nvmlEventSetWait_v2, nvml_.nvmlEventSetWait, set, &answer.value, ms);
    return answer;
}

Answer<std::uint64_t> Library::field(nvmlDevice_t device, unsigned id) const {
    nvmlFieldValue_t field{};
    field.fieldId = id;
    Answer<std::uint64_t> answer;
    answer.code = nvml_.nvmlDeviceGetFieldValues(device, 1, &field);
    if (!answer.ok()) return answer;
    answer.code = field.nvmlReturn;
    switch (field.valueType) {
        case NVML_VALUE_TYPE_UNSIGNED_INT:
            answer.value = field.value.uiVal;
            break;
        case NVML_VALUE_TYPE_UNSIGNED_LONG:
            answer.value = field.value.ulVal;
            break;
        case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
            answer.value = field.value.ullVal;
            break;
        case NVML_VALUE_TYPE_UNSIGNED_SHORT:
            answer.value = field.value.usVal;
            break;
        default:
            answer.code = NVML_ERROR_NOT_SUPPORTED;
    }
    return answer;
}

}  // namespace aliquot::nvml
