// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/server.h"
#include "http/test_certificate.h"
#include "os/temporary_directory.h"
#include "registry/client.h"

namespace aliquot::registry {

/// A registry for tests, by the OCI distribution specification as far as pulls go: manifests, blobs, tokens of a server
/// of its own, redirects of blobs to another address, and what goes wrong.
class TestRegistry {
public:
    struct Rules {
        bool tls = false;
        bool wants_token = false;
        bool wants_basic = false;
        std::string login;  // "name:password" that a token, or basic access, costs; empty: none
        bool redirects = false;  // blobs lie at another address, which must not see a token
        unsigned busy = 0;       // so many requests are answered 429 first
        std::string refused;     // a digest whose blob is answered with other bytes
    };

    explicit TestRegistry(Rules rules);
    TestRegistry() : TestRegistry(Rules{}) {}

    [[nodiscard]] std::string host() const;  // "127.0.0.1:41234"
    [[nodiscard]] std::string ca_file() const;
    /// For an image of it: over plain HTTP where it has no TLS.
    [[nodiscard]] ClientOptions client_options() const;

    /// returns   its digest
    std::string put_blob(std::string bytes);
    std::string put_manifest(
        const std::string& tag, const std::string& text,
        const std::string& media_type = "application/vnd.oci.image.manifest.v1+json");
    /// A layer, the files by path in it, packed by gzip.
    std::string put_layer(const std::map<std::string, std::string>& files);
    /// A manifest of these layers (the lowest first) with a configuration for linux/amd64.
    std::string put_image(const std::string& tag, const std::vector<std::string>& layers);

    /// "GET /v2/ci/manifests/1 Bearer t", the later ones last.
    std::vector<std::string> seen();

private:
    http::Response answer(const http::Request& request);
    http::Response answer_registry(const http::Request& request);
    http::Response answer_token(const http::Request& request) const;
    [[nodiscard]] std::string url() const;

    const Rules rules_;
    const os::TemporaryDirectory directory_;
    std::mutex mutex_;
    std::map<std::string, std::string> blobs_;
    std::map<std::string, std::pair<std::string, std::string>> manifests_;  // by tag and digest
    std::vector<std::string> seen_;
    unsigned busy_ = 0;
    std::unique_ptr<http::Server> server_;
    std::unique_ptr<http::Server> store_;  // of redirected blobs
};

/// A tar file packed by gzip.
std::string packed_layer(const std::map<std::string, std::string>& files);

}  // namespace aliquot::registry
