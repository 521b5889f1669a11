// SPDX-License-Identifier: Apache-2.0
#include "rpc/connection.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace aliquot::rpc {
namespace {

constexpr std::size_t kPathLimit = 256;
constexpr std::uint32_t kRequestWindow = 1
                                         << 20;  // a list of 20,000 ids comes without a round trip
constexpr std::uint32_t kHeaderBytes = 16 << 10;
constexpr std::chrono::hours kLongestTimeout{1};

}  // namespace

std::chrono::milliseconds Caller::left() const {
    const auto now = Clock::now();
    if (deadline_ <= now) return {};
    const auto left = std::min<Clock::duration>(deadline_ - now, kLongestTimeout);
    return std::chrono::ceil<std::chrono::milliseconds>(left);
}

bool Caller::gone() const {
    if (Clock::now() >= deadline_) return true;
    pollfd look{connection_, POLLRDHUP, 0};
    return ::poll(&look, 1, 0) > 0;
}

struct Connection::Call {
    explicit Call(std::size_t request_bytes) : body(request_bytes) {}

    const Method* method = nullptr;
    std::string path;
    bool post = false;
    bool grpc = false;
    Caller::Clock::time_point deadline = Caller::Clock::time_point::max();
    Body body;
    bool answered = false;  // what the peer still sends is dropped

    // The answer, and how much of it is out.
    std::string answer;
    std::shared_ptr<const std::string> frame;  // of a stream, instead of `answer`
    std::size_t out = 0;
    Status status;

    // Of a stream.
    std::uint64_t stream = 0;  // 0: none
    std::uint64_t version = 0;
    bool reported = true;  // the feed knows that `version` is sent
    bool waits = false;    // for the feed

    void clear() {
        method = nullptr;
        path.clear();
        post = grpc = answered = waits = false;
        deadline = Caller::Clock::time_point::max();
        body.clear();
        answer.clear();
        frame.reset();
        out = 0;
        status = {};
        stream = version = 0;
        reported = true;
    }
};

/// nghttp2's callbacks. None of ours throws through its frames but for want of memory, which is
/// told as such.
struct Connection::Hooks {
    static Connection& of(void* user) { return *static_cast<Connection*>(user); }

    static int on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                                void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
            return 0;
        return guarded([&] { of(user).begin(frame->hd.stream_id); });
    }

    static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                         const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                         std::size_t value_size, std::uint8_t /*flags*/, void* user) {
        auto* const call = of(user).find(frame->hd.stream_id);
        if (call == nullptr) return 0;
        return guarded([&] { take_header(*call, text(name, name_size), text(value, value_size)); });
    }

    static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
        const auto id = frame->hd.stream_id;
        auto* const call = of(user).find(id);
        if (call == nullptr) return 0;
        return guarded([&] {
            if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
                of(user).route(id, *call);
            if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !call->answered)
                of(user).asked_.push_back(id);
        });
    }

    static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id,
                       const std::uint8_t* data, std::size_t size, void* user) {
        auto* const call = of(user).find(id);
        if (call == nullptr) return 0;
        return guarded([&] { of(user).take_body(id, *call, text(data, size)); });
    }

    static int on_close(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t /*error*/,
                        void* user) {
        return guarded([&] { of(user).end(id); });
    }

    static ssize_t fill(nghttp2_session* /*session*/, std::int32_t id, std::uint8_t* into,
                        std::size_t room, std::uint32_t* flags, nghttp2_data_source* source,
                        void* user) {
        auto& call = *static_cast<Call*>(source->ptr);
        long length = NGHTTP2_ERR_CALLBACK_FAILURE;
        const int failed = guarded([&] { length = of(user).fill(id, call, into, room, *flags); });
        return failed != 0 ? failed : length;
    }

private:
    static std::string_view text(const std::uint8_t* bytes, std::size_t size) {
        return {reinterpret_cast<const char*>(bytes), size};  // NOLINT(*reinterpret-cast)
    }

    template <class Work>
    static int guarded(const Work& work) {
        try {
            work();
            return 0;
        } catch (const std::exception&) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;  // the connection ends
        }
    }
};

