// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace aliquot::sim {

/// A ResourceClaim of a pod, and whose devices its allocation has.
struct ClaimReference {
    std::string claim_namespace;
    std::string name;
    std::string uid;
    std::vector<std::string> drivers;
};

/// A device of a claim, ready for the containers that name one of its requests.
struct PreparedDevice {
    std::string claim_uid;
    std::string driver;
    std::vector<std::string> requests;  // empty: all
    std::string pool;
    std::string device;
    std::string share;  // a UUID; empty: the whole device
    std::vector<std::string> cdi_devices;
};

/// What a container has of one claim.
struct ClaimUse {
    std::string claim_namespace;
    std::string claim;
    std::vector<PreparedDevice> devices;
};

}  // namespace aliquot::sim
