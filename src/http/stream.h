// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "http/message.h"

namespace aliquot::http {

/// An answer of unknown length on its way from the thread that writes it to the loop that sends it.
class StreamPipe final : public Stream {
public:
    /// chunked   with the framing of HTTP/1.1; else plain, until the connection ends
    /// wake      tells the loop that there is something to take; called by the writer's thread
    StreamPipe(bool chunked, std::function<void()> wake)
        : chunked_(chunked), wake_(std::move(wake)) {}

    // The writer's side.
    bool write(std::string_view bytes) override;
    bool alive() override { return !gone_; }
    void break_off() override;
    void end();

    // The loop's side.
    enum class State : std::uint8_t { kOpen, kEnded, kBrokenOff };
    /// Moves to `bytes` what is there; kEnded: nothing follows.
    State take(std::string& bytes);
    /// The reader has gone: the writer is told, and what it still writes is dropped.
    void close();

private:
    void tell();

    const bool chunked_;
    const std::function<void()> wake_;
    std::atomic<bool> gone_{false};
    std::mutex mutex_;
    std::condition_variable taken_;
    std::string pending_;
    State state_ = State::kOpen;
    bool told_ = false;
};

/// The threads that write streams, one for each.
class StreamThreads {
public:
    explicit StreamThreads(std::size_t most) : most_(most) {}
    ~StreamThreads();  // closes all pipes and waits for their writers
    StreamThreads(const StreamThreads&) = delete;
    StreamThreads& operator=(const StreamThreads&) = delete;

    /// False: as many are open as may be, or no thread is to be had.
    bool start(std::shared_ptr<StreamPipe> pipe, std::function<void(Stream&)> writer);

private:
    struct Running {
        std::shared_ptr<StreamPipe> pipe;
        std::atomic<bool> done{false};
        std::jthread thread;  // last: it uses the others
    };
    const std::size_t most_;
    std::mutex mutex_;
    std::list<Running> running_;
};

}  // namespace aliquot::http
