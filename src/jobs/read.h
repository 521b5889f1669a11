// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "document/value.h"
#include "jobs/request.h"

namespace aliquot::jobs {

/// Reads a request from JSON or YAML: one mapping of the names of Request ("namespace" for in_namespace); what is
/// left out keeps its default.
/// errors   kInvalidInput: no such text; a key that is not known, or a value of another kind, with its path
Result<Request> read(std::string_view text);
Result<Request> read(const document::Value& value);

/// Whether values of variables are told, which may be secrets.
enum class Secrets : std::uint8_t { kTell, kHide };

/// The fields that are not as by default, in a fixed order.
document::Value to_document(const Request& request, Secrets secrets);

/// "gpu_count: 1 was asked for before, now 2": the fields in which two requests differ.
std::vector<std::string> differences(const Request& before, const Request& now);

}  // namespace aliquot::jobs
