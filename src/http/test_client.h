// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "http/test_certificate.h"

struct ssl_st;
struct ssl_ctx_st;

namespace aliquot::http {

/// What came back, as it came.
struct TestResponse {
    int status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
};

/// A client on one connection that speaks bytes. Every wait ends after ten seconds.
class TestClient {
public:
    struct TlsSettings {
        const TestCertificate* authority = nullptr;  // the server must be of it
        const TestCertificate* own = nullptr;
        bool only_tls12 = false;
    };

    /// own_address   where it comes from: 0x7f000001 is 127.0.0.1; others of 127.0.0.0/8 are other peers
    explicit TestClient(unsigned port, std::uint32_t own_address = 0);
    TestClient(unsigned port, const TlsSettings& settings);
    ~TestClient();
    TestClient(const TestClient&) = delete;
    TestClient& operator=(const TestClient&) = delete;

    /// Whether the TLS greeting went well.
    [[nodiscard]] bool greeted() const { return greeted_; }
    bool send(std::string_view bytes);
    /// One answer; nothing when the connection ended first.
    std::optional<TestResponse> receive(bool without_body = false);
    /// The next part of an answer that is written in chunks; empty: its end. Nothing when the
    /// connection ended first.
    std::optional<std::string> chunk();
    std::optional<TestResponse> get(const std::string& path, const std::string& more_headers = "");
    /// Whether the server ends the connection (what it still says is thrown away).
    bool ends();

private:
    bool more();

    Descriptor socket_;
    ssl_ctx_st* context_ = nullptr;
    ssl_st* session_ = nullptr;
    bool greeted_ = false;
    std::string input_;
};

/// What gzip made, as it was.
std::string gunzip(const std::string& compressed);

}  // namespace aliquot::http
