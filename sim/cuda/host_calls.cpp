// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/host_calls.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/objects.h"

namespace aliquot::sim {
namespace {

struct Call {
    Queue* queue;
    std::uint64_t position;
    std::function<void()> function;
};

struct Calls {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Call> waiting;
    std::uint64_t given = 0;
    std::uint64_t done = 0;
    bool running = false;
};

Calls& calls() { return immortal<Calls>(); }

[[noreturn]] void serve() {
    Calls& all = calls();
    std::unique_lock lock(all.mutex);
    for (;;) {
        all.changed.wait(lock, [&] { return !all.waiting.empty(); });
        const Call call = std::move(all.waiting.front());
        all.waiting.pop_front();
        lock.unlock();
        (void)call.queue->wait(call.position);
        call.function();
        lock.lock();
        ++all.done;
        all.changed.notify_all();
    }
}

/// The thread takes no signal that the program may wait for.
void start(Calls& all) {
    sigset_t every{};
    sigset_t before{};
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_SETMASK, &every, &before);
    std::thread(serve).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    all.running = true;
}

}  // namespace

void add_host_call(CUstream_st& stream, std::function<void()> call) {
    Calls& all = calls();
    const std::lock_guard lock(all.mutex);
    if (!all.running) start(all);
    all.waiting.push_back({.queue = &stream.context->device->queue,
                           .position = end_of(stream),
                           .function = std::move(call)});
    stream.host_calls = ++all.given;
    all.changed.notify_all();
}

bool host_calls_done(std::uint64_t number) {
    if (number == 0) return true;
    Calls& all = calls();
    const std::lock_guard lock(all.mutex);
    return all.done >= number;
}

void wait_for_host_calls(std::uint64_t number) {
    if (number == 0) return;
    Calls& all = calls();
    std::unique_lock lock(all.mutex);
    all.changed.wait(lock, [&] { return all.done >= number; });
}

}  // namespace aliquot::sim
