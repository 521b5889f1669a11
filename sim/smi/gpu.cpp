// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/gpu.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/smi/arguments.h"

namespace aliquot::sim::smi {
namespace {

constexpr unsigned kProcessRoom = 1024;

/// "0:3b:00.0", "0000:3B:00.0", "3b:00" -> "3B:00": what tells two GPUs of one node apart.
std::string short_bus_id(const std::string& text) {
    std::string id = upper(text);
    if (const auto dot = id.rfind('.'); dot != std::string::npos) id.erase(dot);
    const auto last = id.rfind(':');
    if (last == std::string::npos || last == 0) return {};
    const auto before = id.rfind(':', last - 1);
    std::string domain = before == std::string::npos ? "0" : id.substr(0, before);
    domain.erase(0, std::min(domain.find_first_not_of('0'), domain.size()));
    return domain + "/" + (before == std::string::npos ? id : id.substr(before + 1));
}

}  // namespace

Gpu::Gpu(const DriverLibrary& library, unsigned index)
    : library_(library),
      index_(index),
      problem_(SMI_CALL(library_, nvmlDeviceGetHandleByIndex_v2, index, &handle_)) {
    if (problem_ != NVML_SUCCESS) handle_ = nullptr;
}

template <class T, class Function, class... Before>
Reading<T> Gpu::get(const char* name, Before... before) const {
    Reading<T> reading;
    reading.code = problem_;
    if (handle_ != nullptr) {
        reading.code = library_.call<Function>(name, handle_, before..., &reading.value);
    }
    return reading;
}

template <class Function>
Reading<std::string> Gpu::get_text(const char* name, unsigned size) const {
    Reading<std::string> reading;
    std::vector<char> text(size + 1, '\0');
    reading.code = problem_;
    if (handle_ != nullptr)
        reading.code = library_.call<Function>(name, handle_, text.data(), size);
    if (reading.ok()) reading.value = text.data();
    return reading;
}

template <class Function>
Reading<Modes> Gpu::get_pair(const char* name) const {
    Reading<Modes> reading;
    reading.code = problem_;
    if (handle_ != nullptr) {
        reading.code =
            library_.call<Function>(name, handle_, &reading.value.current, &reading.value.pending);
    }
    return reading;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define SMI_TEXT(function, size) get_text<decltype(&function)>(#function, size)
#define SMI_GET(type, function, ...) \
    get<type, decltype(&function)>(#function __VA_OPT__(, ) __VA_ARGS__)
#define SMI_PAIR(function) get_pair<decltype(&function)>(#function)
// NOLINTEND(bugprone-macro-parentheses)

Reading<std::string> Gpu::name() const {
    return SMI_TEXT(nvmlDeviceGetName, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
}
Reading<std::string> Gpu::uuid() const {
    return SMI_TEXT(nvmlDeviceGetUUID, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
}
Reading<std::string> Gpu::serial() const {
    return SMI_TEXT(nvmlDeviceGetSerial, NVML_DEVICE_SERIAL_BUFFER_SIZE);
}
Reading<std::string> Gpu::vbios() const {
    return SMI_TEXT(nvmlDeviceGetVbiosVersion, NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE);
}
Reading<std::string> Gpu::part_number() const {
    return SMI_TEXT(nvmlDeviceGetBoardPartNumber, NVML_DEVICE_PART_NUMBER_BUFFER_SIZE);
}
Reading<nvmlPciInfo_t> Gpu::pci() const { return SMI_GET(nvmlPciInfo_t, nvmlDeviceGetPciInfo_v3); }

Reading<std::string> Gpu::bus_id() const {
    const auto info = pci();
    const char* const text = info.value.busId;
    return {info.code,
            upper(std::string(text, std::find(text, text + sizeof info.value.busId, '\0')))};
}

Reading<nvmlMemory_v2_t> Gpu::memory() const {
    Reading<nvmlMemory_v2_t> reading;
    reading.value.version = nvmlMemory_v2;
    reading.code = problem_;
    if (handle_ == nullptr) return reading;
    reading.code = SMI_CALL(library_, nvmlDeviceGetMemoryInfo_v2, handle_, &reading.value);
    if (reading.code != NVML_ERROR_FUNCTION_NOT_FOUND) return reading;
    const auto old = SMI_GET(nvmlMemory_t, nvmlDeviceGetMemoryInfo);
    reading.code = old.code;
    reading.value.total = old.value.total;
    reading.value.free = old.value.free;
    reading.value.used = old.value.used;
    return reading;
}

Reading<nvmlBAR1Memory_t> Gpu::bar1() const {
    return SMI_GET(nvmlBAR1Memory_t, nvmlDeviceGetBAR1MemoryInfo);
}
Reading<nvmlUtilization_t> Gpu::utilization() const {
    return SMI_GET(nvmlUtilization_t, nvmlDeviceGetUtilizationRates);
}
Reading<Modes> Gpu::ecc_mode() const { return SMI_PAIR(nvmlDeviceGetEccMode); }
Reading<Modes> Gpu::mig_mode() const { return SMI_PAIR(nvmlDeviceGetMigMode); }
Reading<Modes> Gpu::power_limits() const {
    return SMI_PAIR(nvmlDeviceGetPowerManagementLimitConstraints);
}

Reading<std::string> Gpu::compute_capability() const {
    Reading<std::string> reading;
    int major = 0;
    int minor_part = 0;
    reading.code = problem_;
    if (handle_ != nullptr) {
        reading.code =
            SMI_CALL(library_, nvmlDeviceGetCudaComputeCapability, handle_, &major, &minor_part);
    }
    if (reading.ok()) reading.value = std::to_string(major) + "." + std::to_string(minor_part);
    return reading;
}

Reading<std::uint64_t> Gpu::ecc_errors(nvmlMemoryErrorType_t type,
                                       nvmlEccCounterType_t counter) const {
    const auto count = SMI_GET(unsigned long long, nvmlDeviceGetTotalEccErrors, type, counter);
    return {count.code, count.value};
}

Reading<std::uint64_t> Gpu::clock_reasons() const {
    const auto reasons = SMI_GET(unsigned long long, nvmlDeviceGetCurrentClocksEventReasons);
    return {reasons.code, reasons.value};
}

Reading<unsigned> Gpu::minor() const { return SMI_GET(unsigned, nvmlDeviceGetMinorNumber); }
Reading<unsigned> Gpu::temperature() const {
    constexpr unsigned kSensor = NVML_TEMPERATURE_GPU;
    return SMI_GET(unsigned, nvmlDeviceGetTemperature, kSensor);
}
Reading<unsigned> Gpu::threshold(nvmlTemperatureThresholds_t type) const {
    return SMI_GET(unsigned, nvmlDeviceGetTemperatureThreshold, type);
}
Reading<unsigned> Gpu::fan() const { return SMI_GET(unsigned, nvmlDeviceGetFanSpeed); }
Reading<unsigned> Gpu::performance_state() const {
    return SMI_GET(unsigned, nvmlDeviceGetPerformanceState);
}
Reading<unsigned> Gpu::power() const { return SMI_GET(unsigned, nvmlDeviceGetPowerUsage); }
Reading<unsigned> Gpu::power_limit() const {
    return SMI_GET(unsigned, nvmlDeviceGetEnforcedPowerLimit);
}
Reading<unsigned> Gpu::power_default_limit() const {
    return SMI_GET(unsigned, nvmlDeviceGetPowerManagementDefaultLimit);
}
Reading<unsigned> Gpu::clock(nvmlClockType_t type) const {
    return SMI_GET(unsigned, nvmlDeviceGetClockInfo, type);
}
Reading<unsigned> Gpu::max_clock(nvmlClockType_t type) const {
    return SMI_GET(unsigned, nvmlDeviceGetMaxClockInfo, type);
}
Reading<unsigned> Gpu::application_clock(nvmlClockType_t type) const {
    return SMI_GET(unsigned, nvmlDeviceGetApplicationsClock, type);
}
Reading<unsigned> Gpu::compute_mode() const { return SMI_GET(unsigned, nvmlDeviceGetComputeMode); }
Reading<unsigned> Gpu::persistence() const {
    return SMI_GET(unsigned, nvmlDeviceGetPersistenceMode);
}
Reading<unsigned> Gpu::display_active() const {
    return SMI_GET(unsigned, nvmlDeviceGetDisplayActive);
}
Reading<unsigned> Gpu::display_mode() const { return SMI_GET(unsigned, nvmlDeviceGetDisplayMode); }
Reading<unsigned> Gpu::accounting() const { return SMI_GET(unsigned, nvmlDeviceGetAccountingMode); }
Reading<unsigned> Gpu::architecture() const { return SMI_GET(unsigned, nvmlDeviceGetArchitecture); }
Reading<unsigned> Gpu::pcie_generation() const {
    return SMI_GET(unsigned, nvmlDeviceGetCurrPcieLinkGeneration);
}
Reading<unsigned> Gpu::pcie_width() const {
    return SMI_GET(unsigned, nvmlDeviceGetCurrPcieLinkWidth);
}
Reading<unsigned> Gpu::max_pcie_generation() const {
    return SMI_GET(unsigned, nvmlDeviceGetMaxPcieLinkGeneration);
}
Reading<unsigned> Gpu::max_pcie_width() const {
    return SMI_GET(unsigned, nvmlDeviceGetMaxPcieLinkWidth);
}

// Percent, then the sampling period, which nobody prints.
Reading<unsigned> Gpu::encoder() const {
    const auto pair = SMI_PAIR(nvmlDeviceGetEncoderUtilization);
    return {pair.code, pair.value.current};
}
Reading<unsigned> Gpu::decoder() const {
    const auto pair = SMI_PAIR(nvmlDeviceGetDecoderUtilization);
    return {pair.code, pair.value.current};
}
Reading<unsigned> Gpu::jpeg() const {
    const auto pair = SMI_PAIR(nvmlDeviceGetJpgUtilization);
    return {pair.code, pair.value.current};
}
Reading<unsigned> Gpu::flow() const {
    const auto pair = SMI_PAIR(nvmlDeviceGetOfaUtilization);
    return {pair.code, pair.value.current};
}

bool Gpu::is_named(const std::string& wanted) const {
    if (wanted == std::to_string(index_)) return true;
    const auto own_uuid = uuid();
    if (own_uuid.ok() && own_uuid.value == wanted) return true;
    const auto own_bus = bus_id();
    return own_bus.ok() && wanted.contains(':') &&
           short_bus_id(own_bus.value) == short_bus_id(wanted);
}

Reading<std::vector<Process>> Gpu::processes() const {
    Reading<std::vector<Process>> reading;
    reading.code = problem_;
    if (handle_ == nullptr) return reading;
    // A process is shown once for each MIG device that it uses.
    std::map<std::tuple<unsigned, unsigned, std::uint32_t>, Process> found;
    const auto take = [&](nvmlReturn_t code, const std::vector<nvmlProcessInfo_t>& infos,
                          unsigned count, const char* type) {
        for (unsigned i = 0; code == NVML_SUCCESS && i < std::min(count, kProcessRoom); ++i) {
            Process& process =
                found[{infos[i].gpuInstanceId, infos[i].computeInstanceId, infos[i].pid}];
            process.pid = infos[i].pid;
            process.memory_bytes = infos[i].usedGpuMemory;
            process.type += (process.type.empty() ? "" : "+") + std::string(type);
            process.gpu_instance = infos[i].gpuInstanceId;
            process.compute_instance = infos[i].computeInstanceId;
        }
    };
    std::vector<nvmlProcessInfo_t> infos(kProcessRoom);
    unsigned count = kProcessRoom;
    reading.code =
        SMI_CALL(library_, nvmlDeviceGetComputeRunningProcesses_v3, handle_, &count, infos.data());
    take(reading.code, infos, count, "C");
    count = kProcessRoom;
    auto code =
        SMI_CALL(library_, nvmlDeviceGetGraphicsRunningProcesses_v3, handle_, &count, infos.data());
    take(code, infos, count, "G");
    count = kProcessRoom;
    code = SMI_CALL(library_, nvmlDeviceGetMPSComputeRunningProcesses_v3, handle_, &count,
                    infos.data());
    take(code, infos, count, "M+C");

    std::vector<nvmlProcessUtilizationSample_t> samples(kProcessRoom);
    count = kProcessRoom;
    code =
        SMI_CALL(library_, nvmlDeviceGetProcessUtilization, handle_, samples.data(), &count, 0ULL);
    for (unsigned i = 0; code == NVML_SUCCESS && i < std::min(count, kProcessRoom); ++i) {
        const auto process = found.find({NVML_NO_INSTANCE, NVML_NO_INSTANCE, samples[i].pid});
        if (process == found.end()) continue;
        process->second.has_load = true;
        process->second.sm_percent = samples[i].smUtil;
        process->second.memory_percent = samples[i].memUtil;
    }
    for (const auto& [key, process] : found) reading.value.push_back(process);
    return reading;
}

std::vector<Device> Gpu::mig_devices() const {
    std::vector<Device> devices;
    const auto mode = mig_mode();
    unsigned most = 0;
    if (!mode.ok() || mode.value.current == NVML_DEVICE_MIG_DISABLE) return devices;
    SMI_CALL(library_, nvmlDeviceGetMaxMigDeviceCount, handle_, &most);
    for (unsigned index = 0; index < most; ++index) {
        nvmlDevice_t handle = nullptr;
        if (SMI_CALL(library_, nvmlDeviceGetMigDeviceHandleByIndex, handle_, index, &handle) !=
            NVML_SUCCESS) {
            continue;
        }
        Device device{.index = index};
        std::vector<char> text(NVML_DEVICE_NAME_V2_BUFFER_SIZE + 1, '\0');
        const auto room = static_cast<unsigned>(text.size() - 1);
        SMI_CALL(library_, nvmlDeviceGetName, handle, text.data(), room);
        const std::string name = text.data();
        const auto mark = name.rfind("MIG ");
        device.profile = mark == std::string::npos ? name : name.substr(mark + 4);
        text.assign(text.size(), '\0');
        SMI_CALL(library_, nvmlDeviceGetUUID, handle, text.data(), room);
        device.uuid = text.data();
        SMI_CALL(library_, nvmlDeviceGetGpuInstanceId, handle, &device.gpu_instance);
        SMI_CALL(library_, nvmlDeviceGetComputeInstanceId, handle, &device.compute_instance);
        SMI_CALL(library_, nvmlDeviceGetMemoryInfo, handle, &device.memory);
        nvmlMemory_v2_t parts{.version = nvmlMemory_v2};
        if (SMI_CALL(library_, nvmlDeviceGetMemoryInfo_v2, handle, &parts) == NVML_SUCCESS)
            device.reserved_bytes = parts.reserved;
        SMI_CALL(library_, nvmlDeviceGetBAR1MemoryInfo, handle, &device.bar1);
        SMI_CALL(library_, nvmlDeviceGetAttributes_v2, handle, &device.attributes);
        devices.push_back(std::move(device));
    }
    return devices;
}

std::string process_name(const DriverLibrary& library, std::uint32_t pid) {
    std::vector<char> text(1024, '\0');
    const auto code = SMI_CALL(library, nvmlSystemGetProcessName, pid, text.data(),
                               static_cast<unsigned>(text.size() - 1));
    return code == NVML_SUCCESS ? text.data() : "[Not Found]";
}

}  // namespace aliquot::sim::smi
