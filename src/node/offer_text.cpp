// SPDX-License-Identifier: Apache-2.0
#include "node/offer_text.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/time_text.h"
#include "node/change.h"

namespace aliquot::node {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kMibShift = 20;

/// Counts `devices` alike in, or adds a row.
void add(std::vector<ShareStatus>& shares, ShareStatus row) {
    for (ShareStatus& one : shares) {
        ShareStatus same = one;
        same.devices = row.devices;
        if (same == row) {
            one.devices += row.devices;
            return;
        }
    }
    shares.push_back(std::move(row));
}

}  // namespace

std::vector<GpuStatus> gpu_statuses(const gpu::Inventory& inventory) {
    std::vector<GpuStatus> told;
    for (const gpu::Gpu& gpu : inventory.gpus) {
        GpuStatus one{.index = gpu.index,
                      .uuid = gpu.uuid.text,
                      .model = gpu.model,
                      .memory_mib = gpu.memory_bytes >> kMibShift,
                      .healthy = gpu.health.ok(),
                      .reason = gpu.health.reason,
                      .advice = gpu.health.advice,
                      .mig = gpu.mig_enabled};
        if (gpu.health.since != gpu::Moment{} && gpu.health.state != gpu::Health::State::kHealthy) {
            one.since = rfc3339(gpu.health.since);
        }
        for (const gpu::MigDevice& device : gpu.mig_devices) {
            one.mig_devices.push_back(device.profile);
        }
        told.push_back(std::move(one));
    }
    return told;
}

GpuOffers gpu_offers(const sharing::Offer& offer) {
    GpuOffers offers;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& device : resource.gpus) {
            if (device.frozen || !device.healthy()) continue;
            const std::size_t listed = device.only ? device.only->size() : device.replicas;
            if (listed > 0) {
                offers[device.gpu.uuid.text][resource.name] += static_cast<unsigned>(listed);
            }
        }
    }
    return offers;
}

std::string to_json(const std::vector<GpuStatus>& gpus) {
    Json list = Json::array();
    for (const GpuStatus& gpu : gpus) {
        list.push_back({{"index", gpu.index},
                        {"uuid", gpu.uuid},
                        {"model", gpu.model},
                        {"memoryMiB", gpu.memory_mib},
                        {"healthy", gpu.healthy},
                        {"reason", gpu.reason},
                        {"since", gpu.since},
                        {"advice", gpu.advice},
                        {"mig", gpu.mig},
                        {"migDevices", gpu.mig_devices}});
        if (!gpu.offers.empty()) list.back()["offers"] = gpu.offers;
    }
    return dumped(list);
}

std::optional<std::vector<GpuStatus>> parse_gpu_statuses(std::string_view json) {
    const Json root = parse_json<Json>(json);
    if (!root.is_array()) return std::nullopt;
    std::vector<GpuStatus> told;
    for (const Json& one : root) {
        if (!one.is_object()) return std::nullopt;
        GpuStatus gpu{.index = number_at<unsigned>(one, "index"),
                      .uuid = text_at(one, "uuid"),
                      .model = text_at(one, "model"),
                      .memory_mib = number_at<std::uint64_t>(one, "memoryMiB"),
                      .healthy = flag_at(one, "healthy").value_or(false),
                      .reason = text_at(one, "reason"),
                      .since = text_at(one, "since"),
                      .advice = text_at(one, "advice"),
                      .mig = flag_at(one, "mig").value_or(false)};
        const auto devices = one.find("migDevices");
        if (devices != one.end() && devices->is_array()) {
            for (const Json& profile : *devices) {
                if (profile.is_string()) gpu.mig_devices.push_back(profile.get<std::string>());
            }
        }
        const Json& offers = member(one, "offers");
        if (offers.is_object()) {
            for (const auto& offer : offers.items()) {
                gpu.offers[offer.key()] = number_at<unsigned>(offers, offer.key().c_str());
            }
        }
        told.push_back(std::move(gpu));
    }
    return told;
}

std::vector<ShareStatus> share_statuses(const sharing::Offer& offer) {
    std::vector<ShareStatus> told;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& device : resource.gpus) {
            if (device.frozen) continue;
            const auto listed =
                static_cast<unsigned>(device.only ? device.only->size() : device.replicas);
            if (listed == 0) continue;
            ShareStatus row{
                .resource = resource.name,
                .mechanism = device.mechanism(),
                .model = device.gpu.model,
                .devices = listed,
                .per_gpu = device.replicas,
                .memory_mib =
                    device.limits.memory_bytes.value_or(device.device_memory_bytes()) >> kMibShift,
                .compute_percent = device.limits.compute_percent};
            if (device.shares.empty()) {
                add(told, std::move(row));
                continue;
            }
            for (unsigned i = 0; i < device.shares.size(); ++i) {
                if (device.only && !device.only->contains(i)) continue;
                const grant::Limits& share = device.shares[i];
                ShareStatus one = row;
                one.devices = 1;
                one.memory_mib =
                    share.memory_bytes.value_or(device.device_memory_bytes()) >> kMibShift;
                one.compute_percent = share.compute_percent;
                add(told, std::move(one));
            }
        }
    }
    return told;
}

std::string to_json(const std::vector<ShareStatus>& shares) {
    Json list = Json::array();
    for (const ShareStatus& share : shares) {
        Json one{{"resource", share.resource}, {"mechanism", grant::node_text(share.mechanism)},
                 {"model", share.model},       {"devices", share.devices},
                 {"perGpu", share.per_gpu},    {"memoryMiB", share.memory_mib}};
        if (share.compute_percent) one["computePercent"] = *share.compute_percent;
        list.push_back(std::move(one));
    }
    return dumped(list);
}

std::optional<std::vector<ShareStatus>> parse_share_statuses(std::string_view json) {
    const Json root = parse_json<Json>(json);
    if (!root.is_array()) return std::nullopt;
    std::vector<ShareStatus> told;
    for (const Json& one : root) {
        if (!one.is_object()) return std::nullopt;
        ShareStatus share{.resource = text_at(one, "resource"),
                          .mechanism = grant::parse_node_text(text_at(one, "mechanism")),
                          .model = text_at(one, "model"),
                          .devices = number_at<unsigned>(one, "devices"),
                          .per_gpu = number_at<unsigned>(one, "perGpu"),
                          .memory_mib = number_at<std::uint64_t>(one, "memoryMiB")};
        if (one.contains("computePercent")) {
            share.compute_percent = number_at<unsigned>(one, "computePercent");
        }
        told.push_back(std::move(share));
    }
    return told;
}

}  // namespace aliquot::node
