// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/local_channel.h"

#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include "kubelet/message.h"
#include "kubelet/unix_socket.h"

namespace aliquot::sim {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStopLook{50};
constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLastPause{2000};

std::string_view code_name(rpc::Code code) {
    constexpr std::array<std::string_view, 17> kNames = {
        "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
        "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
        "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
        "DataLoss", "Unauthenticated"};
    const auto index = static_cast<std::size_t>(code);
    return index < kNames.size() ? kNames[index] : "Unknown";
}

Result<std::shared_ptr<rpc::Client>> connect(const std::string& socket) {
    auto connection = kubelet::connect_unix(socket);
    if (!connection) return std::move(connection).error();
    auto client = rpc::Client::start(*std::move(connection));
    if (!client) return std::move(client).error();
    return std::shared_ptr<rpc::Client>(*std::move(client));
}

/// False: stopped, or the time is over.
bool pause_until(Clock::time_point end, Clock::time_point deadline, const Stopped& stopped) {
    while (Clock::now() < end) {
        if (Clock::now() >= deadline || stopped()) return false;
        const auto next = std::min({end, deadline, Clock::now() + kStopLook});
        std::this_thread::sleep_until(next);
    }
    return Clock::now() < deadline && !stopped();
}

bool wait_ready(rpc::Client& client, Clock::time_point deadline, const Stopped& stopped) {
    while (client.open() && Clock::now() < deadline && !stopped()) {
        if (client.wait_ready(kStopLook)) return true;
    }
    return false;
}

rpc::Status closing() { return {rpc::Code::kCancelled, "grpc: the client connection is closing"}; }

}  // namespace

Result<std::shared_ptr<LocalChannel>> LocalChannel::dial(const std::string& socket,
                                                         milliseconds timeout,
                                                         const Stopped& stopped) {
    const auto deadline = Clock::now() + timeout;
    milliseconds pause = kFirstPause;
    do {
        const auto next = Clock::now() + pause;
        if (auto client = connect(socket); client && wait_ready(**client, deadline, stopped)) {
            return std::shared_ptr<LocalChannel>(new LocalChannel(socket, *std::move(client)));
        }
        if (!pause_until(next, deadline, stopped)) break;
        pause = std::min(pause * 2, kLastPause);
    } while (true);
    return Error{ErrorCode::kUnavailable,
                 "failed to dial device plugin: context deadline exceeded"};
}

LocalChannel::LocalChannel(std::string socket, std::shared_ptr<rpc::Client> client)
    : socket_(std::move(socket)), client_(std::move(client)) {}

LocalChannel::~LocalChannel() { close(); }

rpc::Status LocalChannel::call(const std::string& path,
                               const google::protobuf::MessageLite& request, milliseconds timeout,
                               google::protobuf::MessageLite& answer) {
    const auto client = live();
    if (!client) return {rpc::Code::kUnavailable, "connection error: " + client.error().message};
    if (!*client) return closing();
    std::string bytes;
    auto status = (*client)->call(path, request.SerializeAsString(), timeout, bytes);
    if (status.ok() && !kubelet::parse(bytes, answer))
        return {rpc::Code::kInternal, "grpc: failed to unmarshal the received message"};
    return status;
}

rpc::Status LocalChannel::watch(const std::string& path,
                                const google::protobuf::MessageLite& request,
                                const std::function<void(const std::string&)>& on_message) {
    const auto client = live();
    if (!client) return {rpc::Code::kUnavailable, "connection error: " + client.error().message};
    if (!*client) return closing();
    return (*client)->watch(path, request.SerializeAsString(), on_message);
}

void LocalChannel::close() {
    const std::lock_guard lock(mutex_);
    for (const auto& one : former_) {
        if (const auto client = one.lock()) client->close();
    }
    former_.clear();
    if (client_) client_->close();
    client_.reset();
}

/// Empty: closed.
Result<std::shared_ptr<rpc::Client>> LocalChannel::live() {
    const std::lock_guard lock(mutex_);
    if (!client_ || client_->open()) return client_;
    auto again = connect(socket_);
    if (!again) return again;
    std::erase_if(former_, [](const auto& one) { return one.expired(); });
    former_.push_back(std::exchange(client_, *std::move(again)));
    return client_;
}

std::string rpc_text(const rpc::Status& status) {
    return std::string("rpc error: code = ")
        .append(code_name(status.code))
        .append(" desc = ")
        .append(status.message);
}

}  // namespace aliquot::sim
