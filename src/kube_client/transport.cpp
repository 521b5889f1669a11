// SPDX-License-Identifier: Apache-2.0
#include "kube_client/transport.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <thread>

#include "http/libcurl.h"
#include "kube_client/curl_transfer.h"

namespace aliquot::kube_client {
namespace {

using SteadyClock = std::chrono::steady_clock;

TransportError given_up(const std::string& what, const std::stop_token& stop) {
    const bool stopped = stop.stop_requested();
    return {.failure = {.reason = stopped ? Reason::kStopped : Reason::kDeadline,
                        .message = what + (stopped ? ": stopped" : ": no answer in time")}};
}

}  // namespace

/// The thread that owns the multi handle. Others hand it transfers to send or to drop.
class Transport::Loop {
public:
    Loop(Destination destination, TransportOptions options)
        : destination_(std::move(destination)), options_(options) {
        if (http::start_libcurl()) multi_ = curl_multi_init();
        if (multi_ == nullptr) return;
        curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
        curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 200L);
        curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, 64L);
        curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 16L);
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
        pthread_setname_np(thread_.native_handle(), "kube-http");
    }

    ~Loop() {
        end();
        if (multi_ != nullptr) curl_multi_cleanup(multi_);
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Ends the thread; what is under way fails. Once only, by the transport.
    void end() {
        if (!thread_.joinable()) return;
        thread_.request_stop();
        curl_multi_wakeup(multi_);
        thread_.join();
    }

    std::shared_ptr<CurlTransfer> submit(HttpRequest http_request, bool stream, Time until) {
        auto transfer = std::make_shared<CurlTransfer>(std::move(http_request), destination_,
                                                       options_, stream, until);
        {
            const std::scoped_lock lock(mutex_);
            if (multi_ == nullptr || ended_) {
                transfer->stopped();
                return transfer;
            }
            arriving_.push_back(transfer);
        }
        curl_multi_wakeup(multi_);
        return transfer;
    }

    void drop(const std::shared_ptr<CurlTransfer>& transfer) {
        {
            const std::scoped_lock lock(mutex_);
            if (multi_ == nullptr || ended_) return;
            leaving_.push_back(transfer);
        }
        curl_multi_wakeup(multi_);
    }

private:
    using Transfers = std::vector<std::shared_ptr<CurlTransfer>>;

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            take_orders();
            int running = 0;
            curl_multi_perform(multi_, &running);
            finish_done();
            curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);  // or a wake-up
        }
        Transfers never_begun;
        {
            const std::scoped_lock lock(mutex_);
            ended_ = true;
            never_begun.swap(arriving_);
            leaving_.clear();
        }
        for (const auto& transfer : never_begun) transfer->stopped();
        for (const auto& [handle, transfer] : carried_) {
            curl_multi_remove_handle(multi_, handle);
            transfer->stopped();
        }
        carried_.clear();
    }

    void take_orders() {
        Transfers arriving;
        Transfers leaving;
        {
            const std::scoped_lock lock(mutex_);
            arriving.swap(arriving_);
            leaving.swap(leaving_);
        }
        for (auto& transfer : arriving) {
            if (!transfer->prepare() ||
                curl_multi_add_handle(multi_, transfer->handle()) != CURLM_OK) {
                transfer->finish(CURLE_OUT_OF_MEMORY);
                continue;
            }
            CURL* const handle = transfer->handle();
            carried_.emplace(handle, std::move(transfer));
        }
        for (const auto& transfer : leaving) {
            if (carried_.erase(transfer->handle()) == 0) continue;
            curl_multi_remove_handle(multi_, transfer->handle());
            transfer->stopped();
        }
    }

    void finish_done() {
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            const CURLcode code = message->data.result;
            const auto found = carried_.find(message->easy_handle);
            if (found == carried_.end()) continue;
            const auto transfer = std::move(found->second);
            carried_.erase(found);
            curl_multi_remove_handle(multi_, transfer->handle());
            transfer->finish(code);
        }
    }

    const Destination destination_;
    const TransportOptions options_;
    CURLM* multi_ = nullptr;
    std::mutex mutex_;
    bool ended_ = false;
    Transfers arriving_;
    Transfers leaving_;
    std::map<CURL*, std::shared_ptr<CurlTransfer>> carried_;  // of the thread
    std::jthread thread_;
};

