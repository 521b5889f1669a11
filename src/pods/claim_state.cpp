// SPDX-License-Identifier: Apache-2.0
#include "pods/claim_state.h"

#include <algorithm>

#include "document/json.h"
#include "document/path.h"

namespace aliquot::pods {
namespace {

using document::Value;

constexpr std::size_t kLongestName = 512;
constexpr const char* kApiVersion = "checkpoint.dra.kubelet.k8s.io/v1";

Error wrong_state(std::string_view found) {
    return {ErrorCode::kInvalidInput, "dra_manager_state: " + std::string(found) +
                                          "; expected a DRACheckpoint of " + kApiVersion +
                                          ", as kubelet writes it"};
}

bool is_word(const Value* value) {
    return value != nullptr && value->is_string() && !value->scalar.empty() &&
           value->scalar.size() <= kLongestName;
}

/// As Go writes it: null, or not there, stands for an empty one.
bool is_list(const Value* value) {
    return value == nullptr || value->kind == Value::Kind::kNull || value->is_sequence();
}

Result<Done> add_ids(const Value& device, std::vector<std::string>& ids) {
    const Value* const list = device.find("CDIDeviceIDs");
    if (!device.is_mapping() || !is_list(list)) return wrong_state("a device without CDIDeviceIDs");
    if (list == nullptr) return Done{};
    for (const Value& id : list->items) {
        if (!is_word(&id)) return wrong_state("the name of a CDI device is none");
        ids.push_back(id.scalar.substr(id.scalar.find('=') + 1));
    }
    return Done{};
}

Result<Done> add_claim(const Value& claim, std::vector<ClaimHold>& holds) {
    const Value* const name = claim.find("ClaimName");
    const Value* const name_space = claim.find("Namespace");
    if (!is_word(name) || !is_word(name_space)) return wrong_state("a claim without its name");
    const Value* const drivers = claim.find("DriverState");
    if (drivers == nullptr || drivers->kind == Value::Kind::kNull) return Done{};
    if (!drivers->is_mapping()) return wrong_state("DriverState is not an object");
    for (const auto& [driver, state] : drivers->entries) {
        const Value* const devices = state.find("Devices");
        if (!is_word(&driver) || !state.is_mapping() || !is_list(devices)) {
            return wrong_state("the state of a driver without Devices");
        }
        ClaimHold hold{
            .claim = name_space->scalar + "/" + name->scalar, .driver = driver.scalar, .ids = {}};
        for (const Value& device : devices == nullptr ? std::vector<Value>() : devices->items) {
            if (auto done = add_ids(device, hold.ids); !done) return done;
        }
        std::ranges::sort(hold.ids);
        hold.ids.erase(std::unique(hold.ids.begin(), hold.ids.end()), hold.ids.end());
        holds.push_back(std::move(hold));
        if (holds.size() > kMostClaims) return wrong_state("too many claims");
    }
    return Done{};
}

}  // namespace

Result<std::vector<ClaimHold>> parse_claim_state(std::string_view text) {
    constexpr document::JsonLimits kLimits{.depth = 16, .several = false};
    if (text.size() > kMostClaimStateBytes) return wrong_state("too large");
    const auto file = document::parse_json(text, kLimits);
    if (!file) return wrong_state(file.error().message);
    const Value* const data = file->find("Data");  // JSON within JSON
    if (data == nullptr || !data->is_string()) return wrong_state("no text Data");
    const auto content = document::parse_json(data->scalar, kLimits);
    if (!content) return wrong_state("Data: " + content.error().message);
    if (document::text_of(content->find("apiVersion")) != kApiVersion) {
        return wrong_state("Data is of another apiVersion");
    }
    const Value* const claims = content->find("ClaimInfoStateList");
    if (!is_list(claims)) return wrong_state("ClaimInfoStateList is not a list");
    std::vector<ClaimHold> holds;
    for (const Value& claim : claims == nullptr ? std::vector<Value>() : claims->items) {
        if (auto done = add_claim(claim, holds); !done) return std::move(done).error();
    }
    std::ranges::sort(holds);
    return holds;
}

Result<std::vector<ClaimHold>> read_claim_state(const os::Root& root, const std::string& path) {
    const auto text = root.read(path, kMostClaimStateBytes);
    if (text) return parse_claim_state(*text);
    if (text.error().code == ErrorCode::kNotFound) return std::vector<ClaimHold>();
    return text.error();
}

}  // namespace aliquot::pods
