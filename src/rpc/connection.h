// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "rpc/body.h"
#include "rpc/method.h"
#include "rpc/transport.h"

namespace aliquot::rpc {

/// What the connections of one server have in common. Of the server's thread.
struct Shared {
    const std::vector<Method>& methods;
    const Limits& limits;
    std::size_t held_bytes = 0;     // of requests that are not answered yet
    std::uint64_t last_stream = 0;  // the number that the newest stream of a Feed has
};

/// One connection of a server. Not thread-safe.
class Connection {
public:
    /// shared   must outlive the connection
    Connection(Descriptor socket, Shared& shared);
    ~Connection();  // tells the feeds of its streams
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Does what poll() reported. False: it is over, from this or the other side.
    bool handle(short revents);

    /// The feeds have something new. False: as handle().
    bool wake();

    /// Takes no more calls (GOAWAY). False: as handle().
    bool refuse_more();

    /// No call is open, and all is sent.
    [[nodiscard]] bool idle() const { return calls_.empty() && transport_.flushed(); }

    [[nodiscard]] int descriptor() const { return transport_.descriptor(); }
    [[nodiscard]] short events() const { return transport_.events(); }

private:
    struct Call;
    struct Hooks;  // what nghttp2 calls

    Call* find(std::int32_t id);
    void begin(std::int32_t id);
    static void take_header(Call& call, std::string_view name, std::string_view value);
    void route(std::int32_t id, Call& call);
    void take_body(std::int32_t id, Call& call, std::string_view bytes);
    void dispatch(std::int32_t id, Call& call);
    Status run(const Call& call, std::string& message) const;
    void end(std::int32_t id);

    void open_stream(std::int32_t id, Call& call);
    void answer(std::int32_t id, Call& call, Status status, std::string_view message);
    void refuse(std::int32_t id, Call& call, std::string_view http_status);
    long fill(std::int32_t id, Call& call, std::uint8_t* into, std::size_t room,
              std::uint32_t& flags);
    bool next_message(std::int32_t id, Call& call, std::uint32_t& flags);
    void drop_body(Call& call);
    bool flush();

    Shared& shared_;
    Transport transport_;
    std::map<std::int32_t, std::unique_ptr<Call>> calls_;
    std::unique_ptr<Call> spare_;      // the last one that ended, for its memory
    std::vector<std::int32_t> asked_;  // calls whose request is whole
    Session session_;                  // last: its end closes the streams
};

}  // namespace aliquot::rpc
