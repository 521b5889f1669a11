// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lint/object.h"

/// What a YAML or JSON document is for, by its keys alone. Inside src/lint only.
namespace aliquot::lint {

Role role_of(const Value& node);

/// The chart whose values these are; empty: none that we know.
std::string chart_of(const Value& node);

/// Whether a chart of the name `key` is one of NVIDIA's that we know.
bool is_gpu_chart_name(std::string_view key);

/// Whether a document may be the values of a chart around others.
bool holds_charts(const Value& node);

}  // namespace aliquot::lint
