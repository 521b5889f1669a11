// SPDX-License-Identifier: Apache-2.0
//
// How many GPUs there are, and handles for them.
#include <optional>
#include <string>
#include <string_view>

#include "base/number.h"
#include "sim/nvml/instances.h"

using namespace aliquot::sim;

namespace {

nvmlReturn_t give_handle(Session& session, unsigned index, nvmlDevice_t* device) {
    Gpu gpu;
    if (const auto result = session.look_at(index, gpu); result != NVML_SUCCESS) return result;
    *device = Session::handle_of(index);
    return NVML_SUCCESS;
}

/// The handle of the first visible GPU that `fits`, or why there is none.
template <class Fits>
nvmlReturn_t find_handle(nvmlDevice_t* device, Fits&& fits) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    std::optional<unsigned> found;
    {
        const auto state = session->lock();
        if (!state) return NVML_ERROR_UNKNOWN;
        for (unsigned i = 0; i < session->gpu_count() && !found; ++i) {
            if (fits((*state)->gpus[session->slot_of(i)])) found = i;
        }
    }
    return found ? give_handle(*session, *found, device) : NVML_ERROR_NOT_FOUND;
}

/// "MIG-GPU-<uuid>/<gpu instance>/<compute instance>", as drivers before 470 named MIG devices.
bool is_old_name(std::string_view name, const GpuState& gpu, const Instance& device) {
    return name == "MIG-" + std::string(gpu.uuid.view()) + "/" +
                       std::to_string(device.gpu_instance) + "/" +
                       std::to_string(device.compute_instance);
}

nvmlReturn_t find_mig_device(std::string_view name, nvmlDevice_t* device) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlDevice_t found = nullptr;
    unsigned index = 0;
    {
        const auto state = session->lock();
        if (!state) return NVML_ERROR_UNKNOWN;
        for (index = 0; index < session->gpu_count(); ++index) {
            const unsigned slot = session->slot_of(index);
            for (const Instance& mig : mig_devices(**state, slot)) {
                const auto uuid = find_compute_instance(**state, slot, mig)->uuid;
                if ((uuid.view() == name || is_old_name(name, (*state)->gpus[slot], mig)) &&
                    session->sees(index, uuid.view())) {
                    found = device_handle(**state, slot, mig);
                }
            }
            if (found != nullptr) break;
        }
    }
    if (found == nullptr) return NVML_ERROR_NOT_FOUND;
    Gpu gpu;
    if (const auto result = session->look_at(index, gpu); result != NVML_SUCCESS) return result;
    *device = found;
    return NVML_SUCCESS;
}

nvmlReturn_t find_by_uuid(std::string_view name, nvmlDevice_t* device) {
    if (name.starts_with("MIG-")) return find_mig_device(name, device);
    return find_handle(device, [&](const GpuState& gpu) { return gpu.uuid.view() == name; });
}

struct PciAddress {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
};

/// "0000:3B:00.0", "00000000:3B:00.0", "3B:00.0", "0000:3b:00".
std::optional<PciAddress> parse_bus_id(std::string_view text) {
    PciAddress address;
    unsigned numbers[3] = {};
    unsigned count = 0;
    while (count < 3) {
        const auto number = aliquot::take_number<unsigned>(text, 16);
        if (!number) return std::nullopt;
        numbers[count++] = *number;
        if (text.empty() || text.front() != ':') break;
        text.remove_prefix(1);
    }
    if (count == 2) address = {.domain = 0, .bus = numbers[0], .device = numbers[1]};
    if (count == 3) address = {.domain = numbers[0], .bus = numbers[1], .device = numbers[2]};
    if (count < 2 || (!text.empty() && text != ".0")) return std::nullopt;
    return address;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = session->gpu_count();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (unsigned i = 0; i < session->gpu_count(); ++i) {
        Gpu gpu;
        if (session->look_at(i, gpu) == NVML_SUCCESS) ++*count;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    if (device == nullptr || index >= session->gpu_count()) return NVML_ERROR_INVALID_ARGUMENT;
    return give_handle(*session, index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
    if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return find_by_uuid(uuid, device);
}

/// A uuid as text or as bytes, in a struct that says which.
struct UuidArgument {
    unsigned version;
    unsigned type;  // 1 text, 2 sixteen bytes
    char value[41];
};
nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const UuidArgument* uuid, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const UuidArgument* uuid, nvmlDevice_t* device) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (uuid->version != NVML_STRUCT_VERSION(sizeof(UuidArgument), 1)) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (uuid->type != 1) return NVML_ERROR_NOT_SUPPORTED;
    const std::string_view text(uuid->value, sizeof uuid->value);
    const auto name = text.substr(0, text.find('\0'));
    return find_by_uuid(name, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* busId, nvmlDevice_t* device) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    const auto address = busId == nullptr ? std::nullopt : parse_bus_id(busId);
    if (!address) return NVML_ERROR_INVALID_ARGUMENT;
    return find_handle(device, [&](const GpuState& gpu) {
        return gpu.pci_domain == address->domain && gpu.pci_bus == address->bus &&
               address->device == 0;
    });
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* busId, nvmlDevice_t* device) {
    return nvmlDeviceGetHandleByPciBusId_v2(busId, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
    if (serial == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return find_handle(device, [&](const GpuState& gpu) {
        return *serial != '\0' && gpu.serial.view() == serial;
    });
}

}  // extern "C"
