// SPDX-License-Identifier: Apache-2.0
#include "agent/served_record.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/log.h"

namespace aliquot::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json limits_json(const grant::Limits& limits) {
    Json json = Json::object();
    if (limits.memory_bytes) json["memoryBytes"] = *limits.memory_bytes;
    if (limits.compute_percent) json["computePercent"] = *limits.compute_percent;
    if (limits.weight) json["weight"] = *limits.weight;
    return json;
}

grant::Limits read_limits(const Json& json) {
    grant::Limits limits;
    if (json.contains("memoryBytes")) {
        limits.memory_bytes = json.at("memoryBytes").get<std::uint64_t>();
    }
    if (json.contains("computePercent")) {
        limits.compute_percent = json.at("computePercent").get<unsigned>();
    }
    if (json.contains("weight")) limits.weight = json.at("weight").get<unsigned>();
    return limits;
}

Json device_json(const sharing::ServedDevice& served) {
    const sharing::OfferedGpu& device = served.device;
    Json json{{"resource", served.resource.name},
              {"shared", served.resource.shared},
              {"failRequestsGreaterThanOne", served.resource.fail_requests_greater_than_one},
              {"gpu", device.gpu.uuid.text},
              {"index", device.gpu.index},
              {"model", device.gpu.model},
              {"memoryBytes", device.gpu.memory_bytes}};
    if (device.mig) {
        json["mig"] = {{"uuid", device.mig->uuid.text},
                       {"index", device.mig->index},
                       {"profile", device.mig->profile},
                       {"memoryBytes", device.mig->memory_bytes}};
    }
    json["replicas"] = device.replicas;
    json["sharedBy"] = grant::node_text(device.shared_by);
    json["limits"] = limits_json(device.limits);
    Json shares = Json::array();
    for (const grant::Limits& share : device.shares) shares.push_back(limits_json(share));
    json["shares"] = std::move(shares);
    return json;
}

sharing::ServedDevice read_device(const Json& json) {
    sharing::ServedDevice served;
    served.resource.name = json.at("resource").get<std::string>();
    served.resource.shared = json.at("shared").get<bool>();
    served.resource.fail_requests_greater_than_one =
        json.at("failRequestsGreaterThanOne").get<bool>();
    sharing::OfferedGpu& device = served.device;
    device.gpu.uuid.text = json.at("gpu").get<std::string>();
    device.gpu.index = json.at("index").get<unsigned>();
    device.gpu.model = json.at("model").get<std::string>();
    device.gpu.memory_bytes = json.at("memoryBytes").get<std::uint64_t>();
    if (json.contains("mig")) {
        const Json& mig = json.at("mig");
        device.mig = gpu::MigDevice{.uuid = {mig.at("uuid").get<std::string>()},
                                    .index = mig.at("index").get<unsigned>(),
                                    .profile = mig.at("profile").get<std::string>(),
                                    .memory_bytes = mig.at("memoryBytes").get<std::uint64_t>()};
    }
    device.replicas = json.at("replicas").get<unsigned>();
    device.shared_by = grant::parse_node_text(json.at("sharedBy").get<std::string>());
    device.limits = read_limits(json.at("limits"));
    for (const Json& share : json.at("shares")) device.shares.push_back(read_limits(share));
    return served;
}

/// Empty: as nobody could have written it.
std::string fault_of(const sharing::ServedDevice& served) {
    const sharing::OfferedGpu& device = served.device;
    if (served.resource.name.empty() || device.gpu.uuid.text.empty()) return "a name is empty";
    if (device.replicas == 0) return "no replica of a device";
    if (!device.shares.empty() && device.shares.size() != device.replicas) {
        return "not one limit for each replica of a device";
    }
    if (device.shared_by == grant::Mechanism::kUnknown) return "an unknown way to share";
    return {};
}

}  // namespace

std::string served_record_path(const std::string& state_directory) {
    return state_directory + "/served-devices.json";
}

std::string to_json(const ServedRecord::Content& content) {
    Json devices = Json::array();
    for (const auto& entry : content.served) devices.push_back(device_json(entry.second));
    const Json json{
        {"version", kVersion}, {"incomplete", content.incomplete}, {"devices", std::move(devices)}};
    return dumped(json, 1) + "\n";
}

Result<ServedRecord::Content> parse_served_record(std::string_view json) {
    try {
        const Json root = Json::parse(json);
        if (root.at("version").get<int>() != kVersion) {
            return Error{ErrorCode::kInvalidInput, "not of version 1"};
        }
        ServedRecord::Content content{.served = {},
                                      .incomplete = root.at("incomplete").get<bool>()};
        for (const Json& one : root.at("devices")) {
            sharing::ServedDevice served = read_device(one);
            if (auto fault = fault_of(served); !fault.empty()) {
                return Error{ErrorCode::kInvalidInput, std::move(fault)};
            }
            const gpu::Uuid uuid = served.device.uuid();
            content.served.insert_or_assign(uuid, std::move(served));
        }
        return content;
    } catch (const Json::exception& problem) {
        return Error{ErrorCode::kInvalidInput, problem.what()};
    }
}

ServedRecord::Content ServedRecord::load() {
    auto text = root_.read(file_);
    if (!text) {
        if (text.error().code == ErrorCode::kNotFound) return {};
        log::error("served.not_read", {{"file", file_}, {"why", text.error().message}});
        return {.served = {}, .incomplete = true};
    }
    auto content = parse_served_record(*text);
    if (!content) {
        log::error("served.not_read", {{"file", file_}, {"why", content.error().message}});
        return {.served = {}, .incomplete = true};
    }
    written_ = *std::move(text);
    return *std::move(content);
}

Result<Done> ServedRecord::save(const Content& content) {
    // No file says so, too; one would say that this node has served something.
    if (written_.empty() && content.served.empty() && !content.incomplete) return Done{};
    return to_json(content) == written_ ? Done{} : write(content);
}

Result<Done> ServedRecord::write(const Content& content) {
    std::string text = to_json(content);
    auto saved = root_.write_atomically(file_, text, 0600);
    if (saved) written_ = std::move(text);
    return saved;
}

}  // namespace aliquot::agent
