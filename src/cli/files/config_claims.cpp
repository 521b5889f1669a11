// SPDX-License-Identifier: Apache-2.0
#include "cli/files/config_claims.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/json_value.h"
#include "base/sentence.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"
#include "mig/board.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* class_of(const dra::Device& device) {
    return device.kind == dra::Device::Kind::kMig ? "mig.aliquot.dev" : "gpu.aliquot.dev";
}

/// "memory 15104Mi, compute 100; several claims, memory in steps of 256Mi".
std::string capacity_text(const dra::Device& device) {
    std::vector<std::string> parts;
    for (const std::string_view name : {dra::kMemory, dra::kCompute}) {
        const std::string value = document::text_at(device.published, {"capacity", name, "value"});
        if (!value.empty()) parts.push_back(concat({name, " ", value}));
    }
    const std::string step = document::text_at(
        device.published, {"capacity", dra::kMemory, "requestPolicy", "validRange", "step"});
    return join(parts) + (step.empty() ? "" : "; several claims, memory in steps of " + step);
}

std::string_view mode_word(const dra::PlaceFacts& places, dra::Mode mode) {
    return places.cut_by_claims.empty() ? dra::to_text(mode) : kDynamicMig;
}

/// Where it is made for a claim, it has none yet.
std::string uuid_text(const dra::Device& device) {
    return device.uuid.text.empty() ? "made when a claim is prepared" : device.uuid.text;
}

}  // namespace

dra::Mode claim_mode(const std::string& word) {
    if (word == "fixed") return dra::Mode::kFixed;
    return word == "whole" ? dra::Mode::kWhole : dra::Mode::kConsumable;
}

void add_cuts(const gpu::Inventory& inventory, dra::PlaceFacts& places) {
    for (const gpu::Gpu& gpu : inventory.gpus) {
        if (!gpu.mig_capable) continue;
        if (auto known = mig::known_geometry(gpu)) {
            places.cut_by_claims.emplace(gpu.uuid, *std::move(known));
        }
    }
}

std::string claims_text(const NodeOffer& node, const dra::PlaceFacts& places, dra::Mode mode) {
    const auto devices = dra::devices_of(node.inventory, node.offer, places, mode);
    std::string text = counted(node.inventory.gpus.size(), "GPU") + ", driver " +
                       node.inventory.driver_version + "\n\n" + counted(devices.size(), "device") +
                       " by ResourceClaims (--dra=" + std::string(mode_word(places, mode)) + ")\n";
    std::set<std::string> classes;
    for (const dra::Device& device : devices) {
        classes.insert(class_of(device));
        text += "  " + device.name + "  " +
                document::text_at(device.published, {"attributes", "productName", "string"}) +
                "  " + capacity_text(device) + "  " + uuid_text(device);
        if (!device.health.ok()) text += "  unhealthy: " + device.health.reason;
        text += '\n';
    }
    for (const std::string& name : classes) {
        text += "  pods ask for one by a claim with deviceClassName: " + name + '\n';
    }
    if (mode == dra::Mode::kConsumable && classes.contains("gpu.aliquot.dev")) {
        text += "  and for a part by capacity.requests: {memory: 3Gi, compute: \"25\"}\n";
    }
    if (!node.offer.remarks.empty()) text += '\n';
    for (const std::string& remark : node.offer.remarks) text += "remark: " + remark + '\n';
    return text;
}

nlohmann::ordered_json claims_json(const NodeOffer& node, const dra::PlaceFacts& places,
                                   dra::Mode mode) {
    Json devices = Json::array();
    for (const auto& device : dra::devices_of(node.inventory, node.offer, places, mode)) {
        devices.push_back(parse_json<Json>(document::to_json_line(device.published)));
    }
    return {{"driverVersion", node.inventory.driver_version},
            {"gpus", node.inventory.gpus.size()},
            {"mode", mode_word(places, mode)},
            {"driver", dra::kDriver},
            {"devices", std::move(devices)},
            {"remarks", node.offer.remarks}};
}

}  // namespace aliquot::cli
