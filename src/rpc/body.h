// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "rpc/status.h"

namespace aliquot::rpc {

/// One message as gRPC frames it: a byte that says whether it is compressed, four for its length
/// (big-endian), the message.
std::string framed(std::string_view message);

/// The frames of a call that has exactly one message, as its bytes come in. Keeps its memory for
/// the next call. Not thread-safe.
class Body {
public:
    /// limit   bytes; a longer message is refused as soon as its length is known
    explicit Body(std::size_t limit) : limit_(limit) {}

    /// Not ok: what has to be answered; later bytes are dropped.
    Status add(std::string_view bytes);

    /// The end has come: ok if there was exactly one message.
    [[nodiscard]] Status check() const;

    /// After check(): without its frame.
    [[nodiscard]] std::string_view message() const {
        return std::string_view(bytes_).substr(kPrefix);
    }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    void clear();

private:
    static constexpr std::size_t kPrefix = 5;
    static constexpr std::size_t kKeptBytes = 64 << 10;

    [[nodiscard]] std::size_t length() const;

    std::size_t limit_;
    std::string bytes_;
    bool refused_ = false;
};

/// The frames of a stream of messages, as its bytes come in. Not thread-safe.
class Messages {
public:
    /// limit   bytes of one message
    explicit Messages(std::size_t limit) : limit_(limit) {}

    /// Appends to `whole` what is complete now. Not ok: the stream cannot go on.
    Status add(std::string_view bytes, std::deque<std::string>& whole);

    /// The end has come: ok if no message is cut short.
    [[nodiscard]] Status check() const;

private:
    std::size_t limit_;
    std::string bytes_;  // of the message that is not complete
};

}  // namespace aliquot::rpc
