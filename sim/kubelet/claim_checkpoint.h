// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/pod_claims.h"

namespace aliquot::sim {

/// What kubelet keeps of one ResourceClaim over a restart.
struct ClaimEntry {
    ClaimReference reference;    // its drivers are the keys of `devices`
    std::set<std::string> pods;  // uids
    std::map<std::string, std::vector<PreparedDevice>>
        devices;  // by driver; none: not prepared yet
};

/// The text of dra_manager_state, byte for byte as kubelet 1.36 writes it.
std::string to_json(const std::vector<ClaimEntry>& claims);

/// Reads our files and kubelet's.
/// errors   kInvalidInput: not of this shape, or its checksum is of another text: kubelet does not start then
Result<std::vector<ClaimEntry>> parse_claim_checkpoint(std::string_view text);

}  // namespace aliquot::sim
