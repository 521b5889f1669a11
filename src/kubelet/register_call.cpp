// SPDX-License-Identifier: Apache-2.0
#include "kubelet/register_call.h"

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <thread>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "kubelet/grpc_words.h"
#include "kubelet/to_proto.h"

namespace aliquot::kubelet {
namespace {

constexpr int kAnswerBytes = 64 << 10;  // the answer is an Empty

class GrpcRegisterCall final : public RegisterCall {
public:
    GrpcRegisterCall(Descriptor connection, v1beta1::RegisterRequest request, std::string subject,
                     std::chrono::milliseconds timeout, std::function<void()> on_done)
        : subject_(std::move(subject)),
          request_(std::move(request)),
          on_done_(std::move(on_done)),
          stub_(v1beta1::Registration::NewStub(channel_over(std::move(connection), kAnswerBytes))) {
        set_deadline(context_, timeout);
        thread_ = std::jthread([this] { run(); });
    }

    ~GrpcRegisterCall() override { context_.TryCancel(); }
    GrpcRegisterCall(const GrpcRegisterCall&) = delete;
    GrpcRegisterCall& operator=(const GrpcRegisterCall&) = delete;

    std::optional<Result<Done>> result() const override {
        const std::scoped_lock lock(mutex_);
        return result_;
    }

private:
    void run() {
        v1beta1::Empty response;
        const auto status = stub_->Register(&context_, request_, &response);
        {
            const std::scoped_lock lock(mutex_);
            if (status.ok())
                result_ = Done{};
            else
                result_ = from_status(status, subject_);
        }
        on_done_();
    }

    const std::string subject_;
    const v1beta1::RegisterRequest request_;
    const std::function<void()> on_done_;
    const std::unique_ptr<v1beta1::Registration::Stub> stub_;
    grpc::ClientContext context_;
    mutable std::mutex mutex_;
    std::optional<Result<Done>> result_;
    std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace

std::unique_ptr<RegisterCall> RegisterCall::start(
    Descriptor connection, const std::string& resource, const std::string& socket_name,
    std::string subject, std::chrono::milliseconds timeout, std::function<void()> on_done) {
    return std::make_unique<GrpcRegisterCall>(std::move(connection),
                                              register_request(resource, socket_name),
                                              std::move(subject), timeout, std::move(on_done));
}

}  // namespace aliquot::kubelet
