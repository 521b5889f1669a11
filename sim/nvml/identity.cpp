// SPDX-License-Identifier: Apache-2.0
//
// Who a GPU is and where it sits.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "sim/node/topology.h"
#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

constexpr unsigned kBitsPerWord = sizeof(unsigned long) * 8;

std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::uint32_t device_id(const Model& model) {
    return std::uint32_t{model.pci_device} << 16 | kPciVendor;
}
std::uint32_t subsystem_id(const Model& model) {
    return std::uint32_t{model.pci_subsystem} << 16 | kPciVendor;
}

/// "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb".
std::string name_of(const Gpu& gpu) {
    std::string name(gpu.model->product);
    if (!gpu.device) return name;
    return name + " MIG " + device_profile_name(*gpu.device->profile, gpu.device->compute.slices);
}

/// What nvmlDeviceGetMigDeviceHandleByIndex takes to give this handle.
unsigned index_of_device(const Gpu& gpu) {
    const auto session = Session::current();
    const auto state = session ? session->lock() : std::nullopt;
    if (!state || !session->restricted(gpu.index)) return gpu.device->compute.device_index;
    unsigned index = 0;
    for (const Instance& other : mig_devices(**state, gpu.slot)) {
        if (other == gpu.device->instance) break;
        const auto& compute = *find_compute_instance(**state, gpu.slot, other);
        if (session->sees(gpu.index, compute.uuid.view())) ++index;
    }
    return index;
}

nvmlReturn_t tell_text(nvmlDevice_t device, char* to, unsigned length,
                       std::string_view (*text_of)(const Gpu&)) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        const auto text = text_of(gpu);
        return text.empty() ? NVML_ERROR_NOT_SUPPORTED : copy_text(text, to, length);
    });
}

void set_bits(unsigned long* words, unsigned size, unsigned from, unsigned to) {
    for (unsigned i = 0; i < size; ++i) words[i] = 0;
    for (unsigned bit = from; bit < to && bit / kBitsPerWord < size; ++bit) {
        words[bit / kBitsPerWord] |= 1UL << (bit % kBitsPerWord);
    }
}

/// The machine's processors, shared out evenly among two NUMA nodes where the GPUs are.
nvmlReturn_t tell_processors(nvmlDevice_t device, unsigned size, unsigned long* words) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (words == nullptr || size == 0) return NVML_ERROR_INVALID_ARGUMENT;
        bool two_nodes = false;
        for (unsigned i = 0; i < std::min(state.gpu_count, kMaxGpus); ++i) {
            two_nodes = two_nodes || state.gpus[i].numa_node > 0;
        }
        const auto all = state.processors > 0
                             ? state.processors
                             : static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
        const unsigned middle = two_nodes && all > 1 ? all / 2 : all;
        if (gpu.state.numa_node > 0)
            set_bits(words, size, middle < all ? middle : 0, all);
        else
            set_bits(words, size, 0, middle);
        return NVML_SUCCESS;
    });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
    return with_device(device,
                       [&](const Gpu& gpu) { return copy_text(name_of(gpu), name, length); });
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
    return with_device(device, [&](const Gpu& gpu) {
        return copy_text(gpu.device ? gpu.device->compute.uuid.view() : gpu.state.uuid.view(), uuid,
                         length);
    });
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned int length) {
    return tell_text(device, serial, length,
                     [](const Gpu& gpu) { return gpu.state.serial.view(); });
}
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char* partNumber,
                                          unsigned int length) {
    return tell_text(device, partNumber, length,
                     [](const Gpu& gpu) { return gpu.model->part_number; });
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned int length) {
    return tell_text(device, version, length, [](const Gpu& gpu) { return gpu.model->vbios; });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (index == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *index = gpu.device ? index_of_device(gpu) : gpu.index;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minorNumber) {
    return tell(device, minorNumber, [](const Gpu& gpu) { return gpu.state.minor; });
}
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* type) {
    return tell(device, type, [](const Gpu& gpu) { return gpu.model->brand; });
}
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int* boardId) {
    return tell(device, boardId,
                [](const Gpu& gpu) { return gpu.state.pci_domain << 16 | gpu.state.pci_bus << 8; });
}
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int* multiGpu) {
    return tell(device, multiGpu, [](const Gpu&) { return 0; });
}
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device,
                                       nvmlDeviceArchitecture_t* architecture) {
    return tell(device, architecture, [](const Gpu& gpu) { return gpu.model->architecture; });
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
    return with_device(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *major = gpu.model->compute_major;
        *minor = gpu.model->compute_minor;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *pci = {};
        const auto domain = gpu.state.pci_domain;
        pci->domain = domain;
        pci->bus = gpu.state.pci_bus;
        pci->pciDeviceId = device_id(*gpu.model);
        pci->pciSubSystemId = subsystem_id(*gpu.model);
        copy_text(upper(bus_id(domain, pci->bus, 4)), pci->busIdLegacy, sizeof pci->busIdLegacy);
        copy_text(upper(bus_id(domain, pci->bus, 8)), pci->busId, sizeof pci->busId);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t* pci) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const auto result = nvmlDeviceGetPciInfo(device, pci);
    if (result == NVML_SUCCESS) {
        nvmlPciInfo_t newer;
        if (const auto again = nvmlDeviceGetPciInfo_v3(device, &newer); again != NVML_SUCCESS) {
            return again;
        }
        pci->pciSubSystemId = newer.pciSubSystemId;
        for (auto& word : pci->reserved) word = 0;
    }
    return result;
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t* pci) {
    nvmlPciInfo_t newer;
    const auto result = nvmlDeviceGetPciInfo_v3(device, &newer);
    if (result != NVML_SUCCESS) return result;
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    // The oldest layout ends with pciDeviceId; what lies behind is the caller's.
    copy_text(newer.busIdLegacy, pci->busId, sizeof pci->busId);
    pci->domain = newer.domain;
    pci->bus = newer.bus;
    pci->device = newer.device;
    pci->pciDeviceId = newer.pciDeviceId;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        *pci = {};
        pci->version = nvmlPciInfoExt_v1;
        pci->domain = gpu.state.pci_domain;
        pci->bus = gpu.state.pci_bus;
        pci->pciDeviceId = device_id(*gpu.model);
        pci->pciSubSystemId = subsystem_id(*gpu.model);
        pci->baseClass = 0x03;
        pci->subClass = gpu.model->display ? 0x00 : 0x02;
        copy_text(upper(bus_id(pci->domain, pci->bus, 8)), pci->busId, sizeof pci->busId);
        return NVML_SUCCESS;
    });
}

