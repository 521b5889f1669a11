// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/access.h"

struct ssl_st;
struct ssl_ctx_st;

/// TLS over a non-blocking socket. The only place that knows OpenSSL's.
namespace aliquot::http {

/// A certificate with its rules, loaded. Immutable, thread-safe.
class TlsContext {
public:
    /// errors   kInvalidInput: a file that does not hold what it should, a key that is not the
    ///          certificate's; kNotFound, kPermission
    /// protocol   what is agreed with clients that ask (ALPN): "h2"; empty: not spoken about
    static Result<std::shared_ptr<const TlsContext>> load(const Tls& tls,
                                                          const std::string& protocol = "");
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

private:
    friend class TlsSession;
    TlsContext();
    ssl_ctx_st* context_ = nullptr;
    bool verifies_ = false;
    std::vector<std::string> allowed_names_;
    std::string protocol_;  // as ALPN has it: its length in front
};

/// How far an operation on a non-blocking transport came.
enum class Progress : std::uint8_t { kDone, kWantsRead, kWantsWrite, kClosed, kPlainHttp };

/// One connection's TLS. Not thread-safe.
class TlsSession {
public:
    TlsSession(std::shared_ptr<const TlsContext> context, int socket);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    /// kPlainHttp: the other side speaks HTTP without TLS.
    Progress greet();
    /// bytes   how many were read or written when kDone
    Progress read(std::span<char> room, std::size_t& bytes);
    Progress write(std::string_view text, std::size_t& bytes);
    /// Says good-bye; does not wait.
    void close();
    /// Common name of the client's verified certificate; else empty.
    [[nodiscard]] std::string peer_name() const;
    /// Its organisations.
    [[nodiscard]] std::vector<std::string> peer_groups() const;

private:
    /// What the subject of that certificate says of a field (a NID), in its order.
    [[nodiscard]] std::vector<std::string> subject(int field) const;
    Progress progress_of(int result);
    std::shared_ptr<const TlsContext> context_;
    ssl_st* session_ = nullptr;
};

}  // namespace aliquot::http
