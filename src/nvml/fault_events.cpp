// SPDX-License-Identifier: Apache-2.0
#include "nvml/fault_events.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace aliquot::nvml {
namespace {

constexpr std::size_t kEventsPerLook = 64;
constexpr std::uint64_t kXidOfDoubleBitError = 48;

std::optional<std::uint64_t> xid_of(const nvmlEventData_t& event) {
    if ((event.eventType & nvmlEventTypeXidCriticalError) != 0) return event.eventData;
    if ((event.eventType & nvmlEventTypeDoubleBitEccError) != 0) return kXidOfDoubleBitError;
    return std::nullopt;
}

std::optional<unsigned> instance_of(unsigned id) {
    if (id == NVML_NO_INSTANCE) return std::nullopt;
    return id;
}

}  // namespace

bool FaultEvents::listen(const Library& library, const Watched& gpus) {
    if (set_ != nullptr && gpus == wanted_) return false;
    close(library);
    wanted_ = gpus;
    const Functions& nvml = library.nvml();
    if (!nvml.nvmlEventSetWait_v2 && !nvml.nvmlEventSetWait) return true;
    if (nvml.nvmlEventSetCreate(&set_) != NVML_SUCCESS) {
        set_ = nullptr;
        return true;
    }
    for (const auto& watched : gpus) {
        constexpr unsigned long long kWanted = nvmlEventTypeXidCriticalError |
                                               nvmlEventTypeDoubleBitEccError |
                                               nvmlEventMigConfigChange;
        unsigned long long supported = kWanted;
        if (nvml.nvmlDeviceGetSupportedEventTypes(watched.first, &supported) != NVML_SUCCESS) {
            supported = nvmlEventTypeXidCriticalError;
        }
        if (nvml.nvmlDeviceRegisterEvents(watched.first, supported & kWanted, set_) ==
            NVML_SUCCESS) {
            heard_.push_back(watched);
        }
    }
    return true;
}

FaultEvents::Look FaultEvents::look(const Library& library, std::chrono::milliseconds wait) {
    Look look;
    if (set_ == nullptr || heard_.empty()) {
        look.listening = false;
        return look;
    }
    auto left = static_cast<unsigned>(std::max<std::int64_t>(0, wait.count()));
    for (std::size_t i = 0; i < kEventsPerLook; ++i) {
        const auto event = library.wait_event(set_, left);
        if (event.code == NVML_ERROR_TIMEOUT) return look;
        if (!event.ok()) {
            // A lost GPU can spoil the set for all: make it anew from those that still answer.
            close(library);
            look.listening = false;
            return look;
        }
        left = 0;
        const bool reconfigured = (event.value.eventType & nvmlEventMigConfigChange) != 0;
        const auto xid = xid_of(event.value);
        if (!xid && !reconfigured) continue;
        const auto sender =
            std::ranges::find(heard_, event.value.device, &Watched::value_type::first);
        const auto uuid = library.uuid(event.value.device);
        gpu::FaultEvent fault{.gpu = {},
                              .xid = xid.value_or(0),
                              .gpu_instance = instance_of(event.value.gpuInstanceId),
                              .compute_instance = instance_of(event.value.computeInstanceId),
                              .reconfigured = reconfigured};
        if (sender != heard_.end()) {
            fault.gpu = sender->second;
        } else if (uuid.ok()) {
            fault.gpu.text = uuid.value;
        }
        look.events.push_back(std::move(fault));
    }
    return look;
}

void FaultEvents::close(const Library& library) {
    if (set_ != nullptr) library.nvml().nvmlEventSetFree(set_);
    forget();
}

void FaultEvents::forget() {
    set_ = nullptr;
    heard_.clear();
    wanted_.clear();
}

}  // namespace aliquot::nvml
