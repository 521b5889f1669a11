// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 3> kMigStrategyWords{"none", "single", "mixed"};
constexpr std::array<Words, 4> kListStrategyWords{"envvar", "volume-mounts", "cdi-annotations",
                                                  "cdi-cri"};
constexpr std::array<Words, 2> kIdStrategyWords{"uuid", "index"};
constexpr std::array<Words, 3> kDiscoveryWords{"auto", "nvml", "tegra"};
constexpr std::array<Words, 2> kPolicyWords{"distributed", "packed"};

/// The words stand in the order of the enumerators.
template <class Enum>
std::optional<Enum> as_enum(std::optional<std::size_t> index) {
    if (!index) return std::nullopt;
    return static_cast<Enum>(*index);
}

std::optional<std::vector<DeviceListStrategy>> read_list_strategy(Reader& reader,
                                                                  const Fields& fields) {
    constexpr Words kKey = "deviceListStrategy";
    const Value* node = fields.find(kKey);
    if (node == nullptr) return std::nullopt;
    const std::string path = fields.path_of(kKey);
    std::vector<DeviceListStrategy> strategies;
    if (!node->is_sequence()) {
        if (node->is_string() && node->scalar.find(',') != std::string::npos) {
            reader.error(node->mark, rule::kWord, "'" + path + "' is " + document::describe(*node),
                         {"a list: only the environment variable takes commas",
                          std::string(kKey) + ": [" + node->scalar + "]"});
            return std::nullopt;
        }
        const auto one =
            as_enum<DeviceListStrategy>(word_of(reader, *node, path, kListStrategyWords));
        if (!one) return std::nullopt;
        return std::vector{*one};
    }
    if (node->items.empty()) {
        reader.error(
            node->mark, rule::kWord, "'" + path + "' is an empty list",
            {"one or more of " + join_words(kListStrategyWords), std::string(kKey) + ": envvar"});
        return std::nullopt;
    }
    bool wrong = false;
    for (std::size_t i = 0; i < node->items.size(); ++i) {
        const auto one = as_enum<DeviceListStrategy>(word_of(
            reader, node->items[i], path + '[' + std::to_string(i) + ']', kListStrategyWords));
        wrong = wrong || !one;
        if (one && std::find(strategies.begin(), strategies.end(), *one) == strategies.end()) {
            strategies.push_back(*one);
        }
    }
    if (wrong) return std::nullopt;
    return strategies;
}

/// A duration as NVIDIA's file has it: Go's text form, or a bare number of nanoseconds.
std::optional<std::int64_t> read_duration(Reader& reader, const Fields& fields,
                                          std::string_view key) {
    const Value* node = fields.find(key);
    if (node == nullptr) return std::nullopt;
    const std::string path = fields.path_of(key);
    const Advice advice{"a number with a unit (ns, us, ms, s, m, h), such as 60s or 1m30s",
                        std::string(key) + ": " +
                            (node->kind == Value::Kind::kInteger ? node->scalar + "s" : "60s")};
    if (node->kind == Value::Kind::kInteger) {
        const auto nanoseconds = integer_of(*node, reader.strict());
        if (nanoseconds && *nanoseconds > 0) {
            reader.warning(node->mark, rule::kDuration,
                           "'" + path + "' is the number " + node->scalar +
                               ", which means as many nanoseconds",
                           advice);
            return nanoseconds;
        }
    } else if (node->is_string()) {
        const auto duration = parse_go_duration(node->scalar);
        if (duration && *duration > 0) return duration;
    }
    reader.error(
        node->mark, rule::kDuration,
        "'" + path + "' is " + document::describe(*node) + ", which is not a duration above 0",
        advice);
    return std::nullopt;
}

Flags::Plugin read_plugin(Reader& reader, const Value& node) {
    Flags::Plugin plugin;
    const auto fields = read_section(reader, node, section("flags.plugin"), "flags.plugin");
    if (!fields) return plugin;
    plugin.pass_device_specs = read_bool(reader, *fields, "passDeviceSpecs");
    plugin.device_list_strategy = read_list_strategy(reader, *fields);
    plugin.device_id_strategy =
        as_enum<DeviceIdStrategy>(read_word(reader, *fields, "deviceIDStrategy", kIdStrategyWords));
    plugin.cdi_annotation_prefix = read_text(reader, *fields, "cdiAnnotationPrefix");
    plugin.nvidia_ctk_path = read_path(reader, *fields, "nvidiaCTKPath");
    plugin.container_driver_root = read_path(reader, *fields, "containerDriverRoot");
    plugin.shared_devices_allocation_policy = as_enum<AllocationPolicy>(
        read_word(reader, *fields, "sharedDevicesAllocationPolicy", kPolicyWords));
    return plugin;
}

Flags::Gfd read_gfd(Reader& reader, const Value& node) {
    Flags::Gfd gfd;
    const auto fields = read_section(reader, node, section("flags.gfd"), "flags.gfd");
    if (!fields) return gfd;
    gfd.oneshot = read_bool(reader, *fields, "oneshot");
    gfd.no_timestamp = read_bool(reader, *fields, "noTimestamp");
    gfd.sleep_interval_ns = read_duration(reader, *fields, "sleepInterval");
    gfd.output_file = read_text(reader, *fields, "outputFile");
    gfd.machine_type_file = read_text(reader, *fields, "machineTypeFile");
    return gfd;
}

}  // namespace

Flags read_flags(Reader& reader, const Value& node) {
    Flags flags;
    const auto fields = read_section(reader, node, section("flags"), "flags");
    if (!fields) return flags;
    flags.mig_strategy =
        as_enum<MigStrategy>(read_word(reader, *fields, "migStrategy", kMigStrategyWords));
    flags.fail_on_init_error = read_bool(reader, *fields, "failOnInitError");
    flags.mps_root = read_path(reader, *fields, "mpsRoot");
    flags.nvidia_driver_root = read_path(reader, *fields, "nvidiaDriverRoot");
    flags.nvidia_dev_root = read_path(reader, *fields, "nvidiaDevRoot");
    flags.gdrcopy_enabled = read_bool(reader, *fields, "gdrcopyEnabled");
    flags.gds_enabled = read_bool(reader, *fields, "gdsEnabled");
    flags.mofed_enabled = read_bool(reader, *fields, "mofedEnabled");
    flags.use_node_feature_api = read_bool(reader, *fields, "useNodeFeatureAPI");
    flags.device_discovery_strategy = as_enum<DiscoveryStrategy>(
        read_word(reader, *fields, "deviceDiscoveryStrategy", kDiscoveryWords));
    if (const Value* plugin = fields->find("plugin")) flags.plugin = read_plugin(reader, *plugin);
    if (const Value* gfd = fields->find("gfd")) flags.gfd = read_gfd(reader, *gfd);
    return flags;
}

}  // namespace aliquot::sharing