// Only where the GPU's memory is a NUMA node of the system, which needs a Grace CPU.
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int* node) {
    return with_gpu(device, [&](const Gpu&) -> nvmlReturn_t {
        return node == nullptr ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED;
    });
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int size,
                                         unsigned long* nodes, nvmlAffinityScope_t scope) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (nodes == nullptr || size == 0 || scope > NVML_AFFINITY_SCOPE_SOCKET) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        const auto node = static_cast<unsigned>(std::max(gpu.state.numa_node, 0));
        set_bits(nodes, size, node, node + 1);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int size, unsigned long* cpus) {
    return tell_processors(device, size, cpus);
}
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int size,
                                                 unsigned long* cpus, nvmlAffinityScope_t scope) {
    if (scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
    return tell_processors(device, size, cpus);
}
nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int* moduleId) {
    return tell(device, moduleId, [](const Gpu& gpu) { return gpu.state.index_in_group + 1; });
}
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int* cores) {
    return tell(device, cores, [](const Gpu& gpu) { return gpu.model->cores; });
}
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int* bits) {
    return tell(device, bits, [](const Gpu& gpu) { return gpu.model->bus_width_bits; });
}

nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t* mode) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (mode->version != nvmlDeviceAddressingMode_v1) {
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        if (gpu.model->architecture < NVML_DEVICE_ARCH_TURING) return NVML_ERROR_NOT_SUPPORTED;
        mode->value = NVML_DEVICE_ADDRESSING_MODE_HMM;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t* active) {
    return tell(device, active, [](const Gpu&) { return NVML_FEATURE_DISABLED; });
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
    return tell(device, mode, [](const Gpu& gpu) { return gpu.model->display ? 0 : 1; });
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
    return tell(device, mode, [](const Gpu& gpu) { return gpu.state.persistence; });
}
nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode) {
    return with_state_of(device, [&](const Gpu& gpu, State& state) -> nvmlReturn_t {
        if (mode > NVML_FEATURE_ENABLED) return NVML_ERROR_INVALID_ARGUMENT;
        state.gpus[gpu.slot].persistence = mode;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device,
                                             nvmlGpuVirtualizationMode_t* mode) {
    return tell(device, mode, [](const Gpu&) { return NVML_GPU_VIRTUALIZATION_MODE_NONE; });
}

}  // extern "C"
