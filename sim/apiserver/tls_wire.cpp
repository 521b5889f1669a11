// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/tls_wire.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

namespace aliquot::sim::apiserver {

namespace {

bool readable(int socket, int patience_ms) {
    pollfd wanted{socket, POLLIN, 0};
    int ready = 0;
    do {
        ready = ::poll(&wanted, 1, patience_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

class PlainWire final : public Wire {
public:
    explicit PlainWire(int socket) : socket_(socket) {}

    std::size_t read(char* buffer, std::size_t size, int patience_ms) override {
        if (!readable(socket_, patience_ms)) return 0;
        const ssize_t got = ::recv(socket_, buffer, size, 0);
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }

    bool write(std::string_view bytes) override {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

private:
    int socket_;
};

class TlsWire final : public Wire {
public:
    TlsWire(int socket, SSL* ssl) : socket_(socket), ssl_(ssl) {}
    TlsWire(const TlsWire&) = delete;
    TlsWire& operator=(const TlsWire&) = delete;
    ~TlsWire() override {
        SSL_shutdown(ssl_);
        SSL_free(ssl_);
        ERR_clear_error();
    }

    std::size_t read(char* buffer, std::size_t size, int patience_ms) override {
        if (SSL_pending(ssl_) == 0 && !readable(socket_, patience_ms)) return 0;
        const int got = SSL_read(ssl_, buffer, static_cast<int>(size));
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }

    bool write(std::string_view bytes) override {
        while (!bytes.empty()) {
            const int part = static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 20));
            const int sent = SSL_write(ssl_, bytes.data(), part);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    [[nodiscard]] std::string peer_name() const override {
        const std::vector<std::string> names = subject(NID_commonName);
        return names.empty() ? "" : names.front();
    }

    [[nodiscard]] std::vector<std::string> peer_groups() const override {
        return subject(NID_organizationName);
    }

private:
    [[nodiscard]] std::vector<std::string> subject(int nid) const {
        std::vector<std::string> found;
        X509* certificate = SSL_get0_peer_certificate(ssl_);
        if (certificate == nullptr || SSL_get_verify_result(ssl_) != X509_V_OK) return found;
        X509_NAME* name = X509_get_subject_name(certificate);
        for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
             at = X509_NAME_get_index_by_NID(name, nid, at)) {
            const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
            found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                               static_cast<std::size_t>(ASN1_STRING_length(text)));
        }
        return found;
    }

    int socket_;
    SSL* ssl_;
};

struct Pem {
    explicit Pem(const std::string& text)
        : bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))) {}
    Pem(const Pem&) = delete;
    Pem& operator=(const Pem&) = delete;
    ~Pem() { BIO_free(bio); }
    BIO* bio;
};

bool load(SSL_CTX* context, const HttpTls& tls) {
    const Pem certificate_text(tls.certificate);
    const Pem key_text(tls.key);
    X509* certificate = PEM_read_bio_X509(certificate_text.bio, nullptr, nullptr, nullptr);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text.bio, nullptr, nullptr, nullptr);
    const bool good = certificate != nullptr && key != nullptr &&
                      SSL_CTX_use_certificate(context, certificate) == 1 &&
                      SSL_CTX_use_PrivateKey(context, key) == 1;
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (!good || tls.client_ca.empty()) return good;
    const Pem ca_text(tls.client_ca);
    X509* ca = PEM_read_bio_X509(ca_text.bio, nullptr, nullptr, nullptr);
    if (ca == nullptr) return false;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
    SSL_CTX_add_client_CA(context, ca);
    X509_free(ca);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    return true;
}

/// Clients may offer h2 too; we speak HTTP/1.1.
int choose_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned offered_length, void* /*nothing*/) {
    static constexpr unsigned char kOurs[] = "\x08http/1.1";
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_length, kOurs, 9, offered, offered_length) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<TlsContext> make_tls_context(const HttpTls& tls) {
    if (tls.certificate.empty()) return TlsContext();
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    TlsContext owner(context, [](void* one) { SSL_CTX_free(static_cast<SSL_CTX*>(one)); });
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
    static constexpr unsigned char kSession[] = "aliquot";
    SSL_CTX_set_session_id_context(context, kSession, sizeof kSession - 1);
    SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
    if (!load(context, tls)) {
        ERR_clear_error();
        return Error{ErrorCode::kInvalidInput, "TLS: certificate and key cannot be used"};
    }
    return owner;
}

std::unique_ptr<Wire> Wire::open(int socket, const TlsContext& context) {
    const timeval limit{30, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (context == nullptr) return std::make_unique<PlainWire>(socket);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    SSL* ssl = SSL_new(static_cast<SSL_CTX*>(context.get()));
    SSL_set_fd(ssl, socket);
    if (SSL_accept(ssl) != 1) {
        SSL_free(ssl);
        ERR_clear_error();
        return nullptr;
    }
    return std::make_unique<TlsWire>(socket, ssl);
}

}  // namespace aliquot::sim::apiserver
