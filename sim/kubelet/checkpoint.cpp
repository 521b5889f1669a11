// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/checkpoint.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"
#include "base/json_value.h"
#include "base/number.h"

namespace aliquot::sim {
namespace {

using Json = nlohmann::ordered_json;

std::uint32_t checksum(std::string_view text) {  // FNV-1a
    std::uint32_t hash = 2166136261U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

Json entry_to_json(const Checkpoint::Entry& entry) {
    Json devices = Json::object();
    for (const auto& [node, ids] : entry.ids_by_numa) devices[std::to_string(node)] = ids;
    return {{"PodUID", entry.pod_uid},
            {"ContainerName", entry.container},
            {"ResourceName", entry.resource},
            {"DeviceIDs", std::move(devices)},
            {"AllocResp", encode_base64(entry.response)}};
}

Error malformed(const std::string& reason) {
    return {ErrorCode::kInvalidInput, "kubelet_internal_checkpoint: " + reason};
}

Result<Checkpoint::Entry> entry_from_json(const Json& json) {
    Checkpoint::Entry entry{.pod_uid = json.at("PodUID").get<std::string>(),
                            .container = json.at("ContainerName").get<std::string>(),
                            .resource = json.at("ResourceName").get<std::string>()};
    for (const auto& [key, ids] : json.at("DeviceIDs").items()) {
        const auto node = parse_number<std::int64_t>(key);
        if (!node) return malformed("NUMA node '" + key + "'");
        entry.ids_by_numa[*node] = ids.get<std::vector<std::string>>();
    }
    const auto& response = json.at("AllocResp");
    auto bytes = decode_base64(response.is_null() ? "" : response.get<std::string>());
    if (!bytes) return malformed("AllocResp of " + entry.pod_uid + " is not base64");
    entry.response = std::move(*bytes);
    return entry;
}

}  // namespace

std::string to_json(const Checkpoint& checkpoint) {
    Json entries;  // null when empty, as Go prints a nil slice
    for (const auto& entry : checkpoint.entries) entries.push_back(entry_to_json(entry));
    Json registered = Json::object();
    for (const auto& [resource, ids] : checkpoint.registered) registered[resource] = ids;
    const Json data = {{"PodDeviceEntries", std::move(entries)},
                       {"RegisteredDevices", std::move(registered)}};
    const std::uint32_t sum = checksum(dumped(data));
    return dumped(Json{{"Data", data}, {"Checksum", sum}});
}

Result<Checkpoint> parse_checkpoint(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        const Json& data = json.at("Data");
        Checkpoint checkpoint;
        for (const auto& item : data.at("PodDeviceEntries")) {  // null has no items
            auto entry = entry_from_json(item);
            if (!entry) return std::move(entry).error();
            checkpoint.entries.push_back(*std::move(entry));
        }
        for (const auto& [resource, ids] : data.at("RegisteredDevices").items()) {
            checkpoint.registered[resource] =
                ids.is_null() ? std::vector<std::string>{} : ids.get<std::vector<std::string>>();
        }
        return checkpoint;
    } catch (const nlohmann::json::exception& problem) {
        return malformed(problem.what());
    }
}

}  // namespace aliquot::sim
