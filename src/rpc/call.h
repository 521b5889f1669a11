// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::rpc {

struct CallOptions {
    std::string path;  // "/v1beta1.Registration/Register"
    std::chrono::milliseconds timeout{};
    std::size_t answer_bytes = 4 << 20;  // at most
    int cancel = -1;                     // a descriptor: once it is readable, the call ends
    std::string subject;                 // begins every error: "Register at /var/.../kubelet.sock"
};

/// One call with one request and one answer, over a connection of its own: the bytes of the
/// messages, in and out. Waits at most `timeout`. Thread-safe.
/// errors   by the peer's status (see to_error); kUnavailable: no answer in time, cancelled, the
///          connection broke, or the peer speaks no gRPC
Result<std::string> call(Descriptor connection, std::string_view request,
                         const CallOptions& options);

}  // namespace aliquot::rpc
