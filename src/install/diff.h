// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::install {

/// An object as people read it: YAML without what the server keeps for itself (managedFields,
/// resourceVersion, uid, creationTimestamp, generation, status). A Secret's data are left out.
std::string readable(std::string_view json);

/// What changes from one text to the other, line by line: " same", "-old", "+new", with three lines
/// around each change; empty when nothing does. A change of more than 5000 lines is shown whole.
std::string line_diff(std::string_view before, std::string_view after);

}  // namespace aliquot::install
