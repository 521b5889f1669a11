// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/local_channel.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace aliquot::sim {
namespace {

constexpr auto kStopLook = std::chrono::milliseconds(50);
constexpr int kFirstBackoffMilliseconds = 200;
constexpr int kLastBackoffMilliseconds = 2000;

std::string_view code_name(grpc::StatusCode code) {
    constexpr std::array<std::string_view, 17> kNames = {
        "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
        "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
        "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
        "DataLoss", "Unauthenticated"};
    const auto index = static_cast<std::size_t>(code);
    return index < kNames.size() ? kNames[index] : "Unknown";
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> dial_local(const std::string& socket,
                                                  std::chrono::milliseconds timeout,
                                                  const Stopped& stopped) {
    grpc::ChannelArguments arguments;
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMilliseconds);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstBackoffMilliseconds);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastBackoffMilliseconds);
    auto channel =
        grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
    const auto deadline = std::chrono::system_clock::now() + timeout;
    while (true) {
        const grpc_connectivity_state state = channel->GetState(true);
        if (state == GRPC_CHANNEL_READY) return channel;
        const auto now = std::chrono::system_clock::now();
        if (now >= deadline || stopped()) {
            return Error{ErrorCode::kUnavailable,
                         "failed to dial device plugin: context deadline exceeded"};
        }
        channel->WaitForStateChange(
            state, std::min<std::chrono::system_clock::time_point>(deadline, now + kStopLook));
    }
}

std::string rpc_text(const grpc::Status& status) {
    return std::string("rpc error: code = ")
        .append(code_name(status.error_code()))
        .append(" desc = ")
        .append(status.error_message());
}

}  // namespace aliquot::sim
