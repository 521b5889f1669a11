// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "gpu/inventory.h"
#include "mig/layout_spec.h"

namespace aliquot::mig {

/// A kind of board, as a configuration names it: "0x20B010DE" or "0x20B010DE:0x134F10DE".
struct DeviceFilter {
    std::uint32_t id = 0;                    // device << 16 | vendor
    std::optional<std::uint32_t> subsystem;  // likewise; empty: any
    friend bool operator==(const DeviceFilter&, const DeviceFilter&) = default;
};

/// One entry of a configuration: how some GPUs shall be cut.
struct Rule {
    std::vector<DeviceFilter> filter;              // empty: every board
    std::optional<std::vector<unsigned>> devices;  // the driver's indices; empty: all
    bool enabled = false;                          // MIG mode
    LayoutSpec spec;
    document::Mark mark;
};

struct NamedConfig {
    std::string name;
    std::vector<Rule> rules;  // a later one overrides an earlier one for the GPUs that both match
};

/// A file of configurations: mig-parted's, where `mig-devices` may also be a list of
/// {profile|slices|memory-at-least, count}.
struct Config {
    std::vector<NamedConfig> configs;  // as in the file
    [[nodiscard]] const NamedConfig* find(std::string_view name) const;
};

struct Problem {
    document::Mark mark;
    std::string message;
};

/// "file:4:7: 'mig-device' is not a field of a MIG configuration, did you mean 'mig-devices'?"
std::string to_text(std::string_view file, const Problem& problem);

struct ReadConfig {
    Config config;
    std::vector<Problem> problems;  // by place, at most 50; not empty: `config` is not to be used
};

/// Reads any bytes; never throws.
/// source   NVIDIA mig-parted, api/spec/v1: unknown fields are refused, `{}` is no instance
ReadConfig read_config(std::string_view text);

/// A GPU as a configuration sees it.
struct Board {
    gpu::Uuid gpu;
    unsigned index = 0;
    std::uint32_t pci_device_id = 0;         // device << 16 | vendor
    std::optional<std::uint32_t> subsystem;  // likewise; empty: not known
    bool mig_capable = false;
};

/// What a configuration says of one GPU.
struct Target {
    Board board;
    bool enabled = false;
    LayoutSpec spec;
};

/// What a configuration says of each GPU that it names. A GPU without MIG is passed over where it
/// is not named or MIG is to be off.
/// errors   kNotFound: it names an index that is not there; kUnsupported: it wants MIG on a GPU
///          that has none; the message has the line
Result<std::vector<Target>> targets_of(const NamedConfig& config, const std::vector<Board>& boards);

/// How one GPU is cut, for export.
struct CurrentCut {
    unsigned index = 0;
    std::uint32_t pci_device_id = 0;
    bool enabled = false;
    std::vector<std::string> profiles;  // one for each compute instance, with its compute part
};

enum class ExportFormat : std::uint8_t { kYaml, kJson };

/// A file that would cut this node's GPUs as they are: what mig-parted's export writes, GPUs that
/// are alike together.
/// label   the name of the one configuration in it
std::string export_config(const std::vector<CurrentCut>& gpus, std::string_view label,
                          ExportFormat format);

}  // namespace aliquot::mig
