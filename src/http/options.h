// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "http/access.h"

namespace aliquot::http {

struct ServerOptions {
    std::string address = ":9400";  // as listen_on() takes them; port 0: a free one
    Access access;
    unsigned socket_mode = 0600;           // of a unix socket's file
    std::optional<unsigned> socket_group;  // its group, by number
    /// Others are 405; HEAD goes with GET. Empty: the handler gets them all.
    std::vector<std::string> methods = {"GET"};
    unsigned threads = 4;  // handlers at once; started when there is need
    /// Requests that are worked on at once, those that are answered later included. 0: as many as threads.
    unsigned most_requests = 0;
    unsigned most_large_bodies =
        1;  // of them with a body over 256 KiB, which a handler makes several times as much of
    /// Connections at once; never more than a quarter of the descriptors that the process may have.
    /// A further one takes the place of the one that is missed least: of a peer with many, that is not
    /// verified, that has been waited for longest.
    std::size_t most_connections = 512;
    /// What all connections together may hold, the kernel's buffers included; who holds most gives way.
    std::size_t most_bytes = std::size_t{16} << 20U;
    /// Of a request; a longer body is 413, unread. None is taken where passwords are asked for.
    std::size_t most_body_bytes = 0;
    std::vector<std::string> body_paths;  // that take one; empty: all do
    std::size_t most_streams = 16;        // at once, each with a thread; a further one is 503
    std::size_t compress_from = 1024;     // bytes of an answer's body
    /// To read a request (with the TLS greeting), and again to write its answer.
    std::chrono::milliseconds request_limit{10'000};
    std::chrono::milliseconds idle_limit{90'000};  // between the requests of a connection
};

}  // namespace aliquot::http
