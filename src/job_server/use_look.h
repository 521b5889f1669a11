// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cost/recorder.h"

namespace aliquot::job_server {

/// What processes and GPUs have used since they were asked last. What could not be measured is absent.
struct UseLook {
    std::map<std::string, cost::Use> devices;  // by UUID of the GPU or MIG device: all of it
    struct Process {
        std::uint32_t pid = 0;
        std::string device;          // UUID, as above
        cost::Use use;               // busy_us of the device's time
        unsigned media_percent = 0;  // of its encoder or decoder, the busier one
    };
    std::vector<Process> processes;
    std::set<std::string> told_apart{};               // devices whose busy time is told by process
    std::map<std::string, unsigned> media_percent{};  // of devices: encoder or decoder, the busier
};

}  // namespace aliquot::job_server
