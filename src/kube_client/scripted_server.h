// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: an HTTP/1.1 server on a loopback port that does what a function says. Not http::Server nor
// sim/apiserver: it is silent, lies about lengths and cuts an answer anywhere, which neither does.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace aliquot::kube_client {

class ScriptedServer {
public:
    /// One request and the way to answer it. For the script's thread.
    class Talk {
    public:
        Talk(int socket, std::stop_token stop) : socket_(socket), stop_(std::move(stop)) {}

        std::string method;
        std::string target;
        std::map<std::string, std::string> headers;  // names in lower case
        std::string body;

        void answer(int status, std::string_view text,
                    const std::vector<std::pair<std::string, std::string>>& more = {});
        void begin(int status);             // a stream: chunk(), then end() or cut()
        bool chunk(std::string_view text);  // false: the other side is gone
        void end();
        void cut() { cut_ = true; }  // breaks the connection, whatever was promised
        /// Until the other side closes or the server stops.
        void wait_gone();

    private:
        friend class ScriptedServer;
        bool send(std::string_view bytes);
        const int socket_;
        const std::stop_token stop_;
        bool cut_ = false;
    };
    using Script = std::function<void(Talk&)>;

    explicit ScriptedServer(Script script);
    ~ScriptedServer();
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] unsigned port() const { return port_; }
    [[nodiscard]] unsigned requests() const { return requests_; }

private:
    void accept(const std::stop_token& stop);
    void serve(int socket, const std::stop_token& stop);

    const Script script_;
    int listener_ = -1;
    unsigned port_ = 0;
    std::atomic<unsigned> requests_{0};
    std::mutex mutex_;
    std::vector<std::jthread> connections_;
    std::jthread thread_;
};

}  // namespace aliquot::kube_client
