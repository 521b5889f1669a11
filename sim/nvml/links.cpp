// SPDX-License-Identifier: Apache-2.0
//
// PCIe, NVLink and what connects two GPUs.
#include <string>

#include "sim/node/topology.h"
#include "sim/nvml/library.h"

using namespace aliquot::sim;

namespace {

/// Answers a call about one NVLink link: INVALID_ARGUMENT for a link number that no GPU has,
/// NOT_SUPPORTED for one that this GPU has not.
template <class Answer>
nvmlReturn_t with_link(nvmlDevice_t device, unsigned link, Answer&& answer) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        if (link >= NVML_NVLINK_MAX_LINKS) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.model->links == 0) return NVML_ERROR_NOT_SUPPORTED;
        if (link >= gpu.model->links) return NVML_ERROR_INVALID_ARGUMENT;
        return answer(
            gpu, link_of(*gpu.model, gpu.state.index_in_group, gpu.state.group_size, link), state);
    });
}

/// The GPU of `group` that is number `index` in it; nullptr: the file was damaged.
const GpuState* member(const State& state, std::uint32_t group, unsigned index) {
    for (unsigned i = 0; i < std::min(state.gpu_count, kMaxGpus); ++i) {
        const GpuState& gpu = state.gpus[i];
        if (gpu.group == group && gpu.index_in_group == index) return &gpu;
    }
    return nullptr;
}

nvmlReturn_t describe_remote(const Gpu& gpu, const Link& link, const State& state,
                             nvmlPciInfo_t& pci) {
    if (link.kind == Link::Kind::kInactive) return NVML_ERROR_NOT_SUPPORTED;
    pci = {};
    if (link.kind == Link::Kind::kSwitch) {
        pci.bus = switch_bus(link.remote);
        pci.domain = gpu.state.pci_domain;
        pci.pciDeviceId = std::uint32_t{switch_device(*gpu.model)} << 16 | kPciVendor;
    } else {
        const GpuState* const remote = member(state, gpu.state.group, link.remote);
        if (remote == nullptr) return NVML_ERROR_UNKNOWN;
        pci.bus = remote->pci_bus;
        pci.domain = remote->pci_domain;
        pci.pciDeviceId = std::uint32_t{gpu.model->pci_device} << 16 | kPciVendor;
        pci.pciSubSystemId = std::uint32_t{gpu.model->pci_subsystem} << 16 | kPciVendor;
    }
    const auto upper = [](std::string text) {
        for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
        return text;
    };
    copy_text(upper(bus_id(pci.domain, pci.bus, 4)), pci.busIdLegacy, sizeof pci.busIdLegacy);
    copy_text(upper(bus_id(pci.domain, pci.bus, 8)), pci.busId, sizeof pci.busId);
    return NVML_SUCCESS;
}

