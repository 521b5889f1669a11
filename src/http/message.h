// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// HTTP/1.x as bytes (RFC 9110, RFC 9112). Pure.
namespace aliquot::http {

/// Whose process is at the other end of a unix socket, as the kernel says it of the moment of connect().
struct LocalUser {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};

struct Request {
    std::string method;  // "GET"
    std::string target;  // as it came: "/metrics?x=%20"
    std::string path;    // decoded, without the query: "/metrics"
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    std::map<std::string, std::string> headers;              // names in lower case
    std::string body;
    // Of a client certificate that was verified; else empty.
    std::string peer_name;                 // its common name
    std::vector<std::string> peer_groups;  // its organisations
    std::optional<LocalUser> local_user;   // where it came through a unix socket
    /// First value of a parameter; empty: there is none.
    [[nodiscard]] std::string_view parameter(std::string_view name) const;
    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

/// Where an answer of unknown length is written, part by part. Used by one thread.
class Stream {
public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;

    /// Sends a part; waits while more than 1 MiB is on its way. False: the reader has gone, is too
    /// slow (ServerOptions::request_limit) or the server ends; write no more.
    virtual bool write(std::string_view bytes) = 0;
    /// Whether somebody still reads. Cheap: to be asked at least every second or so while there is
    /// nothing to write, as a server that ends waits for it.
    virtual bool alive() = 0;
    /// Ends the connection after what was written, without an orderly end of the answer.
    virtual void break_off() = 0;
};

struct Response {
    int status = 200;  // 0: no answer at all, the connection is closed
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    /// For bodies that many askers share: used instead of `body` when set.
    std::shared_ptr<const std::string> shared_body;
    std::vector<std::pair<std::string, std::string>> headers;
    /// Writes the body, on a thread of its own, instead of the two above when set.
    std::function<void(Stream&)> stream;
    /// Takes the answer when there is one, from any thread, instead of all of the above when set: called once, on the
    /// handler's thread, which it does not hold up. An answer that nobody gives is 500. No stream, no later.
    std::function<void(std::function<void(Response)> answer)> later;
};

using Handler = std::function<Response(const Request&)>;  // thread-safe; for HEAD asked as GET

inline constexpr std::size_t kMostTargetBytes = 8192;
inline constexpr std::size_t kMostHeadBytes = 16384;

/// What stands before the body of a request.
struct Head {
    Request request;  // without body and peer name
    bool keep_alive = false;
    bool takes_chunks = false;  // HTTP/1.1
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

/// Reads "/pods?limit=2": path, query and the target itself.
void read_target(std::string_view target, Request& request);

/// "%2Fa+b" gives "/a+b", and "/a b" where plus means a space. An escape that is none stays as it
/// is.
enum class Plus : std::uint8_t { kIsItself, kIsSpace };  // the latter in queries
std::string percent_decoded(std::string_view text, Plus plus);

/// Bytes of an answer but for its body.
struct ResponseHead {
    int status = 200;
    std::string_view content_type;
    enum class Length : std::uint8_t { kKnown, kChunks, kUntilClose };
    Length length = Length::kKnown;
    std::size_t body_bytes = 0;  // when known
    bool gzip = false;
    bool varies = false;  // by Accept-Encoding
    bool close = false;
};
/// extra   further fields; one with a line break in it is left out
std::string write_head(const ResponseHead& head,
                       const std::vector<std::pair<std::string, std::string>>& extra);

}  // namespace aliquot::http
