// SPDX-License-Identifier: Apache-2.0
#include "cli/host/node_offer.h"

#include <vector>

#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "findings/finding.h"
#include "nvml/driver.h"
#include "os/root.h"
#include "sharing/config_file.h"

namespace aliquot::cli {
namespace {

/// The one configuration of the file, or the one under --key; complaints go to err.
std::optional<sharing::Config> choose_config(Context& context, const OfferOptions& words,
                                             const Input& input) {
    const auto compatibility = words.compatibility == "nvidia" ? sharing::Compatibility::kNvidia
                                                               : sharing::Compatibility::kStrict;
    const auto checked = sharing::check_config_file(input.name, input.text, compatibility);
    findings::print_text(context.err, checked.findings,
                         context.err_is_terminal ? context.colour : Colour::kNever);
    if (findings::has_errors(checked.findings)) {
        context.exit_code = kFindings;
        return std::nullopt;
    }
    std::vector<const sharing::FoundConfig*> fitting;
    std::string names;
    for (const sharing::FoundConfig& found : checked.configs) {
        const std::string key = found.where.substr(found.where.rfind(' ') + 1);
        if (words.key.empty() || words.key == key) fitting.push_back(&found);
        names += (names.empty() ? "" : ", ") + key;
    }
    if (fitting.size() == 1) return fitting.front()->config;
    if (checked.configs.empty()) {
        fail(context, kUsage, input.name + ": has no sharing configuration");
    } else if (fitting.empty()) {
        fail(context, kUsage,
             input.name + ": has no configuration under '" + words.key + "', but " + names);
    } else {
        fail(context, kUsage,
             input.name + ": has several configurations, choose one by --key: " + names);
    }
    return std::nullopt;
}

Result<gpu::Inventory> look_at_gpus(const OfferOptions& words, const sharing::Config& config) {
    const os::Root host("/");
    nvml::DriverOptions options = driver_options_below_root(words.driver);
    if (words.driver.node_state.empty() && words.driver.driver_root.empty()) {
        options.driver_root = config.flags.nvidia_driver_root.value_or("/");
    }
    auto driver = nvml::Driver::open(host, options);
    if (!driver) return std::move(driver).error();
    return (*driver)->enumerate(gpu::Links::kLeaveOut);
}

}  // namespace

void add_offer_options(command_line::Command& command, OfferOptions& words, FileArgument file) {
    command
        .add_option("FILE", words.file,
                    "The configuration, or a ConfigMap; - is the standard input", " ")
        ->required(file == FileArgument::kRequired);
    add_driver_flags(command, words.driver);
    command.add_option("--key", words.key, "Which key of a ConfigMap, when it has several", "KEY");
    command
        .add_option("--compat", words.compatibility, "Read the file as NVIDIA's plugin does",
                    "MODE (none, nvidia)")
        ->one_of({"none", "nvidia"});
}

std::optional<NodeOffer> look_at_node_offer(Context& context, const OfferOptions& words) {
    NodeOffer node;
    std::string name = "the defaults";
    if (!words.file.empty()) {
        const auto input = read_input(words.file);
        if (!input) {
            fail(context, kUsage, input.error().message);
            return std::nullopt;
        }
        auto config = choose_config(context, words, *input);
        if (!config) return std::nullopt;
        node.config = *std::move(config);
        name = input->name;
    }
    auto inventory = look_at_gpus(words, node.config);
    if (!inventory) {
        fail(context, kCouldNotRun,
             "look at this node's GPUs: " + inventory.error().message +
                 " (for a simulated node give --node-state DIR)");
        return std::nullopt;
    }
    node.inventory = *std::move(inventory);
    auto offer = sharing::make_offer(node.config, node.inventory);
    if (!offer) {
        const bool input_is_wrong = offer.error().code == ErrorCode::kInvalidInput;
        fail(context, input_is_wrong ? kFindings : kCouldNotRun,
             name + ": " + offer.error().message);
        return std::nullopt;
    }
    node.offer = *std::move(offer);
    return node;
}

}  // namespace aliquot::cli
