// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "lint/forms.h"

/// Scalars against the type and the values of their form. Inside src/lint only.
namespace aliquot::lint {

/// What is wrong with a scalar.
struct WrongValue {
    bool type = false;     // it is of another type; otherwise none of the values
    std::string expected;  // "true or false", "one of In, NotIn"
    std::string meant;     // the value that is nearly written; empty: none
};

/// Empty: right, a placeholder, or nothing that a form can tell.
std::optional<WrongValue> find_wrong_value(const FormNode& form, const Value& value);

/// Whether a schedule has the five fields of cron, each in its range, or is one of @daily and the like.
bool is_cron_schedule(std::string_view text);
/// "1h30m", "500ms", "0": as Go reads a duration.
bool is_go_duration(std::string_view text);

}  // namespace aliquot::lint
