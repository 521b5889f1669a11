// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "grant/grant.h"
#include "os/root.h"
#include "sim/cluster/environment.h"

namespace aliquot::sim::cluster {

/// What a container runtime makes of a grant: `up` stands in for it.
struct Injection {
    Environment environment;  // that the CDI devices add
    std::vector<std::string>
        gpus;  // uuids of GPUs and MIG devices that the container sees, by index
};

/// Carries a grant out: CDI names (fields and annotations) are looked up in the spec files of
/// /var/run/cdi and /etc/cdi, else NVIDIA_VISIBLE_DEVICES and the volume mounts say which GPUs.
/// errors   kNotFound: a CDI device that no file has; kInvalidInput: a CDI file that is none
Result<Injection> inject(const os::Root& root, const grant::Grant& grant,
                         const gpu::Inventory& inventory);

}  // namespace aliquot::sim::cluster
