// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// HTTP/1.x as bytes (RFC 9110, RFC 9112). Pure.
namespace aliquot::http {

struct Request {
    std::string method;  // "GET"
    std::string path;    // decoded, without the query: "/metrics"
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    std::map<std::string, std::string> headers;              // names in lower case
    std::string body;
    std::string peer_name;  // common name of a client certificate that was verified; else empty
    /// First value of a parameter; empty: there is none.
    [[nodiscard]] std::string_view parameter(std::string_view name) const;
    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

struct Answer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    /// For bodies that many askers share: used instead of `body` when set.
    std::shared_ptr<const std::string> shared_body;
    std::vector<std::pair<std::string, std::string>> headers;
};

using Handler = std::function<Answer(const Request&)>;  // thread-safe; for HEAD asked as GET

inline constexpr std::size_t kMostTargetBytes = 8192;
inline constexpr std::size_t kMostHeadBytes = 16384;

/// What stands before the body of a request.
struct Head {
    Request request;  // without body and peer name
    bool keep_alive = false;
    bool expects_continue = false;
    std::uint64_t body_bytes = 0;
    std::size_t head_bytes = 0;  // of the input, the empty line included
};

struct Reading {
    enum class State : std::uint8_t { kIncomplete, kRefused, kComplete };
    State state = State::kIncomplete;
    int status = 400;  // of a refusal
    std::string reason;
    Head head;
};

/// Reads the head of the first request in `bytes`. Refuses what RFC 9112 leaves to guessing: folded
/// lines, a length that is given twice, bodies in chunks (411).
Reading read_head(std::string_view bytes);

/// "%2Fa+b" gives "/a+b", and "/a b" where plus means a space. An escape that is none stays as it
/// is.
std::string percent_decoded(std::string_view text, bool plus_is_space);

/// Bytes of an answer but for its body.
struct AnswerHead {
    int status = 200;
    std::string_view content_type;
    std::size_t body_bytes = 0;
    bool gzip = false;
    bool varies = false;  // by Accept-Encoding
    bool close = false;
};
/// extra   further fields; one with a line break in it is left out
std::string write_head(const AnswerHead& head,
                       const std::vector<std::pair<std::string, std::string>>& extra);

}  // namespace aliquot::http
