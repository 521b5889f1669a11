// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard_region/limits.h"
#include "guard_region/meter.h"
#include "guard_region/record.h"

namespace aliquot::guard_region {

/// One device of a container, for people and metrics. Bytes, nanoseconds.
struct DeviceStatus {
    std::string uuid;
    Limits limits;
    std::uint64_t used_bytes = 0;  // tracked and overhead of the living
    std::uint64_t tracked_bytes = 0;
    std::uint64_t overhead_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t denied = 0;  // requests
    std::uint64_t denied_bytes = 0;
    std::uint64_t gpu_ns = 0;
    std::uint64_t throttled_ns = 0;
    std::uint64_t overruns = 0;
    unsigned processes = 0;                     // guarded ones that use it
    unsigned unguarded = 0;                     // that use it and have not joined
    std::optional<std::uint64_t> driver_bytes;  // what the driver says that all of them hold
    std::vector<std::string_view> remarks;      // "no_arbiter", ...
};

/// One container.
struct RegionStatus {
    std::string id;
    std::string pod_namespace;  // of Kubernetes; empty: not known (yet), or none
    std::string pod;
    std::string container;
    std::string resource;
    std::vector<std::string> device_ids;
    bool fail_open = false;
    std::string problem;           // why the ledger cannot be read; empty: it can
    std::uint32_t recoveries = 0;  // of the ledger's lock
    std::vector<DeviceStatus> devices;
};

/// Names of the bits of abi::Remark, in order; unknown bits are left out.
std::vector<std::string_view> remark_names(std::uint32_t remarks);
/// What a remark means, for people; empty: no such remark.
std::string_view meaning_of(std::string_view remark);

/// Sums up one look. Pure.
/// settings   of the config: the limits that hold now; the names are taken from the record
RegionStatus make_status(const Record& record, const Settings& settings, const Reading& reading);

}  // namespace aliquot::guard_region