Connection::Connection(Descriptor socket, Shared& shared)
    : shared_(shared), transport_(std::move(socket)) {
    const Callbacks callbacks = new_callbacks(Hooks::on_header, Hooks::on_data, Hooks::on_close);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks.get(),
                                                            Hooks::on_begin_headers);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks.get(), Hooks::on_frame);
    nghttp2_option* option = nullptr;
    if (nghttp2_option_new(&option) != 0) throw std::bad_alloc();
    // Some clients send the path of the socket as :authority, which HTTP does not allow. What
    // matters of a request is checked in route().
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_session* session = nullptr;
    const int failed = nghttp2_session_server_new2(&session, callbacks.get(), this, option);
    nghttp2_option_del(option);
    if (failed != 0) throw std::bad_alloc();
    session_.reset(session);
    const std::array<nghttp2_settings_entry, 3> settings{
        {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, shared_.limits.calls_per_connection},
         {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kRequestWindow},
         {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderBytes}}};
    if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) !=
            0 ||
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kRequestWindow) != 0)
        throw std::bad_alloc();
}

Connection::~Connection() {
    for (auto& [id, call] : std::exchange(calls_, {})) {
        drop_body(*call);
        if (call->stream != 0) std::get<Feed*>(call->method->serve)->closed(call->stream);
    }
}

bool Connection::handle(short revents) {
    if ((revents & (POLLERR | POLLNVAL)) != 0) return false;
    if (transport_.flushed() && (revents & (POLLIN | POLLHUP)) != 0 && !transport_.read(*session_))
        return false;
    for (const auto id : std::exchange(asked_, {})) {
        auto* const call = find(id);
        if (call != nullptr && !call->answered) dispatch(id, *call);
    }
    return flush();
}

bool Connection::wake() {
    for (auto& [id, call] : calls_) {
        if (!call->waits) continue;
        call->waits = false;
        (void)nghttp2_session_resume_data(session_.get(), id);
    }
    return flush();
}

bool Connection::refuse_more() {
    (void)nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(session_.get()),
                                NGHTTP2_NO_ERROR, nullptr, 0);
    return flush();
}

Connection::Call* Connection::find(std::int32_t id) {
    const auto found = calls_.find(id);
    return found == calls_.end() ? nullptr : found->second.get();
}

void Connection::begin(std::int32_t id) {
    auto call = spare_ ? std::move(spare_) : std::make_unique<Call>(shared_.limits.request_bytes);
    calls_[id] = std::move(call);
}

void Connection::take_header(Call& call, std::string_view name, std::string_view value) {
    if (name == ":path" && value.size() <= kPathLimit) call.path = value;
    if (name == ":method") call.post = value == "POST";
    if (name == "content-type") call.grpc = value.starts_with("application/grpc");
    if (name == "grpc-timeout") {
        const auto timeout = parse_timeout(value);
        if (timeout && *timeout < kLongestTimeout) call.deadline = Caller::Clock::now() + *timeout;
    }
}

void Connection::route(std::int32_t id, Call& call) {
    if (!call.post) return refuse(id, call, "405");
    if (!call.grpc) return refuse(id, call, "415");
    const auto found = std::ranges::find(shared_.methods, call.path, &Method::path);
    if (found == shared_.methods.end())
        return answer(id, call, {Code::kUnimplemented, "unknown method " + call.path}, {});
    call.method = &*found;
}

void Connection::take_body(std::int32_t id, Call& call, std::string_view bytes) {
    if (call.answered) return;
    Status status;
    if (shared_.held_bytes + bytes.size() > shared_.limits.held_bytes)
        status = {Code::kResourceExhausted, "too many bytes of requests are under way"};
    const auto before = call.body.size();
    if (status.ok()) status = call.body.add(bytes);
    shared_.held_bytes += call.body.size();
    shared_.held_bytes -= before;
    if (!status.ok()) answer(id, call, std::move(status), {});
}

void Connection::dispatch(std::int32_t id, Call& call) {
    Status status = call.body.check();
    if (status.ok() && std::holds_alternative<Feed*>(call.method->serve))
        return open_stream(id, call);
    std::string message;
    if (status.ok()) {
        try {
            status = run(call, message);
        } catch (const std::exception& thrown) {
            status = {Code::kInternal, thrown.what()};
        }
    }
    answer(id, call, std::move(status), message);
}

Status Connection::run(const Call& call, std::string& message) const {
    const auto request = call.body.message();
    if (const auto* const patient = std::get_if<Patient>(&call.method->serve))
        return (*patient)(request, Caller(call.deadline, transport_.descriptor()), message);
    return std::get<Unary>(call.method->serve)(request, message);
}

