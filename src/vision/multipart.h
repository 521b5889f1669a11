// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::vision {

/// One part of a form. Its content is a view into the body.
struct FormPart {
    std::string name;
    std::string file_name;  // empty: a plain field
    std::string content_type;
    std::string_view content;
};

struct FormLimits {
    std::size_t most_parts = 64;
    std::size_t most_head_bytes = 4096;  // of one part
};

/// Splits the body of a form (multipart/form-data). Pure.
/// content_type   the request's, with the boundary
/// errors         kInvalidInput: another type, no boundary, a part that does not end, more than the limits
/// source: RFC 7578, RFC 2046 section 5.1.1
Result<std::vector<FormPart>> read_form(std::string_view content_type, std::string_view body,
                                        const FormLimits& limits = {});

/// A parameter of a header's value: "x" of `form-data; name="x"`. Empty: there is none.
std::string header_parameter(std::string_view value, std::string_view name);

}  // namespace aliquot::vision
