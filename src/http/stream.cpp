// SPDX-License-Identifier: Apache-2.0
#include "http/stream.h"

#include <pthread.h>

#include <array>
#include <charconv>
#include <exception>
#include <system_error>

#include "base/log.h"

namespace aliquot::http {
namespace {

constexpr std::size_t kMostUnsent = 1U << 20U;  // bytes; then the writer waits

}  // namespace

bool StreamPipe::write(std::string_view bytes) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return gone_ || pending_.size() < kMostUnsent; });
    if (gone_) return false;
    if (bytes.empty()) return true;
    if (chunked_) {
        std::array<char, 16> size{};
        const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16);
        pending_.append(size.data(), end.ptr).append("\r\n").append(bytes).append("\r\n");
    } else {
        pending_ += bytes;
    }
    tell();
    return true;
}

void StreamPipe::break_off() {
    const std::scoped_lock lock(mutex_);
    state_ = State::kBrokenOff;
    gone_ = true;
    tell();
}

void StreamPipe::end() {
    const std::scoped_lock lock(mutex_);
    if (state_ != State::kOpen) return;
    if (chunked_) pending_ += "0\r\n\r\n";
    state_ = State::kEnded;
    tell();
}

void StreamPipe::tell() {
    if (!std::exchange(told_, true)) wake_();
}

StreamPipe::State StreamPipe::take(std::string& bytes) {
    const std::scoped_lock lock(mutex_);
    told_ = false;
    bytes += pending_;
    pending_.clear();
    taken_.notify_all();
    return state_;
}

void StreamPipe::close() {
    const std::scoped_lock lock(mutex_);
    gone_ = true;
    pending_.clear();
    taken_.notify_all();
}

StreamThreads::~StreamThreads() {
    const std::scoped_lock lock(mutex_);
    for (Running& one : running_) one.pipe->close();
    running_.clear();
}

bool StreamThreads::start(std::shared_ptr<StreamPipe> pipe, std::function<void(Stream&)> writer) {
    const std::scoped_lock lock(mutex_);
    running_.remove_if([](const Running& one) { return one.done.load(); });
    if (running_.size() >= most_) return false;
    Running& one = running_.emplace_back();
    one.pipe = std::move(pipe);
    try {
        one.thread = std::jthread([&one, write = std::move(writer)] {
            try {
                write(*one.pipe);
                one.pipe->end();
            } catch (const std::exception& problem) {
                log::error("web.stream_failed", {{"reason", problem.what()}});
                one.pipe->break_off();
            }
            one.done = true;
        });
        ::pthread_setname_np(one.thread.native_handle(), "web-stream");
    } catch (const std::system_error& problem) {
        log::warning("web.thread_refused", {{"reason", problem.what()}});
        running_.pop_back();
        return false;
    }
    return true;
}

}  // namespace aliquot::http
