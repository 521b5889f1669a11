// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/claim_checkpoint.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"

namespace aliquot::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kApiVersion = "checkpoint.dra.kubelet.k8s.io/v1";

/// CRC-32 of IEEE 802.3, as Go's hash/crc32 has it.
std::uint32_t crc32_of(std::string_view text) {
    constexpr std::uint32_t kPolynomial = 0xEDB88320U;
    std::uint32_t sum = 0xFFFFFFFFU;
    for (const char c : text) {
        sum ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) {
            sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? kPolynomial : 0U);
        }
    }
    return ~sum;
}

Json device_to_json(const PreparedDevice& device) {
    return {{"PoolName", device.pool},
            {"DeviceName", device.device},
            {"ShareID", device.share.empty() ? Json() : Json(device.share)},
            {"RequestNames", device.requests},
            {"CDIDeviceIDs", device.cdi_devices}};
}

Json claim_to_json(const ClaimEntry& claim) {
    Json pods = Json::object();
    for (const std::string& uid : claim.pods) pods[uid] = Json::object();
    Json drivers = Json::object();
    for (const std::string& driver : claim.reference.drivers) {
        drivers[driver] = {{"Devices", Json()}};  // null, as Go prints a nil slice
    }
    for (const auto& [driver, devices] : claim.devices) {
        Json list = Json::array();
        for (const PreparedDevice& device : devices) list.push_back(device_to_json(device));
        drivers[driver] = {{"Devices", std::move(list)}};
    }
    return {{"ClaimUID", claim.reference.uid},
            {"ClaimName", claim.reference.name},
            {"Namespace", claim.reference.claim_namespace},
            {"PodUIDs", std::move(pods)},
            {"DriverState", std::move(drivers)}};
}

Error wrong_claims(const std::string& reason) {
    return {ErrorCode::kInvalidInput, "dra_manager_state: " + reason};
}

std::vector<std::string> texts_of(const Json& list) {
    return list.is_null() ? std::vector<std::string>{} : list.get<std::vector<std::string>>();
}

ClaimEntry claim_from_json(const Json& json) {
    ClaimEntry claim;
    claim.reference.uid = json.at("ClaimUID").get<std::string>();
    claim.reference.name = json.at("ClaimName").get<std::string>();
    claim.reference.claim_namespace = json.at("Namespace").get<std::string>();
    for (const auto& [uid, nothing] : json.at("PodUIDs").items()) claim.pods.insert(uid);
    for (const auto& [driver, state] : json.at("DriverState").items()) {
        claim.reference.drivers.push_back(driver);
        for (const Json& one : state.at("Devices")) {  // null has no items
            const Json share = one.contains("ShareID") ? one["ShareID"] : Json();
            claim.devices[driver].push_back(
                {.claim_uid = claim.reference.uid,
                 .driver = driver,
                 .requests = texts_of(one.at("RequestNames")),
                 .pool = one.at("PoolName").get<std::string>(),
                 .device = one.at("DeviceName").get<std::string>(),
                 .share = share.is_null() ? std::string() : share.get<std::string>(),
                 .cdi_devices = texts_of(one.at("CDIDeviceIDs"))});
        }
    }
    return claim;
}

}  // namespace

std::string to_json(const std::vector<ClaimEntry>& claims) {
    Json list = Json::array();
    for (const ClaimEntry& claim : claims) list.push_back(claim_to_json(claim));
    const std::string data = dumped(Json{{"kind", "DRACheckpoint"},
                                         {"apiVersion", kApiVersion},
                                         {"ClaimInfoStateList", std::move(list)}});
    const std::uint32_t sum = crc32_of(data);
    return dumped(Json{{"Data", data}, {"Checksum", sum}});
}

Result<std::vector<ClaimEntry>> parse_claim_checkpoint(std::string_view text) {
    try {
        const Json file = Json::parse(text);
        const auto data = file.at("Data").get<std::string>();
        if (file.at("Checksum").get<std::uint32_t>() != crc32_of(data)) {
            return wrong_claims("checkpoint is corrupted");
        }
        const Json content = Json::parse(data);
        if (content.at("apiVersion") != kApiVersion) return wrong_claims("another apiVersion");
        std::vector<ClaimEntry> claims;
        for (const Json& one : content.at("ClaimInfoStateList")) {
            claims.push_back(claim_from_json(one));
        }
        return claims;
    } catch (const nlohmann::json::exception& problem) {
        return wrong_claims(problem.what());
    }
}

}  // namespace aliquot::sim
