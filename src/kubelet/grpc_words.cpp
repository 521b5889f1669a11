// SPDX-License-Identifier: Apache-2.0
#include "kubelet/grpc_words.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel_posix.h>

#include <mutex>

#include "base/log.h"

namespace aliquot::kubelet {
namespace {

constexpr std::size_t kMessageLimit = 1024;

grpc::StatusCode code_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidInput:
            return grpc::StatusCode::INVALID_ARGUMENT;
        case ErrorCode::kNotFound:
            return grpc::StatusCode::NOT_FOUND;
        case ErrorCode::kConflict:
            return grpc::StatusCode::ABORTED;
        case ErrorCode::kUnsupported:
            return grpc::StatusCode::FAILED_PRECONDITION;
        case ErrorCode::kPermission:
            return grpc::StatusCode::PERMISSION_DENIED;
        case ErrorCode::kUnavailable:
            return grpc::StatusCode::UNAVAILABLE;
        case ErrorCode::kInternal:
            break;
    }
    return grpc::StatusCode::INTERNAL;
}

ErrorCode code_of(grpc::StatusCode code) {
    switch (code) {
        case grpc::StatusCode::INVALID_ARGUMENT:
        case grpc::StatusCode::OUT_OF_RANGE:
            return ErrorCode::kInvalidInput;
        case grpc::StatusCode::NOT_FOUND:
            return ErrorCode::kNotFound;
        case grpc::StatusCode::ABORTED:
        case grpc::StatusCode::ALREADY_EXISTS:
            return ErrorCode::kConflict;
        case grpc::StatusCode::UNIMPLEMENTED:
        case grpc::StatusCode::FAILED_PRECONDITION:
            return ErrorCode::kUnsupported;
        case grpc::StatusCode::PERMISSION_DENIED:
        case grpc::StatusCode::UNAUTHENTICATED:
            return ErrorCode::kPermission;
        default:
            return ErrorCode::kUnavailable;
    }
}

void log_of_grpc(gpr_log_func_args* event) {
    const std::string_view text = event->message;
    if (event->severity == GPR_LOG_SEVERITY_ERROR) log::warning("grpc", {{"message", text}});
}

void log_of_protobuf(google::protobuf::LogLevel /*level*/, const char* /*file*/, int /*line*/,
                     const std::string& text) {
    log::debug("protobuf", {{"message", text}});  // a peer can provoke any number of these
}

}  // namespace

grpc::Status to_status(const Error& error) {
    return {code_of(error.code), error.message.substr(0, kMessageLimit)};
}

Error from_status(const grpc::Status& status, const std::string& subject) {
    const std::string words = status.error_message().empty()
                                  ? "gRPC status " + std::to_string(status.error_code())
                                  : status.error_message();
    return {code_of(status.error_code()), subject + ": " + words.substr(0, kMessageLimit)};
}

std::shared_ptr<grpc::Channel> channel_over(Descriptor connection, int receive_limit_bytes) {
    grpc::ChannelArguments arguments;
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    arguments.SetMaxReceiveMessageSize(receive_limit_bytes);
    arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
    return grpc::CreateCustomInsecureChannelFromFd("localhost", connection.release(), arguments);
}

void set_deadline(grpc::ClientContext& context, std::chrono::milliseconds timeout) {
    context.set_deadline(std::chrono::system_clock::now() + timeout);
}

void adopt_grpc_log() {
    static std::once_flag once;
    std::call_once(once, [] {
        gpr_set_log_function(log_of_grpc);
        google::protobuf::SetLogHandler(log_of_protobuf);
    });
}

}  // namespace aliquot::kubelet
