// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <optional>

#include "sim/apiserver/gzip.h"
#include "sim/apiserver/tls_wire.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr std::size_t kHeadBytesMax = 64U << 10;
constexpr std::size_t kBodyBytesMax = 8U << 20;
constexpr std::size_t kCompressFrom = 128U << 10;
constexpr int kIdleMs = 120'000;
constexpr int kBodyMs = 30'000;

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 413:
            return "Request Entity Too Large";
        case 415:
            return "Unsupported Media Type";
        case 422:
            return "Unprocessable Entity";
        case 429:
            return "Too Many Requests";
        case 500:
            return "Internal Server Error";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        default:
            return "Status";
    }
}

class Connection final : public HttpStream {
public:
    Connection(int socket, std::unique_ptr<Wire> wire, const HttpServer::Handler& handler,
               const std::atomic<bool>& stopping)
        : socket_(socket), wire_(std::move(wire)), handler_(handler), stopping_(stopping) {}

    void serve() {
        while (!stopping_ && !broken_) {
            auto request = read_request();
            if (!request) return;
            request->peer_name = wire_->peer_name();
            request->peer_groups = wire_->peer_groups();
            const HttpAnswer answer = handler_(*request);
            const bool last =
                lower(request->header("connection")).find("close") != std::string::npos;
            if (answer.break_connection || !send(*request, answer, last) || last) return;
        }
    }

    bool write(std::string_view bytes) override {
        if (broken_ || stopping_) return false;
        if (bytes.empty()) return true;
        std::array<char, 20> size{};
        const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16);
        chunk_.assign(size.data(), end.ptr);
        chunk_ += "\r\n";
        chunk_ += bytes;
        chunk_ += "\r\n";
        if (!wire_->write(chunk_)) broken_ = true;
        return !broken_;
    }

    bool alive() override {
        if (broken_ || stopping_) return false;
        pollfd wanted{socket_, POLLRDHUP, 0};
        if (::poll(&wanted, 1, 0) > 0 && (wanted.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
            broken_ = true;
        }
        return !broken_;
    }

    void break_off() override {
        broken_ = true;
        ::shutdown(socket_, SHUT_RDWR);
    }

private:
    bool more(int patience_ms) {
        std::array<char, 16384> part{};
        const std::size_t got = wire_->read(part.data(), part.size(), patience_ms);
        input_.append(part.data(), got);
        return got > 0;
    }

    void refuse(int status) {
        wire_->write("HTTP/1.1 " + std::to_string(status) + " " + std::string(reason_of(status)) +
                     "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }

    std::optional<HttpRequest> read_request() {
        std::size_t end = input_.find("\r\n\r\n");
        while (end == std::string::npos) {
            if (input_.size() > kHeadBytesMax) {
                refuse(431);
                return std::nullopt;
            }
            if (!more(kIdleMs)) return std::nullopt;
            end = input_.find("\r\n\r\n");
        }
        HttpRequest request;
        const std::string head = input_.substr(0, end);
        input_.erase(0, end + 4);
        if (!read_head(request, head)) {
            refuse(400);
            return std::nullopt;
        }
        if (request.header("expect") == "100-continue") {
            wire_->write("HTTP/1.1 100 Continue\r\n\r\n");
        }
        if (!read_body(request)) return std::nullopt;
        return request;
    }

    static bool read_head(HttpRequest& request, std::string_view head) {
        std::size_t line_end = head.find("\r\n");
        const std::vector<std::string_view> first = split(head.substr(0, line_end), ' ');
        if (first.size() != 3 || !first[2].starts_with("HTTP/1.") || !first[1].starts_with('/')) {
            return false;
        }
        request = read_request_target(first[0], first[1]);
        while (line_end != std::string_view::npos) {
            head.remove_prefix(line_end + 2);
            line_end = head.find("\r\n");
            const std::string_view line = head.substr(0, line_end);
            const std::size_t colon = line.find(':');
            if (colon == std::string_view::npos) return false;
            std::string& value = request.headers[lower(line.substr(0, colon))];
            if (!value.empty()) value += ", ";
            value += trim(line.substr(colon + 1));
        }
        return true;
    }

    bool read_body(HttpRequest& request) {
        if (lower(request.header("transfer-encoding")) == "chunked") return read_chunks(request);
        const auto length = parse_integer(request.header("content-length")).value_or(0);
        if (length < 0 || static_cast<std::size_t>(length) > kBodyBytesMax) {
            refuse(413);
            return false;
        }
        const auto wanted = static_cast<std::size_t>(length);
        while (input_.size() < wanted) {
            if (!more(kBodyMs)) return false;
        }
        request.body = input_.substr(0, wanted);
        input_.erase(0, wanted);
        return true;
    }

    bool read_chunks(HttpRequest& request) {
        while (true) {
            std::size_t line = input_.find("\r\n");
            while (line == std::string::npos) {
                if (!more(kBodyMs)) return false;
                line = input_.find("\r\n");
            }
            std::size_t size = 0;
            const auto read = std::from_chars(input_.data(), input_.data() + line, size, 16);
            if (read.ec != std::errc() || request.body.size() + size > kBodyBytesMax) {
                refuse(413);
                return false;
            }
            while (input_.size() < line + 2 + size + 2) {
                if (!more(kBodyMs)) return false;
            }
            request.body.append(input_, line + 2, size);
            input_.erase(0, line + 2 + size + 2);
            if (size == 0) return true;
        }
    }

    bool send(const HttpRequest& request, const HttpAnswer& answer, bool last) {
        std::string out = "HTTP/1.1 " + std::to_string(answer.status) + " " +
                          std::string(reason_of(answer.status)) + "\r\n";
        out += "Content-Type: " + answer.content_type + "\r\n";
        for (const auto& header : answer.headers)
            out += header.first + ": " + header.second + "\r\n";
        if (last) out += "Connection: close\r\n";
        if (answer.stream) {
            out += "Transfer-Encoding: chunked\r\n\r\n";
            if (!wire_->write(out)) return false;
            answer.stream(*this);
            return !broken_ && wire_->write("0\r\n\r\n");
        }
        std::string packed;
        if (answer.body.size() >= kCompressFrom &&
            request.header("accept-encoding").find("gzip") != std::string_view::npos) {
            packed = gzip(answer.body);
            out += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";
        }
        const std::string& body = packed.empty() ? answer.body : packed;
        out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
        if (request.method != "HEAD") out += body;
        return wire_->write(out);
    }

    int socket_;
    std::unique_ptr<Wire> wire_;
    const HttpServer::Handler& handler_;
    const std::atomic<bool>& stopping_;
    std::string input_;
    std::string chunk_;
    bool broken_ = false;
};

}  // namespace

void serve_connection(int socket, const TlsContext& context, const HttpServer::Handler& handler,
                      const std::atomic<bool>& stopping) {
    // OpenSSL writes without MSG_NOSIGNAL: a peer that has gone must not end the process.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    auto wire = Wire::open(socket, context);
    if (wire == nullptr) return;
    Connection(socket, std::move(wire), handler, stopping).serve();
}

}  // namespace aliquot::sim::apiserver
