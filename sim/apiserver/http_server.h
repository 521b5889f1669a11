// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aliquot::sim::apiserver {

struct HttpRequest {
    std::string method;
    std::string path;                                        // decoded, without the query
    std::vector<std::string> segments;                       // of the path, each decoded
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    std::map<std::string, std::string> headers;              // names in lower case
    std::string body;
    std::string peer_name;                 // of a client certificate that our CA signed
    std::vector<std::string> peer_groups;  // its organisations

    [[nodiscard]] std::string_view parameter(std::string_view name) const;
    [[nodiscard]] bool has_parameter(std::string_view name) const;
    [[nodiscard]] bool flag(std::string_view name) const;  // "true", "1" or without a value
    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

/// Where a long answer is written. Used by the thread of its connection.
class HttpStream {
public:
    virtual ~HttpStream() = default;
    /// False: the other side has gone or the server stops; write no more.
    virtual bool write(std::string_view bytes) = 0;
    /// False when nobody listens any more. Cheap.
    virtual bool alive() = 0;
    /// Ends the connection at once, without an orderly end of the answer.
    virtual void break_off() = 0;
};

/// A request line's parts as a request without headers and body.
HttpRequest read_request_target(std::string_view method, std::string_view target);

struct HttpAnswer {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    /// Writes an answer of unknown length instead of `body`.
    std::function<void(HttpStream&)> stream;
    bool break_connection = false;  // no answer at all: the connection is closed
};

/// Certificates in PEM. An empty certificate: plain HTTP.
struct HttpTls {
    std::string certificate;
    std::string key;
    std::string client_ca;  // certificates of clients are asked for and checked, none is needed
};

/// HTTP/1.1 on one port of a loopback address; one thread for each connection.
class HttpServer {
public:
    using Handler = std::function<HttpAnswer(const HttpRequest&)>;  // thread-safe

    /// address   "127.0.0.1:0"; port 0: a free one
    /// errors    kInvalidInput: address or certificate; kConflict: address in use
    static Result<std::unique_ptr<HttpServer>> listen(const std::string& address, HttpTls tls,
                                                      Handler handler);
    HttpServer() = default;
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    virtual ~HttpServer() = default;  // stops; open connections are cut

    [[nodiscard]] virtual unsigned port() const = 0;
    /// Cuts every open connection, as a restart would.
    virtual void cut_connections() = 0;
    [[nodiscard]] virtual std::size_t connections() const = 0;
};

}  // namespace aliquot::sim::apiserver
