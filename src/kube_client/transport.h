// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kube_client/body_sink.h"
#include "kube_client/failure.h"
#include "kube_client/limits.h"
#include "kube_client/watch.h"

namespace aliquot::kube_client {

/// Who we are and whom we believe, at this moment. PEM texts; secrets: never for a log.
struct Identity {
    std::string ca_pem;  // empty: the system's
    std::string client_certificate_pem;
    std::string client_key_pem;
    std::string bearer_token;
};

/// Where requests go.
struct Destination {
    std::string url;              // "https://10.0.0.1:6443", no slash at its end
    std::string proxy_url;        // empty: as the environment says (never for loopback)
    std::string tls_server_name;  // empty: the host of the url
    bool insecure = false;        // any certificate is believed
};

/// One request on the wire.
struct HttpRequest {
    std::string method;
    std::string path;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::shared_ptr<const Identity> identity;
    std::string what;                  // for messages
    std::shared_ptr<BodySink> sink{};  // takes the body of a success, on the transport's thread
};

/// What came back.
struct HttpResponse {
    int status = 0;
    std::string body;
    std::optional<std::chrono::milliseconds> retry_after;
    std::vector<std::string> warnings;  // the texts of Warning headers
};

/// No answer came.
struct TransportError {
    Failure failure;
    bool sent = true;       // the server may have got the request and acted
    bool hopeless = false;  // another try would end the same: a certificate that is not believed
};

struct TransportOptions {
    Limits limits;
    std::chrono::milliseconds connect_limit{10'000};
    std::chrono::milliseconds silence_limit{30'000};  // of an unacknowledged connection
};

/// Carries HTTP with libcurl: HTTP/2 where the server offers it, so that all requests and watches
/// share a connection; one thread for all. Thread-safe.
class Transport {
public:
    using Time = std::chrono::steady_clock::time_point;
    template <class T>
    using Delivery = std::variant<T, TransportError>;

    explicit Transport(Destination destination, TransportOptions options = {});
    ~Transport();  // what is under way fails with kStopped
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    Delivery<HttpResponse> send(HttpRequest http_request, Time until, const std::stop_token& stop);

    struct Opened {
        std::unique_ptr<ByteStream> stream;  // empty: the status is no success, see `refusal`
        HttpResponse refusal;
    };
    /// until  the answer's first line must have come by then; the stream itself has no end
    Delivery<Opened> open(HttpRequest http_request, Time until, const std::stop_token& stop);

private:
    class Loop;
    std::shared_ptr<Loop> loop_;  // streams outlive a carrier without harm
};

}  // namespace aliquot::kube_client
