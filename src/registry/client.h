// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "registry/challenge.h"
#include "registry/login.h"
#include "registry/reference.h"
#include "registry/transfer.h"

namespace aliquot::registry {

struct ClientOptions {
    std::string ca_file;         // who signs the registry's certificate; empty: the system's
    bool plain_http = false;     // without TLS; a login is then sent to this host only
    std::optional<Login> login;  // none: as anybody may
    Deadline until =
        std::chrono::steady_clock::now() + std::chrono::minutes(10);  // of all calls together
    std::chrono::milliseconds first_wait{
        1'000};  // before another try of what is busy; doubled each time
};

/// A manifest as it came.
struct ManifestText {
    std::string text;
    std::string media_type;
    std::string digest;  // of the text
};

/// Reads one repository of a registry. Asks for a token when the registry wants one; follows redirects to where blobs are
/// kept, without the token there; tries again what is busy (429, 5xx), three times. Not thread-safe.
/// errors common to all   kNotFound: no such image; kPermission: another login is needed; kUnavailable: nobody answers,
///                        or it stays busy; kInvalidInput: what came is not what its digest says, or beyond a limit
class Client {
public:
    Client(Reference image, ClientOptions options);

    /// version   a tag, or a digest that is held against what comes
    Result<ManifestText> manifest(const std::string& version);
    Result<std::string> blob(const std::string& digest, std::size_t most_bytes);
    /// A blob piece by piece; what is wrong with it is told at its end.
    /// size   what the manifest says: more is an error
    Result<Done> stream(const std::string& digest, std::uint64_t size,
                        const std::function<bool(std::string_view bytes)>& take);

private:
    using Sink = std::function<bool(std::string_view bytes)>;
    Result<Got> ask(const std::string& path, const std::string& accept, std::size_t most_bytes,
                    const Sink& sink);
    Result<Got> follow(std::string url, const std::string& accept, std::size_t most_bytes,
                       const Sink& sink);
    Result<Done> authorize(const Got& refusal);
    Result<std::string> token(const Challenge& challenge);
    [[nodiscard]] bool may_ask(const std::string& url) const;
    [[nodiscard]] Error error_of(const Got& got, const std::string& what) const;

    const Reference image_;
    const ClientOptions options_;
    const std::string base_;     // "https://ghcr.io"
    std::string authorization_;  // of the registry; a secret
};

}  // namespace aliquot::registry
