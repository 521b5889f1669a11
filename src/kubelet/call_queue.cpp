// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_queue.h"

#include <grpcpp/completion_queue.h>

namespace aliquot::kubelet {

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)) {}

CallQueue::~CallQueue() = default;

bool CallQueue::begin(const std::function<void(grpc::ServerCompletionQueue&)>& operation) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return false;
    operation(*queue_);
    return true;
}

void CallQueue::run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<Event*>(tag)->happen(ok);
}

void CallQueue::close() {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    queue_->Shutdown();
}

}  // namespace aliquot::kubelet
