// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "kubelet/unix_socket.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

/// What all gRPC of this module shares: errors, channels, deadlines.
namespace aliquot::kubelet {

/// The one table from our errors to gRPC's. The message is cut to what kubelet's HTTP/2 headers
/// and an event's text can hold.
grpc::Status to_status(const Error& error);

/// A failed call as an Error: `subject` and the other side's words. UNAVAILABLE, DEADLINE_EXCEEDED
/// and RESOURCE_EXHAUSTED are kUnavailable.
Error from_status(const grpc::Status& status, const std::string& subject);

/// A channel over a connected socket, with authority "localhost". It does not connect anew.
std::shared_ptr<grpc::Channel> channel_over(Descriptor connection, int receive_limit_bytes);

void set_deadline(grpc::ClientContext& context, std::chrono::milliseconds timeout);

/// gRPC's and protobuf's own complaints become events of our log. Any number of times.
void adopt_grpc_log();

}  // namespace aliquot::kubelet
