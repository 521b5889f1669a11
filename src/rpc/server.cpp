// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/wake.h"
#include "rpc/connection.h"

namespace aliquot::rpc {
namespace {

using Clock = std::chrono::steady_clock;

class PollServer final : public Server {
public:
    PollServer(std::vector<Method> methods, const Limits& limits)
        : methods_(std::move(methods)), limits_(limits) {}
    ~PollServer() override { PollServer::stop(std::chrono::milliseconds(0)); }
    PollServer(const PollServer&) = delete;
    PollServer& operator=(const PollServer&) = delete;

    Result<Done> start() {
        if (wake_.descriptor() < 0)
            return Error{ErrorCode::kUnavailable, "gRPC server: no descriptor is free"};
        try {
            thread_ = std::jthread([this] { run(); });
        } catch (const std::system_error& thrown) {
            return Error{ErrorCode::kUnavailable, std::string("gRPC server: ") + thrown.what()};
        }
        ::pthread_setname_np(thread_.native_handle(), "rpc");
        return Done{};
    }

    void serve(Descriptor connection) override {
        {
            const std::scoped_lock lock(mutex_);
            arrived_.push_back(std::move(connection));
        }
        wake_.notify();
    }

    void wake() override {
        {
            const std::scoped_lock lock(mutex_);
            woken_ = true;
        }
        wake_.notify();
    }

    bool wait_until_left(std::chrono::milliseconds timeout) override {
        std::unique_lock lock(mutex_);
        return left_.wait_for(lock, timeout, [this] { return arrived_.empty() && served_ == 0; });
    }

    void stop(std::chrono::milliseconds grace) override {
        const std::scoped_lock life(life_);
        if (!thread_.joinable()) return;
        {
            const std::scoped_lock lock(mutex_);
            end_ = Clock::now() + grace;
        }
        wake_.notify();
        thread_.join();
    }

private:
    struct News {
        std::vector<Descriptor> arrived;
        bool woken = false;
        std::optional<Clock::time_point> end;  // the server is to stop until then
    };

    News news() {
        const std::scoped_lock lock(mutex_);
        served_ = connections_.size() + arrived_.size();
        if (served_ == 0) left_.notify_all();
        return {std::exchange(arrived_, {}), std::exchange(woken_, false), end_};
    }

    void run() {
        bool stopping = false;
        std::optional<Clock::time_point> end;
        for (;;) {
            sleep(end);
            auto what = news();
            for (auto& connection : what.arrived) admit(std::move(connection));
            if (what.woken) each([](Connection& one) { return one.wake(); });
            end = what.end;
            if (end && !std::exchange(stopping, true))
                each([](Connection& one) { return one.refuse_more(); });
            if (!stopping) continue;
            std::erase_if(connections_, [](const auto& one) { return one->idle(); });
            if (connections_.empty() || Clock::now() >= *end) break;
        }
        connections_.clear();
    }

    /// Until something happens, which the connections then do.
    void sleep(const std::optional<Clock::time_point>& end) {
        waits_.clear();
        waits_.push_back({wake_.descriptor(), POLLIN, 0});
        for (const auto& one : connections_)
            waits_.push_back({one->descriptor(), one->events(), 0});
        int timeout = -1;
        if (end) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now());
            timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        }
        if (::poll(waits_.data(), waits_.size(), timeout) <= 0) return;
        if (waits_[0].revents != 0) wake_.clear();
        std::size_t at = 0;
        std::erase_if(connections_, [&](const auto& one) {
            const short happened = waits_[++at].revents;
            return happened != 0 && !one->handle(happened);
        });
    }

    void admit(Descriptor connection) {
        if (connections_.size() >= limits_.connections) {
            log::warning("rpc.too_many_connections", {{"limit", limits_.connections}});
            return;
        }
        try {
            auto made = std::make_unique<Connection>(std::move(connection), shared_);
            if (made->wake()) connections_.push_back(std::move(made));  // our settings go first
        } catch (const std::bad_alloc&) {
            log::warning("rpc.no_memory", {});
        }
    }

    template <class Do>
    void each(const Do& act) {
        std::erase_if(connections_, [&](const auto& one) { return !act(*one); });
    }

    const std::vector<Method> methods_;
    const Limits limits_;
    const Wake wake_;

    std::mutex mutex_;
    std::vector<Descriptor> arrived_;
    bool woken_ = false;
    std::optional<Clock::time_point> end_;
    std::size_t served_ = 0;  // connections, when the thread last looked
    std::condition_variable left_;

    // Of the thread.
    Shared shared_{.methods = methods_, .limits = limits_};
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<pollfd> waits_;

    std::mutex life_;  // stop
    std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(std::vector<Method> methods, const Limits& limits) {
    auto server = std::make_unique<PollServer>(std::move(methods), limits);
    const auto started = server->start();
    if (!started) return started.error();
    return std::unique_ptr<Server>(std::move(server));
}

}  // namespace aliquot::rpc
