// SPDX-License-Identifier: Apache-2.0
#include "agent/settings.h"

#include <algorithm>

namespace aliquot::agent {
namespace {

template <class T>
void prefer_given(std::optional<T>& file, const std::optional<T>& given) {
    if (given) file = given;
}

void merge_flags(sharing::Flags& file, const sharing::Flags& given) {
    prefer_given(file.mig_strategy, given.mig_strategy);
    prefer_given(file.fail_on_init_error, given.fail_on_init_error);
    prefer_given(file.mps_root, given.mps_root);
    prefer_given(file.nvidia_driver_root, given.nvidia_driver_root);
    prefer_given(file.nvidia_dev_root, given.nvidia_dev_root);
    prefer_given(file.gdrcopy_enabled, given.gdrcopy_enabled);
    prefer_given(file.gds_enabled, given.gds_enabled);
    prefer_given(file.mofed_enabled, given.mofed_enabled);
    prefer_given(file.device_discovery_strategy, given.device_discovery_strategy);
    prefer_given(file.plugin.pass_device_specs, given.plugin.pass_device_specs);
    prefer_given(file.plugin.device_list_strategy, given.plugin.device_list_strategy);
    prefer_given(file.plugin.device_id_strategy, given.plugin.device_id_strategy);
    prefer_given(file.plugin.cdi_annotation_prefix, given.plugin.cdi_annotation_prefix);
    prefer_given(file.plugin.nvidia_ctk_path, given.plugin.nvidia_ctk_path);
    prefer_given(file.plugin.container_driver_root, given.plugin.container_driver_root);
    prefer_given(file.plugin.shared_devices_allocation_policy,
                 given.plugin.shared_devices_allocation_policy);
}

bool is_cdi(sharing::DeviceListStrategy strategy) {
    return strategy == sharing::DeviceListStrategy::kCdiAnnotations ||
           strategy == sharing::DeviceListStrategy::kCdiCri;
}

}  // namespace

bool Settings::uses_cdi() const { return std::ranges::any_of(grant.strategies, is_cdi); }

Result<Settings> settle(const Options& options, const sharing::Config& config) {
    Settings settings;
    settings.config = config;
    merge_flags(settings.config.flags, options.flags);
    if (options.imex_channel_ids) settings.config.imex_channel_ids = *options.imex_channel_ids;
    if (options.imex_required) settings.config.imex_required = *options.imex_required;

    const sharing::Flags& flags = settings.config.flags;
    if (flags.device_discovery_strategy == sharing::DiscoveryStrategy::kTegra) {
        return Error{ErrorCode::kUnsupported,
                     "deviceDiscoveryStrategy tegra is not served; use auto or nvml"};
    }
    settings.fail_on_init_error = flags.fail_on_init_error.value_or(true);
    settings.driver_root = flags.nvidia_driver_root.value_or("/");
    settings.dev_root = flags.nvidia_dev_root.value_or(settings.driver_root);
    settings.container_driver_root = flags.plugin.container_driver_root.value_or("/driver-root");
    settings.policy = flags.plugin.shared_devices_allocation_policy.value_or(
        sharing::AllocationPolicy::kDistributed);

    sharing::GrantOptions& grant = settings.grant;
    if (flags.plugin.device_list_strategy) grant.strategies = *flags.plugin.device_list_strategy;
    grant.id_strategy = flags.plugin.device_id_strategy.value_or(sharing::DeviceIdStrategy::kUuid);
    grant.pass_device_specs = flags.plugin.pass_device_specs.value_or(false);
    grant.gdrcopy = flags.gdrcopy_enabled.value_or(false);
    grant.gds = flags.gds_enabled.value_or(false);
    grant.mofed = flags.mofed_enabled.value_or(false);
    grant.cdi_annotation_prefix =
        flags.plugin.cdi_annotation_prefix.value_or(grant.cdi_annotation_prefix);
    grant.dev_root = settings.dev_root;
    grant.imex_channel_ids = settings.config.imex_channel_ids;
    if (settings.uses_cdi() && (grant.gdrcopy || grant.gds || grant.mofed)) {
        return Error{ErrorCode::kUnsupported,
                     "gdrcopyEnabled, gdsEnabled and mofedEnabled are not served by a CDI "
                     "deviceListStrategy; use envvar or volume-mounts"};
    }
    return settings;
}

}  // namespace aliquot::agent
