// SPDX-License-Identifier: Apache-2.0
#include "sim/nvml/library.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>

#include "base/number.h"
#include "sim/node/capabilities.h"
#include "sim/node/engine.h"
#include "sim/node/fault.h"
#include "sim/node/processes.h"
#include "sim/node/state_place.h"
#include "sim/nvml/instances.h"

/// What a handle points to. Clients may look at it, so it is readable for ever and looks like
/// something.
struct nvmlDevice_st {
    std::uint64_t magic;
    std::uint32_t index;
    std::uint32_t reserved[13];
};

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kHandleMagic = 0x6c6d'766e'5f6d'6973;

std::array<nvmlDevice_st, kMaxGpus> handles;

struct Process {
    std::mutex mutex;
    std::shared_ptr<Session> session;
    unsigned references = 0;
};

Process& process() { return immortal<Process>(); }

void before_fork() { process().mutex.lock(); }
void after_fork() { process().mutex.unlock(); }

nvmlReturn_t answer_for(const Error& error) {
    switch (error.code) {
        case ErrorCode::kNotFound:
            return NVML_ERROR_DRIVER_NOT_LOADED;
        case ErrorCode::kPermission:
            return NVML_ERROR_NO_PERMISSION;
        case ErrorCode::kInvalidInput:  // a node made by another version
            return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
        default:
            return NVML_ERROR_UNKNOWN;
    }
}

/// Does an item of ALIQUOT_SIM_VISIBLE_DEVICES mean this GPU?
bool means(std::string_view item, unsigned slot, const GpuState& gpu) {
    return item == "all" || item == gpu.uuid.view() || parse_number<unsigned>(item) == slot;
}

/// Does it mean this MIG device: "MIG-...", "0:2"?
bool means(std::string_view item, unsigned slot, const ComputeInstanceState& device) {
    if (item == device.uuid.view()) return true;
    const auto colon = item.find(':');
    return colon != std::string_view::npos &&
           parse_number<unsigned>(item.substr(0, colon)) == slot &&
           parse_number<unsigned>(item.substr(colon + 1)) == device.device_index;
}

/// What this process may see, in the driver's order whatever the order of the list.
std::vector<VisibleGpu> visible_gpus(const State& state) {
    const char* const variable =
        std::getenv("ALIQUOT_SIM_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe)
    const std::string list = listed_devices(state, variable == nullptr ? "" : variable);
    std::vector<VisibleGpu> visible;
    for (unsigned slot = 0; slot < std::min(state.gpu_count, kMaxGpus); ++slot) {
        bool whole = variable == nullptr;
        VisibleGpu gpu{.slot = slot};
        std::string_view rest = list;
        while (!rest.empty() && !whole) {
            const auto comma = rest.find(',');
            const auto item = rest.substr(0, comma);
            whole = means(item, slot, state.gpus[slot]);
            for (const Instance& device : mig_devices(state, slot)) {
                const auto& compute = *find_compute_instance(state, slot, device);
                if (means(item, slot, compute)) gpu.devices.emplace_back(compute.uuid.view());
            }
            rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
        }
        if (whole) gpu.devices.clear();
        if (whole || !gpu.devices.empty()) visible.push_back(std::move(gpu));
    }
    return visible;
}

/// What a MIG device's handle shows; nothing when the device is gone.
std::optional<MigDevice> look_at_device(const State& state, unsigned slot, const Target& target) {
    const auto parent = find_gpu_instance(state, slot, target.instance.gpu_instance);
    const auto* const compute = find_compute_instance(state, slot, target.instance);
    if (compute == nullptr || compute->incarnation != target.incarnation) return std::nullopt;
    MigDevice device{.instance = target.instance,
                     .profile = parent.profile,
                     .start = parent.state->start,
                     .compute = *compute};
    device.used_bytes = used_bytes_on(state, slot, target.instance.gpu_instance);
    for (const ProcessState& process : state.processes) {
        const bool here = process.pid != 0 && process.gpu == slot;
        if (here && process.where() == target.instance) ++device.processes;
    }
    return device;
}

}  // namespace

std::pair<nvmlReturn_t, std::shared_ptr<Session>> Session::open() {
    const auto file = state_file_of_library(reinterpret_cast<const void*>(&handles));
    if (file.empty()) return {NVML_ERROR_DRIVER_NOT_LOADED, nullptr};
    auto state = SharedState::open(file);
    if (!state) return {answer_for(state.error()), nullptr};
    if ((*state)->destroyed()) return {NVML_ERROR_DRIVER_NOT_LOADED, nullptr};
    std::shared_ptr<Session> session(new Session(*std::move(state), file.parent_path()));
    {
        const auto content = session->lock();
        if (!content) return {NVML_ERROR_UNKNOWN, nullptr};
        if ((*content)->driver_mismatch != 0) return {NVML_ERROR_LIB_RM_VERSION_MISMATCH, nullptr};
        session->visible_ = visible_gpus(**content);
        const auto version = (*content)->driver_version.view();
        session->driver_major_ =
            parse_number<unsigned>(version.substr(0, version.find('.'))).value_or(0);
    }
    for (unsigned i = 0; i < kMaxGpus; ++i) handles[i] = {.magic = kHandleMagic, .index = i};
    return {NVML_SUCCESS, std::move(session)};
}

