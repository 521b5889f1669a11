// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace aliquot::sim {

/// Asked now and then by whoever waits; true: give up.
using Stopped = std::function<bool()>;

/// Dials a unix socket as kubelet does: no TLS, authority "localhost", a connection of its own (two
/// dials never share one), and it waits until the other side speaks HTTP/2.
/// errors   kUnavailable: not within `timeout`, or stopped
Result<std::shared_ptr<grpc::Channel>> dial_local(const std::string& socket,
                                                  std::chrono::milliseconds timeout,
                                                  const Stopped& stopped);

/// A failed call in the words of kubelet's gRPC: "rpc error: code = Unavailable desc = ...".
std::string rpc_text(const grpc::Status& status);

}  // namespace aliquot::sim
