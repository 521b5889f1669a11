// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "gpu/meters.h"
#include "nvml/inquiry.h"
#include "nvml/mig_devices.h"

namespace aliquot::nvml {

/// Room that the driver's lists of samples have needed so far: it is made for processes that come
/// and go between two calls.
struct SampleRoom {
    unsigned uses = 64;
    unsigned busy = 0;  // 0: not asked yet
};

/// Newer than `since_us`, oldest first. Empty optional: not kept, or the call failed.
std::optional<std::vector<gpu::BusySample>> read_busy_samples(Inquiry& inquiry, Topic topic,
                                                              std::uint64_t since_us,
                                                              SampleRoom& room);

/// Goes on with `samples`, which are newer than `since_us`, to the moment of the newest of `uses`,
/// when a sampling period has ended between the two readings: who divides the one by the other wants
/// both of the same time.
void catch_up(Inquiry& inquiry, Topic topic, std::uint64_t since_us,
              const std::vector<gpu::ProcessUse>& uses,
              std::optional<std::vector<gpu::BusySample>>& samples, SampleRoom& room);

/// Newer than `since_us`, oldest first; those are left out that cannot be true. Empty optional: not
/// reported (MIG), or the call failed.
std::optional<std::vector<gpu::ProcessUse>> read_uses(Inquiry& inquiry, std::uint64_t since_us,
                                                      SampleRoom& room);

/// Those of all lists of a GPU, one entry for each pid and instance. Empty optional: none of its
/// lists could be read.
/// mig             the GPU's MIG devices, which are asked when the GPU does not tell of theirs
/// memory_in_use   some of its instances' memory is taken, so there should be processes
std::optional<std::vector<gpu::MeteredProcess>> read_processes(Inquiry& inquiry,
                                                               const std::vector<MigHandle>& mig,
                                                               bool memory_in_use);

/// Leaves out uses of pids that are in neither list: some drivers tell of processes that are not.
void keep_known(const std::set<std::uint32_t>& before,
                const std::optional<std::vector<gpu::MeteredProcess>>& now,
                std::vector<gpu::ProcessUse>& uses);

}  // namespace aliquot::nvml
