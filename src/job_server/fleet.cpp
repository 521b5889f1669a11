// SPDX-License-Identifier: Apache-2.0
#include "job_server/fleet.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <set>

#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "catalog/gpu_models.h"
#include "k8s/memory_amount.h"

namespace aliquot::job_server {
namespace {

constexpr unsigned kMibShift = 20;
constexpr std::size_t kMostSimulated = 64;

std::int32_t mib_of(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::min(bytes >> kMibShift, kMost));
}

/// What a device is called in the catalogue; its own name when it is not there.
std::string key_of(const Device& device) {
    const auto mib = static_cast<unsigned>(mib_of(device.memory_bytes));
    const catalog::GpuModel* const model =
        device.is_mig ? nullptr : catalog::find_gpu_model(device.model, mib);
    return model == nullptr ? device.model : std::string(model->key);
}

}  // namespace

Fleet::Fleet(std::vector<Device> devices) : devices_(std::move(devices)) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const Device& device = devices_[i];
        const std::string key = key_of(device);
        const auto room = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
            return !device.is_mig && node.model == key &&
                   node.devices.size() < placement::kMostDevices &&
                   devices_[node.devices.front()].memory_bytes == device.memory_bytes;
        });
        if (room == nodes_.end()) {
            nodes_.push_back({.model = key, .devices = {i}});
        } else {
            room->devices.push_back(i);
        }
    }
    nodes_.push_back({});
}

Result<Done> Fleet::add_to(queue::Planner& planner) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        placement::NodeSpec spec;
        spec.name = "node-" + std::to_string(i);
        spec.devices = static_cast<std::uint8_t>(node.devices.size());
        spec.model = node.model;
        if (!node.devices.empty()) {
            spec.device_mib = mib_of(devices_[node.devices.front()].memory_bytes);
        }
        const auto added = planner.add_node(std::move(spec));
        if (!added) return added.error();
    }
    return Done{};
}

std::vector<std::string> Fleet::models_of(const std::string& type) const {
    std::vector<std::string> models;
    const catalog::GpuModel* const wanted = catalog::find_gpu_model(type);
    const std::string prefix = lower(type) + "-";
    for (const Node& node : nodes_) {
        if (node.devices.empty()) continue;
        const Device& device = devices_[node.devices.front()];
        const bool same = wanted != nullptr && node.model == wanted->key;
        // "a100" is any A100: who wants the one with 40 GB says a100-40.
        const bool of_family = node.model.starts_with(prefix);
        const bool of_mig =
            device.is_mig && wanted != nullptr &&
            catalog::find_gpu_model(device.model.substr(0, device.model.rfind(' '))) == wanted;
        if (same || of_family || of_mig) models.push_back(node.model);
    }
    return models;
}

Result<placement::Request> Fleet::request_of(const jobs::Request& request) const {
    placement::Request wanted;
    wanted.gpus = static_cast<std::uint8_t>(request.gpu_count);
    wanted.milli = placement::kWholeGpu;
    const bool is_share = !request.gpu_memory.empty() || request.gpu_compute != 0;
    if (is_share) {
        wanted.milli = static_cast<std::int32_t>(request.gpu_compute) * 10;
        if (wanted.milli == placement::kWholeGpu) --wanted.milli;
        const auto bytes = k8s::parse_bytes(request.gpu_memory.empty() ? "0" : request.gpu_memory);
        if (!bytes) return bytes.error();
        wanted.mib = mib_of(*bytes + (std::uint64_t{1} << kMibShift) - 1);
    }
    const std::string& type = request.gpu_type;
    if (!type.empty() && type != "any") {
        wanted.models = models_of(type);
        if (wanted.models.empty()) {
            std::set<std::string> here;
            for (const Device& device : devices_) here.insert(device.model);
            return Error{ErrorCode::kInvalidInput, "gpu_type: this machine has no '" +
                                                       one_line(type, 40) + "'; it has " +
                                                       (here.empty() ? "no GPU" : join(here))};
        }
    }
    const auto fits = [&](const Node& node) {
        if (node.devices.size() < request.gpu_count) return false;
        if (is_share && mib_of(devices_[node.devices.front()].memory_bytes) < wanted.mib)
            return false;
        return wanted.models.empty() || std::find(wanted.models.begin(), wanted.models.end(),
                                                  node.model) != wanted.models.end();
    };
    if (std::none_of(nodes_.begin(), nodes_.end(), fits)) {
        return Error{ErrorCode::kInvalidInput,
                     is_share
                         ? "gpu_memory: no GPU of this machine has " + request.gpu_memory
                         : "gpu_count: this machine has no " + std::to_string(request.gpu_count) +
                               " GPUs of one model that was asked for"};
    }
    return placement::checked(std::move(wanted));
}

std::vector<std::string> Fleet::devices_at(const std::vector<placement::Placement>& where) const {
    std::vector<std::string> uuids;
    for (const placement::Placement& place : where) {
        if (place.node >= nodes_.size()) continue;
        for (const std::uint8_t device : place.devices) {
            uuids.push_back(devices_[nodes_[place.node].devices[device]].uuid);
        }
    }
    return uuids;
}

std::vector<placement::Placement> Fleet::places_of(const std::vector<std::string>& uuids) const {
    placement::Placement place;
    if (uuids.empty()) {
        place.node = static_cast<placement::NodeId>(nodes_.size() - 1);
        return {place};
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        for (std::size_t d = 0; d < nodes_[n].devices.size(); ++d) {
            const std::string& uuid = devices_[nodes_[n].devices[d]].uuid;
            if (std::find(uuids.begin(), uuids.end(), uuid) == uuids.end()) continue;
            if (place.node != placement::kNoNode && place.node != n) return {};
            place.node = static_cast<placement::NodeId>(n);
            place.devices.push_back(static_cast<std::uint8_t>(d));
        }
    }
    if (place.devices.size() != uuids.size()) return {};
    return {place};
}

Result<std::vector<Device>> simulated_devices(const std::string& words, unsigned first) {
    const auto colon = words.find(':');
    const std::string type = words.substr(0, colon);
    const auto count = colon == std::string::npos
                           ? std::optional<unsigned>(1)
                           : parse_number<unsigned>(std::string_view(words).substr(colon + 1));
    const catalog::GpuModel* const model = catalog::find_gpu_model(type);
    if (model == nullptr) {
        return Error{ErrorCode::kInvalidInput, "--gpu: '" + one_line(type, 40) +
                                                   "' is no GPU model that is known" +
                                                   did_you_mean(catalog::nearest_gpu_model(type))};
    }
    if (!count || *count == 0 || *count + first > kMostSimulated) {
        return Error{ErrorCode::kInvalidInput, "--gpu: '" + one_line(words, 60) +
                                                   "': expected MODEL:N with 1 to 64 GPUs in all"};
    }
    std::vector<Device> devices;
    for (unsigned i = first; i < first + *count; ++i) {
        std::array<char, 48> uuid{};
        std::snprintf(uuid.data(), uuid.size(), "GPU-00000000-0000-4000-8000-%012u", i);
        const std::uint64_t mib = model->memory_mib != 0
                                      ? model->memory_mib
                                      : static_cast<std::uint64_t>(model->memory_gib * 1024);
        devices.push_back({.index = std::to_string(i),
                           .uuid = uuid.data(),
                           .model = std::string(model->name),
                           .memory_bytes = mib << kMibShift,
                           .is_mig = false});
    }
    return devices;
}

}  // namespace aliquot::job_server
