// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "claims/claim.h"

namespace aliquot::claims {

/// What the devices chosen so far say about one constraint of a claim.
class ConstraintState {
public:
    explicit ConstraintState(const Constraint& constraint) : constraint_(&constraint) {}

    /// Takes the device in; why it does not fit, else empty. Devices of other requests always fit.
    std::string add(const Device& device, const std::string& request,
                    const std::string& subrequest);
    /// Undoes the last add() that took this one in.
    void remove(const std::string& request, const std::string& subrequest);

private:
    const Constraint* constraint_;
    std::vector<cel::Value> values_;
};

}  // namespace aliquot::claims
