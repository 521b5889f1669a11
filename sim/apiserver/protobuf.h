// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/apiserver/types.h"

namespace aliquot::sim::apiserver {

/// What typed Go clients send for built-in kinds.
inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

/// A body of that content type as the JSON that says the same, with apiVersion and kind. The numbers
/// of the fields are those of types.tsv.
///
/// errors   kInvalidInput: no such message, cut off, or nested deeper than 100;
///          kNotFound: a kind whose numbers are not known here (definitions of custom resources)
Result<Value> read_protobuf(std::string_view bytes);

}  // namespace aliquot::sim::apiserver
