// SPDX-License-Identifier: Apache-2.0
#pragma once

// Only for the carrier's .cpp files: it brings libcurl.

#include <curl/curl.h>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kube_client/transport.h"

namespace aliquot::kube_client {

/// One request on its way: prepared by the caller's thread, carried by the loop's, waited for by
/// the caller's. `mutex` guards what both touch; the rest belongs to the loop once submitted.
class CurlTransfer {
public:
    CurlTransfer(HttpRequest http_request, const Destination& destination,
                 const TransportOptions& options, bool stream, Transport::Time until);
    ~CurlTransfer();
    CurlTransfer(const CurlTransfer&) = delete;
    CurlTransfer& operator=(const CurlTransfer&) = delete;

    /// Makes the easy handle; on the loop's thread. False: out of memory.
    bool prepare();
    [[nodiscard]] CURL* handle() const { return easy_; }
    void finish(CURLcode code);
    void stopped();  // it will not be carried any more

    // For the caller.
    /// Waits until `ready` of the state or the time; false: the time or a stop came first.
    template <class Ready>
    bool wait(Transport::Time until, const std::stop_token& stop, Ready ready) {
        std::unique_lock lock(mutex_);
        return changed_.wait_until(lock, stop, until, [&] { return ready(state_); });
    }

    struct State {
        int status = 0;      // of the final answer's head; 0: not yet
        bool begun = false;  // the head is whole
        bool done = false;
        std::optional<TransportError> failure;  // when done
        HttpResponse answer;                    // body: what is unread, of a stream
    };
    /// Takes what came of a stream's body.
    std::string take_body();
    State take_state();

private:
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
    static int on_socket(void* self, curl_socket_t socket, curlsocktype purpose);
    std::size_t body(std::string_view bytes);
    void header(std::string_view line);
    void set_headers();
    void set_security();
    void set_address();
    TransportError transport_error(CURLcode code) const;

    const HttpRequest letter_;
    const Destination destination_;
    const TransportOptions options_;
    const bool stream_;
    const Transport::Time until_;

    CURL* easy_ = nullptr;
    curl_slist* headers_ = nullptr;
    curl_slist* connect_to_ = nullptr;
    std::array<char, CURL_ERROR_SIZE> words_{};
    bool too_much_ = false;
    std::optional<Failure> refused_;  // by the sink

    std::mutex mutex_;
    std::condition_variable_any changed_;
    State state_;
};

}  // namespace aliquot::kube_client
