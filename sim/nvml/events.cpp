// SPDX-License-Identifier: Apache-2.0
//
// Event sets: what the node reports by itself, to whoever waits for it in whichever process.
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "sim/nvml/library.h"

using namespace aliquot::sim;

struct nvmlEventSet_st {
    struct Registration {
        std::uint64_t types = 0;
        std::uint64_t from = 0;  // events before this one happened before the registration
    };
    std::mutex mutex;                                  // taken after the node's lock
    std::array<Registration, kMaxGpus> registrations;  // by slot
    std::uint64_t next = 0;                            // the event to look at next
    bool used = false;                                 // `next` means something
    bool freed = false;
};

namespace {

using EventSet = nvmlEventSet_st;

struct EventSets {
    std::mutex mutex;
    std::map<nvmlEventSet_t, std::shared_ptr<EventSet>> live;
};

EventSets& event_sets() { return immortal<EventSets>(); }

std::shared_ptr<EventSet> find_set(nvmlEventSet_t handle) {
    const std::lock_guard lock(event_sets().mutex);
    const auto found = event_sets().live.find(handle);
    return found == event_sets().live.end() ? nullptr : found->second;
}

std::uint64_t supported_events(const Model& model) {
    std::uint64_t types = kEventXid | kEventClock;
    if (model.ecc == Ecc::kOn) types |= kEventEccCorrected | kEventEccUncorrected;
    if (model.mig_devices > 0) types |= kEventMigChange;
    return types;
}

/// The oldest event that the set waits for and has not given out yet.
std::optional<EventState> take_event(EventSet& set, const State& state) {
    const std::uint64_t end = state.next_event;
    if (!set.used || end < set.next) set.next = end;
    set.used = true;
    if (end - set.next > kMaxEvents) set.next = end - kMaxEvents;  // the rest is overwritten
    while (set.next < end) {
        const EventState& event = state.events[set.next % kMaxEvents];
        const std::uint64_t sequence = set.next++;
        if (event.sequence != sequence || event.gpu >= kMaxGpus) continue;
        const auto& registration = set.registrations[event.gpu];
        if ((registration.types & event.type) != 0 && sequence >= registration.from) return event;
    }
    return std::nullopt;
}

void fill(nvmlEventData_t& data, const EventState& event, const Session& session, bool instances) {
    const auto index = session.index_of_slot(event.gpu);
    data.device = index ? Session::handle_of(*index) : nullptr;
    data.eventType = event.type;
    data.eventData = event.data;
    if (!instances) return;
    data.gpuInstanceId = event.gpu_instance;
    data.computeInstanceId = event.compute_instance;
}

nvmlReturn_t wait(nvmlEventSet_t handle, nvmlEventData_t* data, unsigned milliseconds,
                  bool instances) {
    using Clock = std::chrono::steady_clock;
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    const auto set = find_set(handle);
    if (!set || data == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
    for (;;) {
        if (session->shared().destroyed()) return NVML_ERROR_GPU_IS_LOST;
        const std::uint32_t seen = session->shared().change();
        {
            const auto state = session->lock();
            if (!state) return NVML_ERROR_UNKNOWN;
            const std::lock_guard lock(set->mutex);
            if (set->freed) return NVML_ERROR_INVALID_ARGUMENT;
            if (const auto event = take_event(*set, **state)) {
                fill(*data, *event, *session, instances);
                return NVML_SUCCESS;
            }
        }
        if (Session::current() != session) return NVML_ERROR_UNINITIALIZED;
        const auto left = deadline - Clock::now();
        if (left <= Clock::duration::zero()) return NVML_ERROR_TIMEOUT;
        session->shared().wait_change(seen, left);
    }
}

}  // namespace

namespace aliquot::sim {

void forget_event_sets() {
    const std::lock_guard lock(event_sets().mutex);
    event_sets().live.clear();
}

}  // namespace aliquot::sim

extern "C" {

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    auto made = std::make_shared<EventSet>();
    *set = made.get();
    const std::lock_guard lock(event_sets().mutex);
    event_sets().live.emplace(made.get(), std::move(made));
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    const auto session = Session::current();
    if (!session) return NVML_ERROR_UNINITIALIZED;
    std::shared_ptr<EventSet> freed;
    {
        const std::lock_guard lock(event_sets().mutex);
        const auto found = event_sets().live.find(set);
        if (found == event_sets().live.end()) return NVML_ERROR_INVALID_ARGUMENT;
        freed = std::move(found->second);
        event_sets().live.erase(found);
    }
    {
        const std::lock_guard lock(freed->mutex);
        freed->freed = true;
    }
    session->shared().announce();  // whoever waits for it still
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types) {
    return tell(device, types, [](const Gpu& gpu) { return supported_events(*gpu.model); });
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set) {
    if (!Session::current()) return NVML_ERROR_UNINITIALIZED;
    const auto found = find_set(set);
    if (!found) return NVML_ERROR_INVALID_ARGUMENT;
    return with_state_of(device, [&](const Gpu& gpu, const State& state) -> nvmlReturn_t {
        const std::lock_guard lock(found->mutex);
        if ((types & ~supported_events(*gpu.model)) != 0) return NVML_ERROR_NOT_SUPPORTED;
        auto& registration = found->registrations[gpu.slot];
        if (registration.types == 0) registration.from = state.next_event;
        registration.types |= types;
        if (!found->used) found->next = state.next_event;
        found->used = true;
        return NVML_SUCCESS;
    });
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data,
                              unsigned int timeoutMilliseconds) {
    return wait(set, data, timeoutMilliseconds, false);
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data,
                                 unsigned int timeoutMilliseconds) {
    return wait(set, data, timeoutMilliseconds, true);
}

}  // extern "C"
