// SPDX-License-Identifier: Apache-2.0
#include "os/errno_error.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace aliquot::os {

Error error_from_errno(int number, std::string_view subject) {
    ErrorCode code = ErrorCode::kUnavailable;
    if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
    if (number == EACCES || number == EPERM || number == EROFS) code = ErrorCode::kPermission;
    if (number == EEXIST || number == EBUSY || number == ENOTEMPTY) code = ErrorCode::kConflict;
    return {code, std::string(subject) + ": " + std::generic_category().message(number)};
}

}  // namespace aliquot::os
