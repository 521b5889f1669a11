// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

/// How the programs of the simulated MPS speak to each other: lines over unix sockets. NVIDIA's own
/// protocol between them is not public; this one is ours.
namespace aliquot::sim::mps {

/// A connected socket that carries lines of at most 4096 bytes, and descriptors beside them.
/// Not thread-safe.
class LineSocket {
public:
    explicit LineSocket(int descriptor) : descriptor_(descriptor) {}
    LineSocket(LineSocket&& other) noexcept;
    LineSocket& operator=(LineSocket&& other) noexcept;
    LineSocket(const LineSocket&) = delete;
    LineSocket& operator=(const LineSocket&) = delete;
    ~LineSocket();

    /// errors   kNotFound: no socket there; kUnavailable: nobody listens; kPermission
    static Result<LineSocket> connect(const std::string& path);

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// Writes all of `text`, with `passed` (a descriptor; -1: none) beside its first byte. False:
    /// the other side is gone.
    bool send(std::string_view text, int passed = -1);

    /// Reads what is there without waiting. False: the other side has closed and nothing is left.
    bool receive();
    /// The next whole line that receive() has got, without its end; empty: none yet.
    std::optional<std::string> take_line();
    /// Waits for a line. Empty: closed, or not within `timeout` (negative: no limit).
    std::optional<std::string> wait_line(std::chrono::milliseconds timeout);
    /// A descriptor that came beside a line; -1: none. The caller closes it.
    int take_descriptor();

    struct Peer {
        pid_t pid = 0;
        uid_t uid = 0;
    };
    [[nodiscard]] Peer peer() const;

private:
    int descriptor_;
    std::string buffer_;
    int passed_ = -1;
};

}  // namespace aliquot::sim::mps
