// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "jobs/request.h"

namespace aliquot::jobs {

/// The request's name, or "gpu-" + task id + "-" + eight hexadecimal digits of all its fields: the same request has
/// the same name, so that asking twice makes one job. A DNS label: at most 63 characters.
std::string job_name(const Request& request);

/// A text as a DNS label: other characters become '-'; "job" when nothing is left.
std::string dns_label(std::string_view text);

/// A text as a label's value: other characters become '-', at most 63.
std::string label_value(std::string_view text);

}  // namespace aliquot::jobs
