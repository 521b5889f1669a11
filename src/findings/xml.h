// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::findings {

/// Text between tags or in an attribute: what XML cannot hold becomes a blank, a line break stays one.
std::string xml_escaped(std::string_view text);

}  // namespace aliquot::findings
