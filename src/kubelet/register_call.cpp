// SPDX-License-Identifier: Apache-2.0
#include "kubelet/register_call.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>

#include "api/kubelet/deviceplugin.grpc.pb.h"
#include "kubelet/grpc_words.h"
#include "kubelet/to_proto.h"

namespace aliquot::kubelet {
namespace {

constexpr int kReceiveLimitBytes = 64 << 10;  // the answer is an Empty

class GrpcRegisterCall final : public RegisterCall {
public:
    GrpcRegisterCall(Descriptor connection, const std::string& resource,
                     const std::string& socket_name, std::string subject,
                     std::chrono::milliseconds timeout, std::function<void()> on_done)
        : subject_(std::move(subject)),
          on_done_(std::move(on_done)),
          stub_(v1beta1::Registration::NewStub(
              channel_over(std::move(connection), kReceiveLimitBytes))),
          request_(register_request(resource, socket_name)) {
        set_deadline(context_, timeout);
        stub_->async()->Register(&context_, &request_, &response_,
                                 [this](const grpc::Status& status) { finish(status); });
    }

    ~GrpcRegisterCall() override {
        context_.TryCancel();
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return left_; });
    }
    GrpcRegisterCall(const GrpcRegisterCall&) = delete;
    GrpcRegisterCall& operator=(const GrpcRegisterCall&) = delete;

    void cancel() override { context_.TryCancel(); }

    std::optional<Result<Done>> result() const override {
        const std::scoped_lock lock(mutex_);
        return result_;
    }

private:
    void finish(const grpc::Status& status) {
        {
            const std::scoped_lock lock(mutex_);
            if (status.ok())
                result_ = Done{};
            else
                result_ = from_status(status, subject_);
        }
        on_done_();
        const std::scoped_lock lock(mutex_);
        left_ = true;
        ended_.notify_all();
    }

    const std::string subject_;
    const std::function<void()> on_done_;
    const std::unique_ptr<v1beta1::Registration::Stub> stub_;
    grpc::ClientContext context_;
    const v1beta1::RegisterRequest request_;
    v1beta1::Empty response_;
    mutable std::mutex mutex_;
    std::condition_variable ended_;
    std::optional<Result<Done>> result_;
    bool left_ = false;  // the callback touches this object no more
};

}  // namespace

std::unique_ptr<RegisterCall> RegisterCall::start(
    Descriptor connection, const std::string& resource, const std::string& socket_name,
    std::string subject, std::chrono::milliseconds timeout, std::function<void()> on_done) {
    return std::make_unique<GrpcRegisterCall>(std::move(connection), resource, socket_name,
                                              std::move(subject), timeout, std::move(on_done));
}

}  // namespace aliquot::kubelet
