// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/host/node_offer.h"
#include "dra/device.h"

/// What `aliquot config explain --dra` says: what a node would hand out by ResourceClaims.
namespace aliquot::cli {

inline constexpr char kDynamicMig[] = "dynamic-mig";

/// "whole", "fixed", "consumable", kDynamicMig.
dra::Mode claim_mode(const std::string& word);
/// What kDynamicMig adds: all that can be cut out of each GPU, by the tables of the product.
void add_cuts(const gpu::Inventory& inventory, dra::PlaceFacts& places);

/// The devices that aliquot-agent --dra=MODE would publish of a node with its configuration, and how a pod asks.
std::string claims_text(const NodeOffer& node, const dra::PlaceFacts& places, dra::Mode mode);
/// {"driverVersion","gpus","mode","driver","devices":[as in a ResourceSlice],"remarks"}
nlohmann::ordered_json claims_json(const NodeOffer& node, const dra::PlaceFacts& places,
                                   dra::Mode mode);

}  // namespace aliquot::cli
