// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/host/driver_choice.h"
#include "gpu/inventory.h"
#include "sharing/config.h"
#include "sharing/offer.h"

namespace aliquot::cli {

/// Which configuration, and which node's GPUs.
struct OfferOptions {
    std::string file;  // empty: no file, all defaults
    std::string key;
    DriverChoice driver;
    std::string compatibility = "none";
};

enum class FileArgument : std::uint8_t { kRequired, kOptional };

/// The options of a command that asks what a node would offer.
/// words      outlives the parsing
void add_offer_options(command_line::Command& command, OfferOptions& words, FileArgument file);

/// A node's GPUs and what it offers of them.
struct NodeOffer {
    sharing::Config config;
    gpu::Inventory inventory;
    sharing::Offer offer;
};
/// Empty: it was said why, and the exit code is set.
std::optional<NodeOffer> look_at_node_offer(Context& context, const OfferOptions& words);

}  // namespace aliquot::cli
