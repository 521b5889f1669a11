// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharing/served_devices.h"

namespace aliquot::node {

/// What a node can be configured by: the keys of a ConfigMap.
struct ConfigChoices {
    std::string place;  // "ConfigMap aliquot-system/aliquot-config", for messages
    /// Empty: there is no such ConfigMap.
    std::optional<std::map<std::string, std::string>> data;
    /// Why it cannot be read though it may be there; empty: it was read.
    std::string problem;
    std::string default_key;  // for nodes without a label; empty: `default`, else the only one
};

/// Which configuration a node is to serve.
struct ConfigChoice {
    enum class Source : std::uint8_t {
        kLabel,    // the node's label names it
        kDefault,  // the default key
        kOnly,     // there is one key, and nobody says another
        kBuiltIn,  // nothing is configured: whole GPUs
    };
    Source source = Source::kBuiltIn;
    std::string key;      // empty: built in
    std::string text;     // empty: built in, or `problem` says why there is none
    std::string problem;  // what was asked for is not to be had; the message says what there is
    friend bool operator==(const ConfigChoice&, const ConfigChoice&) = default;
};
/// "label", "default", "only", "built-in".
std::string_view to_text(ConfigChoice::Source source);

/// Pure.
/// label    the node's kConfigLabel; empty optional: it has none
/// source   NVIDIA's config-manager, where an unknown key ends the plugin and no key at all means
///          no sharing without a word
ConfigChoice choose_config(const std::optional<std::string>& label, const ConfigChoices& choices);

/// "aliquot-config/a2": how findings name the text.
std::string file_name(const ConfigChoices& choices, const ConfigChoice& choice);

/// The annotation kConfig: what is served, or why something else is not.
struct ConfigStatus {
    ConfigChoice::Source source = ConfigChoice::Source::kBuiltIn;
    std::string key;
    bool served = true;   // else an earlier one is
    std::string problem;  // why not; one line
    std::string instead;  // what is served then; one line
    /// Why pods with limits are refused though all is served; one line; empty: they are not.
    std::string shortage;
    /// Why the label kDraLabel is not obeyed; one line; empty: it is, or there is none.
    std::string claims_problem;
    /// Why nothing is published for claims though they are to be served; one line; empty: it is.
    std::string claims_refused;
    /// Devices that pods hold, which stay as they were until these have ended.
    std::vector<sharing::WaitingDevice> waiting;
    friend bool operator==(const ConfigStatus&, const ConfigStatus&) = default;
};
/// "served", "pending" (but for devices that pods hold), "refused": the value of kConfigStateLabel.
std::string_view state_text(const ConfigStatus& told);
std::string to_json(const ConfigStatus& told);
/// Empty: the text is no such annotation.
std::optional<ConfigStatus> parse_config_status(std::string_view json);

}  // namespace aliquot::node
