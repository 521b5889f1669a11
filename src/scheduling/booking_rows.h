// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scheduling/bookings.h"

namespace aliquot::scheduling {

/// A row for each GPU and resource, by node.
std::vector<GpuBooking> booking_rows(const Bookings& bookings);

}  // namespace aliquot::scheduling
