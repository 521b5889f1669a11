// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "rpc/status.h"

namespace aliquot::rpc {

/// A method with one request and one answer: the bytes of a message in, those of a message out, or
/// why not. Called from the server's thread; what it throws is answered as kInternal.
using Unary = std::function<Status(std::string_view request, std::string& answer)>;

/// Who waits for the answer of a call, while its method runs.
class Caller {
public:
    using Clock = std::chrono::steady_clock;

    Caller(Clock::time_point deadline, int connection)
        : deadline_(deadline), connection_(connection) {}

    /// Until the caller gives up, at most an hour: one that named no time, or a longer one.
    [[nodiscard]] std::chrono::milliseconds left() const;
    /// Its time is over, or it has closed the connection.
    [[nodiscard]] bool gone() const;

private:
    Clock::time_point deadline_;
    int connection_;
};

/// As Unary, of a method that takes its time and so asks now and then whether somebody still waits.
using Patient =
    std::function<Status(std::string_view request, const Caller& caller, std::string& answer)>;

/// What a method that streams its answers sends: every stream gets the newest message, at once and
/// whenever there is a newer one, and none that it was too slow for. Called from the server's
/// thread.
class Feed {
public:
    struct Next {
        enum class Step : std::uint8_t { kWait, kMessage, kEnd };
        Step step = Step::kWait;
        std::shared_ptr<const std::string> frame;  // kMessage: as framed() makes it
        std::uint64_t version = 0;                 // kMessage
        Status status;                             // kEnd
    };

    virtual ~Feed() = default;

    /// stream   a number that no other stream of this server has or had
    /// returns  not ok: the stream is refused with it, and nothing more is told of it
    virtual Status opened(std::uint64_t stream) = 0;
    virtual Next next(std::uint64_t stream) = 0;
    /// All of this version is with the kernel.
    virtual void sent(std::uint64_t stream, std::uint64_t version) = 0;
    virtual void closed(std::uint64_t stream) = 0;
};

struct Method {
    std::string path;  // "/v1beta1.DevicePlugin/Allocate"
    std::variant<Unary, Feed*, Patient> serve;
};

/// What a server takes at most; more is refused.
struct Limits {
    std::size_t request_bytes = 4 << 20;
    std::size_t held_bytes = 16 << 20;  // of all requests that are not answered yet
    unsigned calls_per_connection = 128;
    unsigned connections = 64;
};

}  // namespace aliquot::rpc