bool linked(const State& state, const Gpu& a, const Gpu& b) {
    return links_between(state, a.slot, b.slot) > 0;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t* state) {
    return with_link(device, link, [&](const Gpu&, const Link& end, const State&) -> nvmlReturn_t {
        if (state == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *state = end.kind == Link::Kind::kInactive ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link,
                                        unsigned int* version) {
    return with_link(device, link, [&](const Gpu& gpu, const Link&, const State&) -> nvmlReturn_t {
        if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *version = gpu.model->link_version;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                           nvmlNvLinkCapability_t capability, unsigned int* value) {
    return with_link(device, link, [&](const Gpu&, const Link& end, const State&) -> nvmlReturn_t {
        if (value == nullptr || capability > NVML_NVLINK_CAP_VALID) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (end.kind == Link::Kind::kInactive) return NVML_ERROR_NOT_SUPPORTED;
        *value = capability == NVML_NVLINK_CAP_SLI_BRIDGE ? 0 : 1;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t* pci) {
    return with_link(device, link,
                     [&](const Gpu& gpu, const Link& end, const State& state) -> nvmlReturn_t {
                         return pci == nullptr ? NVML_ERROR_INVALID_ARGUMENT
                                               : describe_remote(gpu, end, state, *pci);
                     });
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link,
                                              nvmlPciInfo_v2_t* pci) {
    nvmlPciInfo_t newer;
    const auto result = nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &newer);
    if (result != NVML_SUCCESS) return result;
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    copy_text(newer.busIdLegacy, pci->busId, sizeof pci->busId);
    pci->domain = newer.domain;
    pci->bus = newer.bus;
    pci->device = newer.device;
    pci->pciDeviceId = newer.pciDeviceId;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t* type) {
    return with_link(device, link, [&](const Gpu&, const Link& end, const State&) -> nvmlReturn_t {
        if (type == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (end.kind == Link::Kind::kInactive) return NVML_ERROR_NOT_SUPPORTED;
        *type = end.kind == Link::Kind::kSwitch ? NVML_NVLINK_DEVICE_TYPE_SWITCH
                                                : NVML_NVLINK_DEVICE_TYPE_GPU;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
                                             nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long* value) {
    return with_link(device, link, [&](const Gpu&, const Link& end, const State&) -> nvmlReturn_t {
        if (value == nullptr || counter > NVML_NVLINK_ERROR_DL_ECC_DATA) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (end.kind == Link::Kind::kInactive) return NVML_ERROR_NOT_SUPPORTED;
        *value = 0;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned int link);
nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned int link) {
    return with_link(device, link,
                     [](const Gpu&, const Link&, const State&) { return NVML_SUCCESS; });
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                 nvmlGpuTopologyLevel_t* level) {
    return with_pair(first, second,
                     [&](const Gpu& a, const Gpu& b, const State& state) -> nvmlReturn_t {
                         if (level == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
                         *level = distance_between(state, a.slot, b.slot);
                         return NVML_SUCCESS;
                     });
}
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                              unsigned int* count, nvmlDevice_t* devices) {
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        const auto session = Session::current();
        if (!session) return NVML_ERROR_UNINITIALIZED;
        if (count == nullptr || level > NVML_TOPOLOGY_SYSTEM) return NVML_ERROR_INVALID_ARGUMENT;
        unsigned found = 0;
        for (unsigned other = 0; other < session->gpu_count(); ++other) {
            const unsigned slot = session->slot_of(other);
            if (slot == gpu.slot || distance_between(state, gpu.slot, slot) > level) continue;
            if (devices != nullptr && found < *count) devices[found] = Session::handle_of(other);
            ++found;
        }
        *count = devices == nullptr ? found : std::min(found, *count);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t first, nvmlDevice_t second, int* same) {
    return with_pair(first, second, [&](const Gpu& a, const Gpu& b, const State&) -> nvmlReturn_t {
        if (same == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        *same = a.slot == b.slot ? 1 : 0;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second,
                                    nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t* status) {
    return with_pair(first, second,
                     [&](const Gpu& a, const Gpu& b, const State& state) -> nvmlReturn_t {
                         if (status == nullptr || index > NVML_P2P_CAPS_INDEX_PCI)
                             return NVML_ERROR_INVALID_ARGUMENT;
                         const bool over_links = linked(state, a, b);
                         const bool over_pcie = !a.model->geforce() && !b.model->geforce() &&
                                                a.model->architecture == b.model->architecture;
                         bool works = false;
                         switch (index) {
                             case NVML_P2P_CAPS_INDEX_READ:
                             case NVML_P2P_CAPS_INDEX_WRITE:
                                 works = over_links || over_pcie;
                                 break;
                             case NVML_P2P_CAPS_INDEX_PCI:
                                 works = over_pcie;
                                 break;
                             default:
                                 works = over_links;
                         }
                         *status = works ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
                         return NVML_SUCCESS;
                     });
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                         unsigned int* kilobytesPerSecond) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (kilobytesPerSecond == nullptr || counter > NVML_PCIE_UTIL_RX_BYTES) {
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        *kilobytesPerSecond = static_cast<unsigned>(counter == NVML_PCIE_UTIL_TX_BYTES
                                                        ? gpu.figures.pcie_tx_kib_per_second
                                                        : gpu.figures.pcie_rx_kib_per_second);
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int* count) {
    return tell(device, count, [](const Gpu&) { return 0; });
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
    return tell(device, generation, [](const Gpu& gpu) {
        return gpu.figures.performance_state == 0 ? gpu.model->pcie_generation : 1;
    });
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int* lanes) {
    return tell(device, lanes, [](const Gpu& gpu) {
        const auto width = gpu.state.fault.link_width;
        return width != 0 ? width : gpu.model->pcie_width;
    });
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
    return tell(device, generation, [](const Gpu& gpu) { return gpu.model->pcie_generation; });
}
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation);
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation) {
    return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int* lanes) {
    return tell(device, lanes, [](const Gpu& gpu) { return gpu.model->pcie_width; });
}
/// Megatransfers a second of the link.
nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned int* speed);
nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned int* speed) {
    return tell(device, speed, [](const Gpu& gpu) { return 1000U << gpu.model->pcie_generation; });
}
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned int* speed);
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned int* speed) {
    return tell(device, speed, [](const Gpu& gpu) { return gpu.model->pcie_generation; });
}
nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t device, unsigned int* type);
nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t device, unsigned int* type) {
    return tell(device, type, [](const Gpu&) { return 2; });  // PCIe
}
nvmlReturn_t nvmlDeviceGetIrqNum(nvmlDevice_t device, unsigned int* number);
nvmlReturn_t nvmlDeviceGetIrqNum(nvmlDevice_t device, unsigned int* number) {
    return tell(device, number, [](const Gpu& gpu) { return 64 + gpu.state.minor; });
}

// The fabric that a fabric manager configures: Hopper and newer behind NVSwitches. One machine is
// no cluster, so the cluster's uuid is all zeros.
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info) {
    return with_gpu(device, [&](const Gpu& gpu) -> nvmlReturn_t {
        if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        const Link first = link_of(*gpu.model, gpu.state.index_in_group, gpu.state.group_size, 0);
        if (gpu.model->architecture < NVML_DEVICE_ARCH_HOPPER) return NVML_ERROR_NOT_SUPPORTED;
        *info = {};
        info->state = first.kind == Link::Kind::kSwitch ? NVML_GPU_FABRIC_STATE_COMPLETED
                                                        : NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
        return NVML_SUCCESS;
    });
}
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlGpuFabricInfo_v2 && info->version != nvmlGpuFabricInfo_v3) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    nvmlGpuFabricInfo_t older;
    const auto result = nvmlDeviceGetGpuFabricInfo(device, &older);
    if (result != NVML_SUCCESS) return result;
    for (unsigned i = 0; i < sizeof info->clusterUuid; ++i) info->clusterUuid[i] = 0;
    info->status = older.status;
    info->cliqueId = older.cliqueId;
    info->state = older.state;
    info->healthMask = 0;
    if (info->version == nvmlGpuFabricInfo_v3) info->healthSummary = 1;  // healthy
    return NVML_SUCCESS;
}

}  // extern "C"
