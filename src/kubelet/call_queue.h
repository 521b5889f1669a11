// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>

namespace grpc {
class ServerCompletionQueue;
}

namespace aliquot::kubelet {

/// What is told when something that was begun on a CallQueue has ended.
class Event {
public:
    virtual ~Event() = default;
    virtual void happen(bool ok) = 0;
};

/// gRPC's queue of ended operations, with one rule added: once it is closed nothing begins any
/// more (gRPC aborts the process otherwise). Thread-safe.
class CallQueue {
public:
    explicit CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue);
    ~CallQueue();
    CallQueue(const CallQueue&) = delete;
    CallQueue& operator=(const CallQueue&) = delete;

    /// Calls `operation`, which begins one gRPC operation with an Event* as its tag. False, and
    /// nothing is called, when the queue is closed.
    bool begin(const std::function<void(grpc::ServerCompletionQueue&)>& operation);

    /// Lets events happen until the queue is closed and nothing is under way. For one thread: of
    /// two, each call wakes both, and they dispute who polls (measured over the socket: Allocate
    /// 0.16 ms with two, 0.13 ms with one). So nothing that happens may take long.
    void run();

    void close();

private:
    const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
    std::mutex mutex_;
    bool closed_ = false;
};

}  // namespace aliquot::kubelet
