// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aliquot::guard {

/// In the child of a fork.
void forget_vmm();

}  // namespace aliquot::guard