namespace {

using State = CurlTransfer::State;

/// The body of an answer, read by one thread while the loop writes it.
template <class Loop>
class CarriedStream final : public ByteStream {
public:
    CarriedStream(std::shared_ptr<Loop> loop, std::shared_ptr<CurlTransfer> transfer,
                  std::string what)
        : loop_(std::move(loop)), transfer_(std::move(transfer)), what_(std::move(what)) {}
    ~CarriedStream() override { loop_->drop(transfer_); }
    CarriedStream(const CarriedStream&) = delete;
    CarriedStream& operator=(const CarriedStream&) = delete;

    Outcome<Read> read(std::chrono::milliseconds timeout, std::stop_token stop) override {
        bool done = false;
        std::optional<Failure> failure;
        const bool came =
            transfer_->wait(SteadyClock::now() + timeout, stop, [&](const State& state) {
                done = state.done;
                if (state.failure) failure = state.failure->failure;
                return state.done || !state.answer.body.empty();
            });
        if (!came) {
            if (!stop.stop_requested()) return Read{};
            return Failure{.reason = Reason::kStopped, .message = what_ + ": stopped"};
        }
        std::string bytes = transfer_->take_body();
        if (!bytes.empty()) return Read{.bytes = std::move(bytes)};  // how it ended: next time
        if (failure) return *failure;
        return Read{.ended = done};
    }

private:
    const std::shared_ptr<Loop> loop_;
    const std::shared_ptr<CurlTransfer> transfer_;
    const std::string what_;
};

}  // namespace

Transport::Transport(Destination destination, TransportOptions options)
    : loop_(std::make_shared<Loop>(std::move(destination), options)) {}

Transport::~Transport() { loop_->end(); }

Transport::Delivery<HttpResponse> Transport::send(HttpRequest http_request, Time until,
                                                  const std::stop_token& stop) {
    const std::string what = http_request.what;
    const auto transfer = loop_->submit(std::move(http_request), false, until);
    // libcurl's own limit is a bit more precise in what it says; ours is the one that surely holds.
    const auto last = until + std::chrono::milliseconds(100);
    if (!transfer->wait(last, stop, [](const State& state) { return state.done; })) {
        loop_->drop(transfer);
        return given_up(what, stop);
    }
    auto state = transfer->take_state();
    if (!state.failure) return std::move(state.answer);
    if (SteadyClock::now() >= until && state.failure->failure.is(Reason::kUnreachable)) {
        state.failure->failure.reason = Reason::kDeadline;
    }
    return *std::move(state.failure);
}

Transport::Delivery<Transport::Opened> Transport::open(HttpRequest http_request, Time until,
                                                       const std::stop_token& stop) {
    const std::string what = http_request.what;
    const auto transfer = loop_->submit(std::move(http_request), true, until);
    int status = 0;
    const auto begun = [&](const State& state) {
        status = state.status;
        return state.done || state.begun;
    };
    if (!transfer->wait(until, stop, begun)) {
        loop_->drop(transfer);
        return given_up(what, stop);
    }
    if (status >= 200 && status < 300) {
        return Opened{.stream = std::make_unique<CarriedStream<Loop>>(loop_, transfer, what)};
    }
    // A refusal: its body tells why, and is short.
    if (!transfer->wait(until, stop, [](const State& state) { return state.done; })) {
        loop_->drop(transfer);
        return given_up(what, stop);
    }
    auto state = transfer->take_state();
    if (state.failure) return *std::move(state.failure);
    return Opened{.stream = nullptr, .refusal = std::move(state.answer)};
}

}  // namespace aliquot::kube_client
