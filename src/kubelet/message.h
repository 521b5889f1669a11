// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"

namespace google::protobuf {
class MessageLite;
}

namespace aliquot::kubelet {

/// Reads a message that a peer sent; protobuf's own words about it go to the debug log.
/// returns  false: the bytes are no such message
bool parse(std::string_view bytes, google::protobuf::MessageLite& message);

/// As parse(), for an answer. `subject` begins the error.
/// errors   kUnavailable: the peer answered something else
Result<Done> parse_answer(std::string_view bytes, google::protobuf::MessageLite& message,
                          std::string_view subject);

}  // namespace aliquot::kubelet
