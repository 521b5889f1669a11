// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aliquot::guard {

/// From now on the child of a fork begins anew, also where the fork comes while another thread holds
/// one of our locks. Before the first of them is taken.
void watch_forks();

/// What is done in the child (session.cpp).
void begin_anew();

}  // namespace aliquot::guard
