// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace aliquot::os {

/// The Error for a failed system call on `subject`: maps ENOENT, EACCES/EPERM and the rest.
Error error_from_errno(int number, std::string_view subject);

}  // namespace aliquot::os
