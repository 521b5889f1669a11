// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/driver.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/number.h"
#include "base/text.h"
#include "sim/cuda/objects.h"
#include "sim/cuda/pool.h"
#include "sim/node/capabilities.h"
#include "sim/node/engine.h"
#include "sim/node/mig.h"
#include "sim/node/mig_profiles.h"
#include "sim/node/state_place.h"

namespace aliquot::sim {
namespace {

constexpr std::uint64_t kArenaPerMemory = 4;  // address space for each byte of memory
std::atomic<bool> forked{false};              // the parent used the driver: this process cannot

const char* variable(const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

DeviceChoice choice_of_environment() {
    const auto text = [](const char* name) {
        const char* const value = variable(name);
        return std::string_view(value == nullptr ? "" : value);
    };
    return {.container = text("ALIQUOT_SIM_VISIBLE_DEVICES"),
            .container_set = variable("ALIQUOT_SIM_VISIBLE_DEVICES") != nullptr,
            .chosen = text("CUDA_VISIBLE_DEVICES"),
            .chosen_set = variable("CUDA_VISIBLE_DEVICES") != nullptr,
            .order = text("CUDA_DEVICE_ORDER")};
}

/// The sixteen bytes that a uuid's text ends with.
CUuuid uuid_of(std::string_view text) {
    CUuuid uuid{};
    const auto dash = text.find('-');
    text.remove_prefix(dash == std::string_view::npos ? text.size() : dash + 1);
    std::size_t digits = 0;
    for (const char letter : text) {
        const int value = hex_value(letter);
        if (value < 0) continue;
        if (digits / 2 >= sizeof uuid.bytes) break;
        auto byte = static_cast<unsigned char>(uuid.bytes[digits / 2]);
        byte = static_cast<unsigned char>(digits % 2 == 0 ? value << 4 : byte | value);
        uuid.bytes[digits / 2] = static_cast<char>(byte);
        ++digits;
    }
    return uuid;
}

void describe(Device& device, const State& state, const VisibleDevice& where) {
    const GpuState& gpu = state.gpus[where.slot];
    device.model = find_model(gpu.model.view());
    device.name = device.model->product;
    device.gpu_uuid = uuid_of(gpu.uuid.view());
    device.uuid = device.gpu_uuid;
    device.multiprocessors = device.model->multiprocessors;
    device.pci_domain = gpu.pci_domain;
    device.pci_bus = gpu.pci_bus;
    device.numa_node = gpu.numa_node;
    device.compute_mode = gpu.compute_mode;
    device.account.look_up_capacity(state);
    if (where.where.whole_gpu()) return;
    const auto parent = find_gpu_instance(state, where.slot, where.where.gpu_instance);
    const auto* const compute = find_compute_instance(state, where.slot, where.where);
    if (!parent || compute == nullptr) return;
    device.uuid = uuid_of(compute->uuid.view());
    device.name += " MIG " + device_profile_name(*parent.profile, compute->slices);
    device.multiprocessors =
        compute_profile(*device.model, *parent.profile, compute->profile_id).multiprocessors;
}

}  // namespace

std::atomic<bool> ready{false};

std::optional<std::uint64_t> number_setting(const char* name) {
    const char* const text = variable(name);
    return text == nullptr ? std::nullopt : parse_number<std::uint64_t>(text);
}

Driver& Driver::get() { return immortal<Driver>(); }

CUresult Driver::open_state() {
    if (shared_) return CUDA_SUCCESS;
    const auto file = state_file_of_library(reinterpret_cast<const void*>(&ready));
    if (file.empty()) return CUDA_ERROR_NO_DEVICE;
    auto opened = SharedState::open(file);
    if (!opened) {
        return opened.error().code == ErrorCode::kInvalidInput ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
                                                               : CUDA_ERROR_NO_DEVICE;
    }
    if ((*opened)->destroyed()) return CUDA_ERROR_NO_DEVICE;
    shared_ = *std::move(opened);
    return CUDA_SUCCESS;
}

int Driver::cuda_version() {
    const std::lock_guard lock(init_mutex_);
    return open_state() == CUDA_SUCCESS ? shared_->content().cuda_version : 0;
}

CUresult Driver::find_devices() {
    const auto state = shared_->lock();
    if (!state) return CUDA_ERROR_UNKNOWN;
    if ((*state)->driver_mismatch != 0) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    if (const auto slice = number_setting("ALIQUOT_SIM_CUDA_SLICE_NS")) {
        (*state)->time_slice_ns = *slice;
    }
    std::vector<std::unique_ptr<Device>> found;
    auto choice = choice_of_environment();
    const std::string list = listed_devices(**state, choice.container);
    choice.container = list;
    for (const VisibleDevice& where : visible_devices(**state, choice)) {
        if ((*state)->gpus[where.slot].fault.lost != 0) continue;
        auto device = std::make_unique<Device>(*shared_, where, static_cast<int>(found.size()));
        describe(*device, **state, where);
        device->arena.reserve(device->account.total_bytes() * kArenaPerMemory, false);
        if (device->arena.size() == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        device->small = std::make_unique<Heap>(device->arena, std::uint16_t{1});
        device->pools.assign(2, nullptr);
        device->default_pool = make_pool(*device, {});
        device->current_pool = device->default_pool;
        found.push_back(std::move(device));
    }
    devices_ = std::move(found);
    return devices_.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult Driver::initialise() {
    if (ready.load(std::memory_order_acquire)) return CUDA_SUCCESS;
    if (forked) return CUDA_ERROR_NOT_INITIALIZED;
    const std::lock_guard lock(init_mutex_);
    if (ready.load(std::memory_order_acquire)) return CUDA_SUCCESS;
    if (const CUresult opened = open_state(); opened != CUDA_SUCCESS) return opened;
    kernel_ns = number_setting("ALIQUOT_SIM_CUDA_KERNEL_NS");
    context_bytes = number_setting("ALIQUOT_SIM_CUDA_CONTEXT_BYTES");
    if (const CUresult found = find_devices(); found != CUDA_SUCCESS) return found;
    static std::once_flag once;
    std::call_once(once, [] {
        ::pthread_atfork(nullptr, nullptr, [] {
            if (ready.exchange(false)) forked = true;
        });
    });
    ready.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
}

}  // namespace aliquot::sim
