// SPDX-License-Identifier: Apache-2.0
#include "kubelet/message.h"

#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>
#include <mutex>
#include <string>

#include "base/log.h"

namespace aliquot::kubelet {
namespace {

void log_of_protobuf(google::protobuf::LogLevel /*level*/, const char* /*file*/, int /*line*/,
                     const std::string& text) {
    log::debug("protobuf", {{"message", text}});  // a peer can provoke any number of these
}

}  // namespace

bool parse(std::string_view bytes, google::protobuf::MessageLite& message) {
    static std::once_flag once;
    std::call_once(once, [] { google::protobuf::SetLogHandler(log_of_protobuf); });
    return bytes.size() <= std::numeric_limits<int>::max() &&
           message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

Result<Done> parse_answer(std::string_view bytes, google::protobuf::MessageLite& message,
                          std::string_view subject) {
    if (parse(bytes, message)) return Done{};
    return Error{ErrorCode::kUnavailable, std::string(subject) + ": the answer of " +
                                              std::to_string(bytes.size()) + " bytes is no " +
                                              message.GetTypeName()};
}

}  // namespace aliquot::kubelet
