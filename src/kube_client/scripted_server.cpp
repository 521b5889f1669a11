// SPDX-License-Identifier: Apache-2.0
#include "kube_client/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::kube_client {
namespace {

constexpr int kLookMs = 20;  // how often a stop is looked for

/// Reads what is there into `text`; false: closed, broken or stopped.
bool read_more(int socket, std::string& text, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, kLookMs) <= 0) continue;
        std::array<char, 4096> part{};
        const ssize_t got = ::recv(socket, part.data(), part.size(), 0);
        if (got <= 0) return false;
        text.append(part.data(), static_cast<std::size_t>(got));
        return true;
    }
    return false;
}

void read_head(std::string_view head, ScriptedServer::Talk& talk) {
    std::size_t end = head.find("\r\n");
    const std::string_view first = head.substr(0, end);
    const auto space = first.find(' ');
    talk.method = std::string(first.substr(0, space));
    talk.target = std::string(first.substr(space + 1, first.rfind(' ') - space - 1));
    while (end != std::string_view::npos && end + 2 < head.size()) {
        const std::size_t begin = end + 2;
        end = head.find("\r\n", begin);
        const std::string_view line = head.substr(begin, end - begin);
        const auto colon = line.find(": ");
        if (colon == std::string_view::npos) continue;
        talk.headers[lower(line.substr(0, colon))] = std::string(line.substr(colon + 2));
    }
}

}  // namespace

bool ScriptedServer::Talk::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void ScriptedServer::Talk::answer(int status, std::string_view text,
                                  const std::vector<std::pair<std::string, std::string>>& more) {
    std::string head =
        "HTTP/1.1 " + std::to_string(status) +
        " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(text.size()) +
        "\r\n";
    for (const auto& [name, value] : more) head += name + ": " + value + "\r\n";
    send(head + "\r\n" + std::string(text));
}

void ScriptedServer::Talk::begin(int status) {
    send("HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool ScriptedServer::Talk::chunk(std::string_view text) {
    std::array<char, 20> size{};
    const auto end = std::to_chars(size.data(), size.data() + size.size(), text.size(), 16).ptr;
    return send(std::string(size.data(), end) + "\r\n" + std::string(text) + "\r\n");
}

void ScriptedServer::Talk::end() { send("0\r\n\r\n"); }

void ScriptedServer::Talk::wait_gone() {
    std::string ignored;
    while (read_more(socket_, ignored, stop_)) ignored.clear();
}

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(listener_, 128);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { accept(stop); });
}

ScriptedServer::~ScriptedServer() {
    thread_ = {};
    connections_.clear();
    ::close(listener_);
}

void ScriptedServer::accept(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, kLookMs) <= 0) continue;
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) continue;
        const std::scoped_lock lock(mutex_);
        connections_.emplace_back(
            [this, socket](const std::stop_token& end) { serve(socket, end); });
    }
}

void ScriptedServer::serve(int socket, const std::stop_token& stop) {
    std::string text;
    bool open = true;
    while (open) {
        std::size_t head = std::string::npos;
        while (open && (head = text.find("\r\n\r\n")) == std::string::npos) {
            open = read_more(socket, text, stop);
        }
        if (!open) break;
        Talk talk(socket, stop);
        read_head(std::string_view(text).substr(0, head), talk);
        text.erase(0, head + 4);
        std::size_t length = 0;
        if (const auto at = talk.headers.find("content-length"); at != talk.headers.end()) {
            length = parse_number<std::size_t>(at->second).value_or(0);
        }
        while (open && text.size() < length) open = read_more(socket, text, stop);
        if (!open) break;
        talk.body = text.substr(0, length);
        text.erase(0, length);
        ++requests_;
        script_(talk);
        open = !talk.cut_;
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
}

}  // namespace aliquot::kube_client