std::shared_ptr<Session> Session::current() {
    const std::lock_guard lock(process().mutex);
    return process().session;
}

std::optional<unsigned> Session::index_of_slot(unsigned slot) const {
    const auto found = std::ranges::find(visible_, slot, &VisibleGpu::slot);
    if (found == visible_.end()) return std::nullopt;
    return static_cast<unsigned>(found - visible_.begin());
}

bool Session::sees(unsigned index, std::string_view device_uuid) const {
    return !restricted(index) ||
           std::ranges::find(visible_[index].devices, device_uuid) != visible_[index].devices.end();
}

std::optional<Target> Session::target_of(nvmlDevice_t device) const {
    for (unsigned index = 0; index < gpu_count(); ++index) {
        if (device == &handles[index]) return Target{.index = index};
    }
    const auto handle = find_instance_handle(device);
    if (!handle || handle->kind != InstanceHandle::Kind::kMigDevice) return std::nullopt;
    const auto index = index_of_slot(handle->slot);
    if (!index) return std::nullopt;
    return Target{
        .index = *index, .instance = handle->instance, .incarnation = handle->incarnation};
}

nvmlDevice_t Session::handle_of(unsigned index) { return &handles[index]; }

nvmlReturn_t Session::look_at(const Target& target, Gpu& gpu) {
    gpu.index = target.index;
    gpu.slot = visible_[target.index].slot;
    for (;;) {
        if (state_->destroyed()) return NVML_ERROR_GPU_IS_LOST;
        const std::uint32_t seen = state_->change();
        const std::uint64_t now = monotonic_ns();
        std::uint64_t until = 0;
        {
            const auto state = lock();
            if (!state) return NVML_ERROR_UNKNOWN;
            GpuState& content = (*state)->gpus[gpu.slot];
            gpu.model = find_model(content.model.view());
            if (gpu.model == nullptr) return NVML_ERROR_UNKNOWN;  // the file was damaged since
            if (!hangs(content.fault, now)) {
                if (content.fault.lost != 0) return NVML_ERROR_GPU_IS_LOST;
                if (content.fault.call_error != 0) {
                    return static_cast<nvmlReturn_t>(content.fault.call_error);
                }
                drop_dead_processes(**state, gpu.slot);
                advance_gpu(**state, gpu.slot, now);
                if (!target.instance.whole_gpu()) {
                    gpu.device = look_at_device(**state, gpu.slot, target);
                    if (!gpu.device) return NVML_ERROR_INVALID_ARGUMENT;
                }
                settle_gpu(**state, gpu.slot, now);
                gpu.load = load_on(**state, gpu.slot);
                gpu.state = content;
                break;
            }
            until = content.fault.hang_until_ns;
        }
        state_->wait_change(seen, until == 0 ? std::chrono::nanoseconds::max()
                                             : std::chrono::nanoseconds(until - now));
        if (current().get() != this) return NVML_ERROR_UNINITIALIZED;
    }
    gpu.figures = figures_of(*gpu.model, gpu.state, gpu.load);
    return NVML_SUCCESS;
}

std::uint64_t violation_ns(const LoadSums& sums, nvmlPerfPolicyType_t policy) {
    const auto& us = sums.throttled_us;  // in the order of its comment
    switch (policy) {
        case NVML_PERF_POLICY_POWER:
            return us[0] * 1000;
        case NVML_PERF_POLICY_THERMAL:
            return (us[1] + us[2]) * 1000;
        case NVML_PERF_POLICY_SYNC_BOOST:
            return us[4] * 1000;
        default:
            return 0;  // nothing simulated slows down for another reason
    }
}

nvmlReturn_t copy_text(std::string_view text, char* to, unsigned length) {
    if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (length <= text.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
    std::memcpy(to, text.data(), text.size());
    to[text.size()] = '\0';
    return NVML_SUCCESS;
}

nvmlReturn_t begin_list(unsigned* count, const void* room, std::size_t needed) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned has = *count;
    *count = static_cast<unsigned>(needed);
    if (has < needed) return NVML_ERROR_INSUFFICIENT_SIZE;
    return room == nullptr && needed > 0 ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

nvmlReturn_t initialise() {
    static std::once_flag once;
    std::call_once(once, [] { ::pthread_atfork(before_fork, after_fork, after_fork); });
    const std::lock_guard lock(process().mutex);
    if (!process().session) {
        auto [result, session] = Session::open();
        if (result != NVML_SUCCESS) return result;
        process().session = std::move(session);
    }
    ++process().references;
    return NVML_SUCCESS;
}

nvmlReturn_t shut_down() {
    std::shared_ptr<Session> last;
    {
        const std::lock_guard lock(process().mutex);
        if (process().references == 0) return NVML_ERROR_UNINITIALIZED;
        if (--process().references > 0) return NVML_SUCCESS;
        last = std::exchange(process().session, nullptr);
    }
    forget_event_sets();
    forget_samples();
    forget_instance_handles();
    last->shared().announce();  // calls that block find out
    return NVML_SUCCESS;
}

}  // namespace aliquot::sim
