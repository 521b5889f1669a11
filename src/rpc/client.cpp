// SPDX-License-Identifier: Apache-2.0
#include "rpc/client.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/number.h"
#include "base/wake.h"
#include "rpc/body.h"
#include "rpc/exchange.h"
#include "rpc/transport.h"

namespace aliquot::rpc {
namespace {

constexpr std::uint32_t kClientWindow = 4 << 20;

/// One call under way, on the stack of its caller. Of the client's lock.
struct ClientStream {
    ClientStream(std::string_view request, bool many, std::size_t limit)
        : exchange(request), messages(limit), is_watch(many) {}

    Exchange exchange;
    Messages messages;
    const bool is_watch;
    std::int32_t id = 0;
    std::deque<std::string> arrived;
    std::size_t arrived_bytes = 0;
    std::optional<Status> end;
    std::condition_variable changed;
};

class PollClient final : public Client {
public:
    PollClient(Descriptor connection, const ClientLimits& limits) : limits_(limits) {
        transport_.emplace(std::move(connection), Transport::Reading::kAlways);
        const Callbacks callbacks = new_callbacks(on_header, on_data, on_close);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks.get(), on_frame);
        session_ = new_client_session(*callbacks, this);
        if (!submit_client_settings(*session_, kClientWindow)) throw std::bad_alloc();
    }
    PollClient(const PollClient&) = delete;
    PollClient& operator=(const PollClient&) = delete;
    ~PollClient() override { PollClient::close(); }

    Result<Done> start() {
        if (wake_.descriptor() < 0)
            return Error{ErrorCode::kUnavailable, "gRPC client: no descriptor is free"};
        try {
            thread_ = std::jthread([this] { run(); });
        } catch (const std::system_error& thrown) {
            return Error{ErrorCode::kUnavailable, std::string("gRPC client: ") + thrown.what()};
        }
        ::pthread_setname_np(thread_.native_handle(), "rpc-client");
        return Done{};
    }

    bool wait_ready(std::chrono::milliseconds timeout) override {
        std::unique_lock lock(mutex_);
        settled_.wait_for(lock, timeout, [this] { return ready_ || !transport_; });
        return ready_ && transport_;
    }

    Status call(const std::string& path, std::string_view request,
                std::chrono::milliseconds timeout, std::string& answer) override {
        ClientStream stream(request, false, limits_.message_bytes);
        const Entry entry(*this, stream);
        std::unique_lock lock(mutex_);
        if (auto begun = begin(stream, path, timeout); !begun.ok()) return begun;
        if (!stream.changed.wait_for(lock, timeout, [&] { return stream.end.has_value(); }))
            return {Code::kDeadlineExceeded,
                    "no answer within " +
                        decimal_text(static_cast<double>(timeout.count()) / 1000) + " s"};
        if (!stream.end->ok()) return *stream.end;
        if (stream.arrived.empty()) return {Code::kInternal, "no message"};
        answer = std::move(stream.arrived.front());
        return {};
    }

    Status watch(const std::string& path, std::string_view request,
                 const std::function<void(const std::string& message)>& on_message) override {
        ClientStream stream(request, true, limits_.message_bytes);
        const Entry entry(*this, stream);
        std::unique_lock lock(mutex_);
        if (auto begun = begin(stream, path, {}); !begun.ok()) return begun;
        while (true) {
            stream.changed.wait(lock, [&] { return stream.end || !stream.arrived.empty(); });
            if (stream.arrived.empty()) return *stream.end;
            const bool paused = is_full(stream);
            const auto message = std::move(stream.arrived.front());
            stream.arrived.pop_front();
            stream.arrived_bytes -= message.size();
            if (paused && !is_full(stream)) wake_.notify();
            lock.unlock();
            on_message(message);
            lock.lock();
        }
    }

    bool open() override {
        const std::scoped_lock lock(mutex_);
        return !closing_ && transport_ &&
               nghttp2_session_check_request_allowed(session_.get()) != 0;
    }

    void close() override {
        const std::scoped_lock life(life_);
        {
            const std::scoped_lock lock(mutex_);
            closing_ = true;
        }
        wake_.notify();
        if (thread_.joinable()) thread_.join();
    }

private:
    /// A call among those under way, as long as its caller waits. To be made without the lock.
    class Entry {
    public:
        Entry(PollClient& client, ClientStream& stream) : client_(client), stream_(stream) {}
        ~Entry() {
            const std::scoped_lock lock(client_.mutex_);
            client_.forget(stream_);
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

    private:
        PollClient& client_;
        ClientStream& stream_;
    };

    static PollClient& of(void* user) { return *static_cast<PollClient*>(user); }
    /// Null: its caller has gone.
    static ClientStream* find(nghttp2_session* session, std::int32_t id) {
        return static_cast<ClientStream*>(nghttp2_session_get_stream_user_data(session, id));
    }
    static std::string_view text(const std::uint8_t* bytes, std::size_t size) {
        return {reinterpret_cast<const char*>(bytes), size};  // NOLINT(*reinterpret-cast)
    }

    static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type != NGHTTP2_SETTINGS || (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
            return 0;
        of(user).ready_ = true;
        of(user).settled_.notify_all();
        return 0;
    }

