// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "document/value.h"
#include "findings/finding.h"
#include "grant/limits.h"
#include "grant/mechanism.h"

/// The node's sharing configuration: NVIDIA's `version: v1` file and our extensions of it.
namespace aliquot::sharing {

enum class MigStrategy : std::uint8_t { kNone, kSingle, kMixed };
enum class DeviceListStrategy : std::uint8_t { kEnvvar, kVolumeMounts, kCdiAnnotations, kCdiCri };
enum class DeviceIdStrategy : std::uint8_t { kUuid, kIndex };
enum class DiscoveryStrategy : std::uint8_t { kAuto, kNvml, kTegra };
enum class AllocationPolicy : std::uint8_t { kDistributed, kPacked };

/// `flags`. An empty optional: not in the file, so that environment, flags and defaults can apply
/// in NVIDIA's order (flag, environment, file, default).
struct Flags {
    std::optional<MigStrategy> mig_strategy;
    std::optional<bool> fail_on_init_error;
    std::optional<std::string> mps_root;
    std::optional<std::string> nvidia_driver_root;
    std::optional<std::string> nvidia_dev_root;
    std::optional<bool> gdrcopy_enabled;
    std::optional<bool> gds_enabled;
    std::optional<bool> mofed_enabled;
    std::optional<bool> use_node_feature_api;
    std::optional<DiscoveryStrategy> device_discovery_strategy;
    struct Plugin {
        std::optional<bool> pass_device_specs;
        std::optional<std::vector<DeviceListStrategy>> device_list_strategy;
        std::optional<DeviceIdStrategy> device_id_strategy;
        std::optional<std::string> cdi_annotation_prefix;
        std::optional<std::string> nvidia_ctk_path;
        std::optional<std::string> container_driver_root;
        std::optional<AllocationPolicy> shared_devices_allocation_policy;
    } plugin;
    struct Gfd {
        std::optional<bool> oneshot;
        std::optional<bool> no_timestamp;
        std::optional<std::int64_t> sleep_interval_ns;
        std::optional<std::string> output_file;
        std::optional<std::string> machine_type_file;
    } gfd;
};

/// Which GPUs an entry of sharing.*.resources is about.
struct DeviceSelector {
    bool all = true;
    std::optional<unsigned> first;    // `devices: 2`: the first two by index
    std::vector<unsigned> indices;    // `devices: [0, 1]`
    std::vector<std::string> uuids;   // "GPU-...": exact
    std::vector<std::string> models;  // ours: "*A100*", "NVIDIA A2"; * and ?, case does not matter
    std::vector<std::string> mig;     // "0:1" or "MIG-...": kept; used with MIG strategies
};

/// One entry of sharing.timeSlicing.resources or sharing.mps.resources.
struct SharedResource {
    std::string name;       // "nvidia.com/gpu", with domain
    unsigned replicas = 2;  // 2 or more
    DeviceSelector devices;
    std::optional<std::string> rename;  // with domain
    grant::Limits limits;               // ours: of one replica
    std::vector<grant::Limits> shares;  // ours, MPS: one per replica; empty: all alike
    document::Mark mark;                // where the entry stands
};

/// `sharing.guard`, ours: how limits of time-slicing are kept (docs/guide/guard.md).
struct GuardConfig {
    bool fail_open = false;                    // without a guard: containers run without limits
    bool kill = false;                         // the watchdog ends processes; else it tells of them
    std::optional<double> slack_percent;       // of the limit, 0 to 100
    std::optional<std::uint64_t> slack_bytes;  // neither: the default of guard_region::Slack
    bool kernel_limit = false;  // let the driver's kernel module hold the limit, where it can
    friend bool operator==(const GuardConfig&, const GuardConfig&) = default;
};

struct Sharing {
    grant::Mechanism mechanism = grant::Mechanism::kNone;  // or kTimeSlicing, kMps
    bool rename_by_default = false;
    bool fail_requests_greater_than_one = false;  // NVIDIA's default for MPS is true
    std::vector<SharedResource> resources;
    GuardConfig guard;
};

struct Config {
    Flags flags;
    Sharing sharing;
    std::vector<unsigned> imex_channel_ids;  // [] or [0]
    bool imex_required = false;
};

/// How to read.
enum class Compatibility : std::uint8_t {
    kStrict,  // everything that is not understood is an error
    kNvidia,  // as NVIDIA's plugin reads it: unknown keys ignored, `devices` and `rename`
              // discarded, MPS wins over time-slicing, ... each with a warning that says what was
              // ignored
};

struct ReadConfig {
    std::optional<Config> config;  // empty when there is an error
    std::vector<findings::Finding> findings;
};

/// Reads one configuration file. Any bytes; never throws.
/// file   only for the findings
ReadConfig read_config(std::string_view file, std::string_view text, Compatibility compatibility);

/// Reads whatever a person keeps such a configuration in: the file itself, a ConfigMap (or a List
/// or several documents of them) whose data holds it, or gpu-operator Helm values beside it.
/// Findings have places of the outer file. For `aliquot config check`.
std::vector<findings::Finding> check_config_text(std::string_view file, std::string_view text,
                                                 Compatibility compatibility);

}  // namespace aliquot::sharing
