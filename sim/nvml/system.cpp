// SPDX-License-Identifier: Apache-2.0
//
// Initialisation, error texts, versions.
#include <array>
#include <fstream>
#include <string>

#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kKnownInitFlags =
    NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH | NVML_INIT_FLAG_FORCE_INIT;

constexpr std::array<const char*, 31> kErrorTexts = {
    "Success",
    "Uninitialized",
    "Invalid Argument",
    "Not Supported",
    "Insufficient Permissions",
    "Already Initialized",
    "Not Found",
    "Insufficient Size",
    "Insufficient External Power",
    "Driver Not Loaded",
    "Timeout",
    "Interrupt Request Issue",
    "NVML Shared Library Not Found",
    "Function Not Found",
    "Corrupted infoROM",
    "GPU is lost",
    "GPU requires reset",
    "Operating System Call Failed",
    "Driver/library version mismatch",
    "In use by another client",
    "Insufficient Memory",
    "No data",
    "ECC is not supported with vGPU",
    "Insufficient Resources",
    "Requested frequency not supported",
    "Argument version mismatch",
    "Deprecated",
    "Not ready",
    "GPU not found",
    "Invalid state",
    "Reset type not supported",
};

/// Answers a call about the node, not about a GPU.
template <class Answer>
nvmlReturn_t with_state(Answer&& answer) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    const auto state = session->lock();
    if (!state) return NVML_ERROR_UNKNOWN;
    return answer(**state);
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit(void) { return initialise(); }
nvmlReturn_t nvmlInit_v2(void) { return initialise(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    return (flags & ~kKnownInitFlags) != 0 ? NVML_ERROR_INVALID_ARGUMENT : initialise();
}
nvmlReturn_t nvmlShutdown(void) { return shut_down(); }

const char* nvmlErrorString(nvmlReturn_t result) {
    const auto index = static_cast<std::size_t>(result);
    return result >= 0 && index < kErrorTexts.size() ? kErrorTexts[index] : "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
    return with_state([&](const State& state) -> nvmlReturn_t {
        return copy_text(state.driver_version.view(), version, length);
    });
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
    return with_state([&](const State& state) -> nvmlReturn_t {
        const std::string text = std::to_string(state.cuda_version / 1000) + "." +
                                 std::string(state.driver_version.view());
        return copy_text(text, version, length);
    });
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
    return with_state([&](const State& state) -> nvmlReturn_t {
        if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *version = state.cuda_version;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return nvmlSystemGetCudaDriverVersion(version);
}

/// "R580" and the like.
nvmlReturn_t nvmlSystemGetDriverBranch(void* info, unsigned int length);
struct DriverBranchInfo {
    unsigned version;
    char branch[80];
};
nvmlReturn_t nvmlSystemGetDriverBranch(void* info, unsigned int length) {
    return with_state([&](const State& state) -> nvmlReturn_t {
        auto* const asked = static_cast<DriverBranchInfo*>(info);
        if (asked == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (asked->version != NVML_STRUCT_VERSION(sizeof(DriverBranchInfo), 1)) {
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        const auto version = state.driver_version.view();
        const std::string text = "r" + std::string(version.substr(0, version.find('.'))) + "_00";
        return copy_text(text, asked->branch, std::min<unsigned>(length, sizeof asked->branch));
    });
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
    std::string text;
    if (!file || !std::getline(file, text, '\0') || text.empty()) return NVML_ERROR_NOT_FOUND;
    // Cuts a long name short, as the driver does.
    return copy_text(std::string_view(text).substr(0, length - 1), name, length);
}

// NVIDIA's nvidia-smi reaches undocumented calls through tables named by a GUID. We have none; the
// node has an nvidia-smi of its own.
nvmlReturn_t nvmlInternalGetExportTable(const void** table, const void* id) {
    if (table == nullptr || id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *table = nullptr;
    return NVML_ERROR_NOT_FOUND;
}

// S-class chassis units and GPUs that an administrator excluded: this node has neither.
nvmlReturn_t nvmlUnitGetCount(unsigned int* count);
nvmlReturn_t nvmlUnitGetCount(unsigned int* count) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int* count);
nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int* count) { return nvmlUnitGetCount(count); }
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int* count);
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int* count) { return nvmlUnitGetCount(count); }

}  // extern "C"
