// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/visible_devices.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/number.h"
#include "base/text.h"
#include "sim/node/mig.h"
#include "sim/node/model.h"

namespace aliquot::sim {
namespace {

std::vector<std::string_view> items(std::string_view list) {
    std::vector<std::string_view> found;
    while (!list.empty()) {
        const auto comma = list.find(',');
        found.push_back(trim(list.substr(0, comma), " "));
        list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    }
    return found;
}

std::string_view uuid_of(const State& state, const VisibleDevice& device) {
    if (device.where.whole_gpu()) return state.gpus[device.slot].uuid.view();
    const auto* const compute = find_compute_instance(state, device.slot, device.where);
    return compute == nullptr ? "" : compute->uuid.view();
}

/// "0", "0:2" or a uuid, as the container runtime was told.
bool given(const State& state, const VisibleDevice& device, std::string_view item) {
    if (item == "all" || item == state.gpus[device.slot].uuid.view()) return true;
    if (parse_number<unsigned>(item) == device.slot) return true;
    if (device.where.whole_gpu()) return false;
    const auto* const compute = find_compute_instance(state, device.slot, device.where);
    if (compute == nullptr) return false;
    if (item == compute->uuid.view()) return true;
    const auto colon = item.find(':');
    return colon != std::string_view::npos &&
           parse_number<unsigned>(item.substr(0, colon)) == device.slot &&
           parse_number<unsigned>(item.substr(colon + 1)) == compute->device_index;
}

/// How fast CUDA thinks a GPU is, for its own order.
auto speed(const State& state, const VisibleDevice& device) {
    const Model* const model = find_model(state.gpus[device.slot].model.view());
    return model == nullptr ? std::tuple(0U, 0U, 0)
                            : std::tuple(model->multiprocessors * model->graphics_mhz,
                                         model->memory_mib, model->compute_major);
}

/// All that the container has: whole GPUs, and the MIG devices of those that are cut.
std::vector<VisibleDevice> given_devices(const State& state, const DeviceChoice& choice) {
    std::vector<VisibleDevice> found;
    const auto list = items(choice.container);
    const auto add = [&](const VisibleDevice& device) {
        const bool listed = std::ranges::any_of(
            list, [&](std::string_view item) { return given(state, device, item); });
        if (!choice.container_set || listed) found.push_back(device);
    };
    for (unsigned slot = 0; slot < std::min(state.gpu_count, kMaxGpus); ++slot) {
        if (state.gpus[slot].mig_current == 0) {
            add({.slot = slot});
            continue;
        }
        for (const Instance& instance : mig_devices(state, slot)) add({slot, instance});
    }
    return found;
}

/// The device that an item of CUDA_VISIBLE_DEVICES means: an index among `indexed`, a uuid, or the
/// beginning of just one uuid.
const VisibleDevice* meant(const State& state, const std::vector<VisibleDevice>& all,
                           const std::vector<VisibleDevice>& indexed, std::string_view item) {
    if (const auto index = parse_number<unsigned>(item))
        return *index < indexed.size() ? &indexed[*index] : nullptr;
    const bool plausible = item.starts_with("GPU-") || item.starts_with("MIG-");
    if (!plausible) return nullptr;
    const VisibleDevice* found = nullptr;
    for (const VisibleDevice& device : all) {
        const std::string_view uuid = uuid_of(state, device);
        if (uuid == item) return &device;
        const bool whole = device.where.whole_gpu();  // of MIG devices the full uuid is needed
        if (!whole || !uuid.starts_with(item)) continue;
        if (found != nullptr) return nullptr;
        found = &device;
    }
    return found;
}

}  // namespace

std::vector<VisibleDevice> visible_devices(const State& state, const DeviceChoice& choice) {
    const auto all = given_devices(state, choice);
    std::vector<VisibleDevice> indexed;
    bool whole = false;
    for (const VisibleDevice& device : all) whole = whole || device.where.whole_gpu();
    for (const VisibleDevice& device : all) {
        if (device.where.whole_gpu() == whole) indexed.push_back(device);
    }
    if (!whole && indexed.size() > 1) indexed.resize(1);
    if (choice.order != "PCI_BUS_ID") {
        std::ranges::stable_sort(indexed,
                                 [&](const VisibleDevice& left, const VisibleDevice& right) {
                                     return speed(state, left) > speed(state, right);
                                 });
    }
    if (!choice.chosen_set) return indexed;
    std::vector<VisibleDevice> chosen;
    for (const std::string_view item : items(choice.chosen)) {
        const VisibleDevice* const device = meant(state, all, indexed, item);
        if (device == nullptr) break;
        // Naming one twice makes the whole list void.
        if (std::ranges::find(chosen, *device) != chosen.end()) return {};
        if (!chosen.empty() && chosen.front().where.whole_gpu() != device->where.whole_gpu()) break;
        chosen.push_back(*device);
        if (!device->where.whole_gpu()) break;  // a process gets one MIG device
    }
    return chosen;
}

}  // namespace aliquot::sim