void Connection::end(std::int32_t id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    auto call = std::move(found->second);
    calls_.erase(found);
    drop_body(*call);
    if (call->stream != 0) std::get<Feed*>(call->method->serve)->closed(call->stream);
    call->clear();
    spare_ = std::move(call);
}

void Connection::open_stream(std::int32_t id, Call& call) {
    drop_body(call);
    auto* const feed = std::get<Feed*>(call.method->serve);
    const auto stream = ++shared_.last_stream;
    auto status = feed->opened(stream);
    if (!status.ok()) return answer(id, call, std::move(status), {});
    call.stream = stream;
    call.answered = true;
    const auto headers = fields({{":status", "200"}, {"content-type", "application/grpc"}});
    const nghttp2_data_provider source{.source = {.ptr = &call}, .read_callback = Hooks::fill};
    (void)nghttp2_submit_response(session_.get(), id, headers.data(), headers.size(), &source);
}

void Connection::answer(std::int32_t id, Call& call, Status status, std::string_view message) {
    call.answered = true;
    drop_body(call);
    if (status.ok()) {
        call.answer = framed(message);
        const auto headers = fields({{":status", "200"}, {"content-type", "application/grpc"}});
        const nghttp2_data_provider source{.source = {.ptr = &call}, .read_callback = Hooks::fill};
        (void)nghttp2_submit_response(session_.get(), id, headers.data(), headers.size(), &source);
        return;
    }
    const auto code = std::to_string(static_cast<int>(status.code));
    const auto words = encode_message(status.message);
    const auto headers = fields({{":status", "200"},
                                 {"content-type", "application/grpc"},
                                 {"grpc-status", code},
                                 {"grpc-message", words}});
    (void)nghttp2_submit_response(session_.get(), id, headers.data(), headers.size(), nullptr);
}

void Connection::refuse(std::int32_t id, Call& call, std::string_view http_status) {
    call.answered = true;
    const auto headers = fields({{":status", http_status}});
    (void)nghttp2_submit_response(session_.get(), id, headers.data(), headers.size(), nullptr);
}

/// The next bytes of an answer; at its end the trailers, which carry the status.
long Connection::fill(std::int32_t id, Call& call, std::uint8_t* into, std::size_t room,
                      std::uint32_t& flags) {
    const std::string* bytes = call.stream != 0 ? call.frame.get() : &call.answer;
    if (call.stream != 0 && (bytes == nullptr || call.out == bytes->size())) {
        if (!next_message(id, call, flags)) return call.waits ? NGHTTP2_ERR_DEFERRED : 0;
        bytes = call.frame.get();
    }
    const auto length = std::min(room, bytes->size() - call.out);
    std::memcpy(into, bytes->data() + call.out, length);
    call.out += length;
    if (call.stream != 0) return static_cast<long>(length);
    if (call.out == bytes->size()) {
        flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const auto trailers = fields({{"grpc-status", "0"}});
        (void)nghttp2_submit_trailer(session_.get(), id, trailers.data(), trailers.size());
    }
    return static_cast<long>(length);
}

/// False: there is none; call.waits, or the end is under way.
bool Connection::next_message(std::int32_t id, Call& call, std::uint32_t& flags) {
    auto next = std::get<Feed*>(call.method->serve)->next(call.stream);
    if (next.step == Feed::Next::Step::kMessage) {
        call.frame = std::move(next.frame);
        call.version = next.version;
        call.reported = false;
        call.out = 0;
        return true;
    }
    call.waits = next.step == Feed::Next::Step::kWait;
    if (call.waits) return false;
    flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const auto code = std::to_string(static_cast<int>(next.status.code));
    const auto words = encode_message(next.status.message);
    const auto trailers = fields({{"grpc-status", code}, {"grpc-message", words}});
    (void)nghttp2_submit_trailer(session_.get(), id, trailers.data(), trailers.size());
    return false;
}

void Connection::drop_body(Call& call) {
    shared_.held_bytes -= call.body.size();
    call.body.clear();
}

bool Connection::flush() {
    if (!transport_.write(*session_)) return false;
    if (!transport_.flushed()) return true;
    for (auto& [id, call] : calls_) {
        if (call->stream == 0 || call->reported || call->out != call->frame->size()) continue;
        call->reported = true;
        std::get<Feed*>(call->method->serve)->sent(call->stream, call->version);
    }
    return true;
}

}  // namespace aliquot::rpc
