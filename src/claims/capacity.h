// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "claims/device.h"

namespace aliquot::claims {

/// What a request takes of one capacity that is shared: what it asks for, or the default of the policy, or
/// all of it; raised to the least, to the next valid value or to the next step.
/// errors   kInvalidInput: "requested 9Gi, 8Gi at most": more than the policy or the device allows
Result<Quantity> taken(const Capacity& capacity, const Quantity* requested);

/// Of every capacity of a shared device; of a device that goes to one claim nothing is taken, but it must
/// have what is asked for. By the names as the driver writes them: its own without domain.
/// errors   kInvalidInput: "capacity memory: ...": as above; a capacity that the device has not
Result<Amounts> taken_of(const Device& device, const std::string& driver, const Amounts& requested);

/// What is left of `capacity` holds `more`. All by names as the driver writes them.
/// Empty: yes. Else "capacity memory: 3Gi taken, 2Gi of 8Gi left".
std::string over_capacity(const Device& device, const std::string& driver, const Amounts& used,
                          const Amounts& more);

void add(Amounts& sum, const Amounts& more);
void subtract(Amounts& sum, const Amounts& less);

}  // namespace aliquot::claims
