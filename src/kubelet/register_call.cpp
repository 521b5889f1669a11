// SPDX-License-Identifier: Apache-2.0
#include "kubelet/register_call.h"

#include <mutex>
#include <thread>
#include <utility>

#include "api/kubelet/deviceplugin.pb.h"
#include "base/wake.h"
#include "kubelet/to_proto.h"
#include "rpc/call.h"

namespace aliquot::kubelet {
namespace {

constexpr std::size_t kAnswerBytes = 64 << 10;  // the answer is an Empty

class ThreadedRegisterCall final : public RegisterCall {
public:
    ThreadedRegisterCall(Descriptor connection, std::string request, std::string subject,
                         std::chrono::milliseconds timeout, std::function<void()> on_done)
        : request_(std::move(request)),
          options_{.path = "/v1beta1.Registration/Register",
                   .timeout = timeout,
                   .answer_bytes = kAnswerBytes,
                   .cancel = cancel_.descriptor(),
                   .subject = std::move(subject)},
          on_done_(std::move(on_done)),
          connection_(std::move(connection)),
          thread_([this] { run(); }) {}

    ~ThreadedRegisterCall() override { cancel_.notify(); }
    ThreadedRegisterCall(const ThreadedRegisterCall&) = delete;
    ThreadedRegisterCall& operator=(const ThreadedRegisterCall&) = delete;

    std::optional<Result<Done>> result() const override {
        const std::scoped_lock lock(mutex_);
        return result_;
    }

private:
    void run() {
        const auto answer = rpc::call(std::move(connection_), request_, options_);
        {
            const std::scoped_lock lock(mutex_);
            result_ = answer ? Result<Done>(Done{}) : Result<Done>(answer.error());
        }
        on_done_();
    }

    const Wake cancel_;
    const std::string request_;
    const rpc::CallOptions options_;
    const std::function<void()> on_done_;
    Descriptor connection_;  // of the thread
    mutable std::mutex mutex_;
    std::optional<Result<Done>> result_;
    std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace

std::unique_ptr<RegisterCall> RegisterCall::start(
    Descriptor connection, const std::string& resource, const std::string& socket_name,
    std::string subject, std::chrono::milliseconds timeout, std::function<void()> on_done) {
    return std::make_unique<ThreadedRegisterCall>(
        std::move(connection), register_request(resource, socket_name).SerializeAsString(),
        std::move(subject), timeout, std::move(on_done));
}

}  // namespace aliquot::kubelet
