// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "telemetry/snapshot.h"

/// Snapshots for tests and the benchmark; what they hold is made up, their sums are right.
namespace aliquot::exposition {

telemetry::Snapshot exclusive_a2();      // one container has the GPU
telemetry::Snapshot time_sliced_four();  // an A10G in four, one guarded, and a process of the host
telemetry::Snapshot mps_two();           // a T4, with limits; one container has ended
telemetry::Snapshot mig_h100();          // three instances: alone, shared by two, empty
telemetry::Snapshot mig_a100();          // no driver tells its use
telemetry::Snapshot driver_lost();       // one GPU has fallen off the bus, the other is well
telemetry::Snapshot degraded();          // pods known by uid only, some not at all
telemetry::Snapshot gtx_1070();          // reports little
/// gpus of eight with as many containers on each.
telemetry::Snapshot crowd(unsigned gpus, unsigned pods_each);
/// Anything the contract allows.
telemetry::Snapshot random_scene(unsigned seed);

struct NamedScene {
    std::string_view name;
    telemetry::Snapshot (*make)();
};
/// The hand-made ones.
std::vector<NamedScene> scenes();

}  // namespace aliquot::exposition
