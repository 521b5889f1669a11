// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/checkpoint.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

namespace aliquot::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t k = 0; k < 3; ++k) {
            const auto byte = k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U;
            group = group << 8U | byte;
        }
        for (std::size_t k = 0; k < 4; ++k) {
            const std::size_t digit = group >> (18 - 6 * k) & 63U;
            text += k <= count ? kAlphabet[digit] : '=';
        }
    }
    return text;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const auto digit = kAlphabet.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>(bits >> count & 0xffU);
        }
    }
    return bytes;
}

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
            {"AllocResp", to_base64(entry.response)}};
}

Error malformed(const std::string& reason) {
    return {ErrorCode::kInvalidInput, "kubelet_internal_checkpoint: " + reason};
}

Result<Checkpoint::Entry> entry_from_json(const Json& json) {
    Checkpoint::Entry entry{.pod_uid = json.at("PodUID").get<std::string>(),
                            .container = json.at("ContainerName").get<std::string>(),
                            .resource = json.at("ResourceName").get<std::string>()};
    for (const auto& [key, ids] : json.at("DeviceIDs").items()) {
        std::int64_t node = 0;
        const char* const end = key.data() + key.size();
        const auto [stop, problem] = std::from_chars(key.data(), end, node);
        if (problem != std::errc{} || stop != end) return malformed("NUMA node '" + key + "'");
        entry.ids_by_numa[node] = ids.get<std::vector<std::string>>();
    }
    const auto& response = json.at("AllocResp");
    auto bytes = from_base64(response.is_null() ? "" : response.get<std::string>());
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
    constexpr auto kReplace = Json::error_handler_t::replace;  // an id that is not UTF-8
    const std::uint32_t sum = checksum(data.dump(-1, ' ', false, kReplace));
    return Json{{"Data", data}, {"Checksum", sum}}.dump(-1, ' ', false, kReplace);
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