    static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                         const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                         std::size_t value_size, std::uint8_t /*flags*/, void* /*user*/) {
        auto* const stream = find(session, frame->hd.stream_id);
        if (stream == nullptr) return 0;
        try {
            stream->exchange.take_header(text(name, name_size), text(value, value_size));
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;  // the connection ends
        }
        return 0;
    }

    static int on_data(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t id,
                       const std::uint8_t* data, std::size_t size, void* user) {
        auto* const stream = find(session, id);
        if (stream == nullptr || stream->end) return 0;
        try {
            of(user).take_data(*stream, text(data, size));
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    }

    static int on_close(nghttp2_session* session, std::int32_t id, std::uint32_t error,
                        void* /*user*/) {
        auto* const stream = find(session, id);
        if (stream == nullptr) return 0;
        stream->exchange.close(error);
        auto status = stream->exchange.status();
        if (status.ok()) status = stream->messages.check();
        stream->id = 0;
        finish(*stream, std::move(status));
        return 0;
    }

    static ssize_t fill(nghttp2_session* session, std::int32_t id, std::uint8_t* into,
                        std::size_t room, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                        void* /*user*/) {
        auto* const stream = find(session, id);
        if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // ends the stream
        return stream->exchange.fill(into, room, *flags);
    }

    static void finish(ClientStream& stream, Status status) {
        if (!stream.end) stream.end = std::move(status);
        stream.changed.notify_all();
    }

    void take_data(ClientStream& stream, std::string_view bytes) {
        const auto before = stream.arrived.size();
        auto status = stream.messages.add(bytes, stream.arrived);
        for (auto i = before; i < stream.arrived.size(); ++i)
            stream.arrived_bytes += stream.arrived[i].size();
        if (status.ok() && !stream.is_watch && stream.arrived.size() > 1)
            status = {Code::kInternal,
                      "more than one message in the answer to a call that has one"};
        if (!status.ok())
            finish(stream, std::move(status));
        else if (stream.arrived.size() > before)
            stream.changed.notify_all();
    }

    Status begin(ClientStream& stream, const std::string& path, std::chrono::milliseconds timeout) {
        if (closing_) return closed();
        if (!transport_) return {Code::kUnavailable, "the connection is over"};
        if (nghttp2_session_check_request_allowed(session_.get()) == 0)
            return {Code::kUnavailable, "the peer takes no more calls on this connection"};
        stream.id = stream.exchange.submit(*session_, path, timeout, fill, &stream);
        if (stream.id < 0) {
            stream.id = 0;
            return {Code::kUnavailable, "no memory or no more streams"};
        }
        streams_.insert(&stream);
        send_now();
        return {};
    }

    /// From a caller's thread; what the socket does not take, or a connection that ends, is the reader's business.
    void send_now() {
        if (!transport_->write(*session_) || !transport_->flushed()) wake_.notify();
    }

    void forget(ClientStream& stream) {
        streams_.erase(&stream);
        if (stream.id == 0 || !transport_) return;
        (void)nghttp2_session_set_stream_user_data(session_.get(), stream.id, nullptr);
        (void)nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id,
                                        NGHTTP2_CANCEL);
        send_now();
    }

    [[nodiscard]] bool is_full(const ClientStream& stream) const {
        constexpr std::size_t kEach = 64;  // what a message costs beside its bytes
        return stream.arrived_bytes + stream.arrived.size() * kEach > limits_.held_bytes;
    }

    void run() {
        std::unique_lock lock(mutex_);
        bool open = transport_->write(*session_);
        while (open && !closing_) {
            const bool paused = std::ranges::any_of(
                streams_, [this](const auto* stream) { return is_full(*stream); });
            const bool waits = !paused || !transport_->flushed();
            const auto events = static_cast<short>(transport_->events() & (paused ? POLLOUT : -1));
            std::array<pollfd, 2> both{{{waits ? transport_->descriptor() : -1, events, 0},
                                        {wake_.descriptor(), POLLIN, 0}}};
            lock.unlock();
            const int happened = ::poll(both.data(), both.size(), -1);
            lock.lock();
            if (happened <= 0) continue;
            if (both[1].revents != 0) wake_.clear();
            if (!paused && both[0].revents != 0) open = transport_->read(*session_);
            open = open && transport_->write(*session_);
        }
        transport_.reset();  // at once: the peer waits for it
        for (auto* const stream : streams_) {
            if (closing_) stream->arrived.clear();
            stream->id = 0;
            finish(*stream, closing_ ? closed() : stream->exchange.status());
        }
        settled_.notify_all();
    }

    static Status closed() { return {Code::kCancelled, "the connection is closed"}; }

    const ClientLimits limits_;
    const Wake wake_;

    std::mutex mutex_;  // of all below, and of the session
    std::condition_variable settled_;
    bool ready_ = false;
    bool closing_ = false;
    std::optional<Transport> transport_;  // none: the connection is over
    std::set<ClientStream*> streams_;
    Session session_;

    std::mutex life_;  // close
    std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::start(Descriptor connection, const ClientLimits& limits) {
    std::unique_ptr<PollClient> client;
    try {
        client = std::make_unique<PollClient>(std::move(connection), limits);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kUnavailable, "gRPC client: no memory"};
    }
    if (const auto started = client->start(); !started) return started.error();
    return std::unique_ptr<Client>(std::move(client));
}

}  // namespace aliquot::rpc
