// SPDX-License-Identifier: Apache-2.0
//
// Whatever a peer on a local socket sends instead of gRPC: to our server (first byte even), which
// has a method that echoes and one that streams, to a call of ours that waits for its answer, and (of four: 3) to a
// client with a call and a stream at a time.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "rpc/body.h"
#include "rpc/call.h"
#include "rpc/client.h"
#include "rpc/connection.h"

namespace {

namespace rpc = aliquot::rpc;
using aliquot::Descriptor;

void insist(bool condition) {
    if (!condition) std::abort();
}

class OneMessage final : public rpc::Feed {
public:
    rpc::Status opened(std::uint64_t /*stream*/) override {
        ++open_;
        return {};
    }
    Next next(std::uint64_t /*stream*/) override {
        if (++asked_ % 3 == 0) return {};
        return {.step = asked_ % 3 == 1 ? Next::Step::kMessage : Next::Step::kEnd,
                .frame = std::make_shared<const std::string>(rpc::framed("list")),
                .version = asked_,
                .status = {}};
    }
    void sent(std::uint64_t /*stream*/, std::uint64_t /*version*/) override {}
    void closed(std::uint64_t /*stream*/) override { --open_; }
    [[nodiscard]] int open() const { return open_; }

private:
    int open_ = 0;
    std::uint64_t asked_ = 0;
};

std::array<Descriptor, 2> pair() {
    std::array<int, 2> ends{};
    insist(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    const int bytes = 1 << 20;
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void serve(std::string_view bytes) {
    OneMessage feed;
    const std::vector<rpc::Method> methods{
        {"/t/Echo", rpc::Unary([](std::string_view request, std::string& answer) {
             answer = request;
             return rpc::Status{};
         })},
        {"/t/Watch", &feed}};
    const rpc::Limits limits{.request_bytes = 4096, .held_bytes = 8192, .calls_per_connection = 4};
    rpc::Shared shared{.methods = methods, .limits = limits};
    {
        auto [peer, ours] = pair();
        rpc::Connection connection(std::move(ours), shared);
        bool open = connection.wake();
        std::array<char, 4096> answer{};
        while (open && !bytes.empty()) {
            const auto some = bytes.substr(0, 4096);
            const auto sent = ::write(peer.get(), some.data(), some.size());
            if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
            open = connection.handle(connection.events()) && connection.wake();
            insist(shared.held_bytes <= limits.held_bytes);
            while (::read(peer.get(), answer.data(), answer.size()) > 0) continue;
        }
    }
    insist(shared.held_bytes == 0);
    insist(feed.open() == 0);
}

void ask(std::string_view bytes) {
    auto [peer, ours] = pair();
    const auto sent = ::write(peer.get(), bytes.data(), bytes.size());
    insist(sent == static_cast<ssize_t>(bytes.size()) || bytes.empty());
    ::shutdown(peer.get(), SHUT_WR);
    const auto answer = rpc::call(std::move(ours), "request",
                                  {.path = "/t/Echo",
                                   .timeout = std::chrono::seconds(60),
                                   .answer_bytes = 4096,
                                   .subject = "Echo"});
    insist(!answer || answer->size() <= 4096);
}

void follow(std::string_view bytes) {
    auto [peer, ours] = pair();
    const auto sent = ::write(peer.get(), bytes.data(), bytes.size());
    insist(sent == static_cast<ssize_t>(bytes.size()) || bytes.empty());
    ::shutdown(peer.get(), SHUT_WR);
    constexpr rpc::ClientLimits kLimits{.message_bytes = 4096, .held_bytes = 4096};
    auto client = rpc::Client::start(std::move(ours), kLimits);
    insist(client.ok());
    std::jthread watcher([&] {
        (void)(*client)->watch("/t/Watch", "", [&](const std::string& message) {
            insist(message.size() <= kLimits.message_bytes);
        });
    });
    std::string answer;
    const auto status = (*client)->call("/t/Echo", "request", std::chrono::seconds(60), answer);
    insist(!status.ok() || answer.size() <= kLimits.message_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,  // NOLINT
                                 std::min<std::size_t>(size - 1, 64U << 10U));
    if (data[0] % 2 == 0)
        serve(bytes);
    else if (data[0] % 4 == 3)
        follow(bytes);
    else
        ask(bytes);
    return 0;
}
