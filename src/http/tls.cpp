// SPDX-License-Identifier: Apache-2.0
#include "http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>

#include "os/root.h"

namespace aliquot::http {
namespace {

/// OpenSSL's own socket BIO writes with write(), which raises SIGPIPE; this one does not.
int socket_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
}

int send_bytes(BIO* bio, const char* bytes, int size) {
    ::BIO_clear_retry_flags(bio);
    const ssize_t sent =
        ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) ::BIO_set_retry_write(bio);
    return static_cast<int>(sent);
}

int receive_bytes(BIO* bio, char* room, int size) {
    ::BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(socket_of(bio), room, static_cast<std::size_t>(size), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) ::BIO_set_retry_read(bio);
    return static_cast<int>(got);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/// Made once, never freed: sessions on other threads may still use it at exit.
BIO_METHOD* socket_method() {
    static BIO_METHOD* const kMethod = [] {
        BIO_METHOD* const made = ::BIO_meth_new(BIO_TYPE_SOURCE_SINK | 100, "socket");
        ::BIO_meth_set_write(made, send_bytes);
        ::BIO_meth_set_read(made, receive_bytes);
        ::BIO_meth_set_ctrl(made, control);
        return made;
    }();
    return kMethod;
}

/// source   SSL_CTX_set_alpn_select_cb(3); a client that does not know ours is refused
int agree_on_protocol(SSL* /*session*/, const unsigned char** chosen, unsigned char* size,
                      const unsigned char* offered, unsigned offered_size, void* own) {
    const auto& text = *static_cast<const std::string*>(own);
    unsigned char* selected = nullptr;
    const int found = ::SSL_select_next_proto(
        &selected, size, reinterpret_cast<const unsigned char*>(text.data()),
        static_cast<unsigned>(text.size()), offered, offered_size);
    *chosen = selected;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::string last_reason() {
    const unsigned long code = ::ERR_peek_last_error();
    ::ERR_clear_error();
    const char* const reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
    return reason == nullptr ? "unreadable" : reason;
}

Error bad_file(const std::string& file, std::string_view expected) {
    const auto status = os::Root().status(file);
    if (!status) return status.error();
    return {ErrorCode::kInvalidInput,
            file + ": " + last_reason() + "; expected " + std::string(expected)};
}

int version_of(std::string_view name) { return name == "TLS13" ? TLS1_3_VERSION : TLS1_2_VERSION; }

std::string text_of(const ASN1_STRING* value) {
    return {reinterpret_cast<const char*>(::ASN1_STRING_get0_data(value)),
            static_cast<std::size_t>(::ASN1_STRING_length(value))};
}

bool has_name(X509* certificate, const std::vector<std::string>& allowed) {
    auto* const names = static_cast<GENERAL_NAMES*>(
        ::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    if (names == nullptr) return false;
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !found; ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_IPADD) {
            const ASN1_OCTET_STRING* const address = name->d.iPAddress;
            found = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& text) {
                ASN1_OCTET_STRING* const wanted = ::a2i_IPADDRESS(text.c_str());
                const bool same =
                    wanted != nullptr && ::ASN1_OCTET_STRING_cmp(wanted, address) == 0;
                ::ASN1_OCTET_STRING_free(wanted);
                return same;
            });
        } else if (name->type == GEN_DNS || name->type == GEN_EMAIL || name->type == GEN_URI) {
            found =
                std::find(allowed.begin(), allowed.end(), text_of(name->d.ia5)) != allowed.end();
        }
    }
    ::GENERAL_NAMES_free(names);
    return found;
}

int accept_any_certificate(int /*good*/, X509_STORE_CTX* /*chain*/) { return 1; }

int accept_allowed_name(int good, X509_STORE_CTX* chain) {
    if (good == 0 || ::X509_STORE_CTX_get_error_depth(chain) != 0) return good;
    const auto* const session = static_cast<SSL*>(
        ::X509_STORE_CTX_get_ex_data(chain, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
    const auto* const allowed =
        static_cast<const std::vector<std::string>*>(SSL_get_app_data(session));
    if (allowed == nullptr || has_name(::X509_STORE_CTX_get_current_cert(chain), *allowed)) {
        return 1;
    }
    ::X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

int no_passphrase(char* /*room*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

Result<Done> load_certificate(SSL_CTX* context, const Tls& tls) {
    if (::SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str()) != 1) {
        return bad_file(tls.certificate_file, "a certificate in PEM, then those above it");
    }
    // With a key of another certificate OpenSSL takes the key and drops the certificate: compare
    // first.
    if (::SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ::SSL_CTX_check_private_key(context) != 1) {
        return bad_file(tls.key_file,
                        "the key of " + tls.certificate_file + " in PEM, without passphrase");
    }
    return Done{};
}

Result<Done> load_client_authority(SSL_CTX* context, const std::string& file) {
    STACK_OF(X509_NAME)* const names = ::SSL_load_client_CA_file(file.c_str());
    if (names == nullptr || ::SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
        sk_X509_NAME_pop_free(names, ::X509_NAME_free);
        return bad_file(file, "certificates of authorities in PEM");
    }
    ::SSL_CTX_set_client_CA_list(context, names);
    return Done{};
}

}  // namespace

TlsContext::TlsContext() {
    static std::once_flag started;
    // No openssl.cnf: it could name modules that a single file does not bring along.
    std::call_once(started, [] { ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); });
    context_ = ::SSL_CTX_new(::TLS_server_method());
}

TlsContext::~TlsContext() { ::SSL_CTX_free(context_); }

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const Tls& tls,
                                                           const std::string& protocol) {
    const std::shared_ptr<TlsContext> made(new TlsContext());
    SSL_CTX* const context = made->context_;
    if (context == nullptr) return Error{ErrorCode::kInternal, "TLS: " + last_reason()};
    ::ERR_clear_error();
    ::SSL_CTX_set_min_proto_version(context, version_of(tls.min_version));
    ::SSL_CTX_set_max_proto_version(context, version_of(tls.max_version));
    ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    ::SSL_CTX_set_num_tickets(context, 0);
    ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // Idle connections give their buffers back: 34 KiB each.
    ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    ::SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (auto loaded = load_certificate(context, tls); !loaded) return std::move(loaded).error();
    made->verifies_ = tls.client_auth == Tls::ClientAuth::kVerify ||
                      tls.client_auth == Tls::ClientAuth::kVerifyIfGiven;
    if (made->verifies_) {
        if (auto loaded = load_client_authority(context, tls.client_ca_file); !loaded) {
            return std::move(loaded).error();
        }
    }
    made->allowed_names_ = tls.allowed_client_names;
    if (!protocol.empty()) {
        made->protocol_ = static_cast<char>(protocol.size()) + protocol;
        ::SSL_CTX_set_alpn_select_cb(context, agree_on_protocol, &made->protocol_);
    }
    const bool must =
        tls.client_auth == Tls::ClientAuth::kRequire || tls.client_auth == Tls::ClientAuth::kVerify;
    if (tls.client_auth != Tls::ClientAuth::kNone) {
        ::SSL_CTX_set_verify(context,
                             SSL_VERIFY_PEER | (must ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                             made->verifies_ ? accept_allowed_name : accept_any_certificate);
    }
    return std::shared_ptr<const TlsContext>(made);
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, int socket)
    : context_(std::move(context)), session_(::SSL_new(context_->context_)) {
    BIO* const bio = ::BIO_new(socket_method());
    if (session_ == nullptr || bio == nullptr) {  // no memory: the first call says kClosed
        ::BIO_free(bio);
        return;
    }
    ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(session_, bio, bio);
    ::SSL_set_accept_state(session_);
    if (!context_->allowed_names_.empty()) {
        SSL_set_app_data(session_,
                         const_cast<std::vector<std::string>*>(&context_->allowed_names_));
    }
}

TlsSession::~TlsSession() { ::SSL_free(session_); }

Progress TlsSession::progress_of(int result) {
    switch (::SSL_get_error(session_, result)) {
        case SSL_ERROR_NONE:
            return Progress::kDone;
        case SSL_ERROR_WANT_READ:
            return Progress::kWantsRead;
        case SSL_ERROR_WANT_WRITE:
            return Progress::kWantsWrite;
        default:
            break;
    }
    const bool plain = ERR_GET_REASON(::ERR_peek_error()) == SSL_R_HTTP_REQUEST;
    ::ERR_clear_error();
    return plain ? Progress::kPlainHttp : Progress::kClosed;
}

Progress TlsSession::greet() {
    if (session_ == nullptr) return Progress::kClosed;
    ::ERR_clear_error();
    return progress_of(::SSL_do_handshake(session_));
}

Progress TlsSession::read(std::span<char> room, std::size_t& bytes) {
    bytes = 0;
    ::ERR_clear_error();
    return progress_of(::SSL_read_ex(session_, room.data(), room.size(), &bytes));
}

Progress TlsSession::write(std::string_view text, std::size_t& bytes) {
    bytes = 0;
    ::ERR_clear_error();
    return progress_of(::SSL_write_ex(session_, text.data(), text.size(), &bytes));
}

void TlsSession::close() {
    if (session_ == nullptr || ::SSL_is_init_finished(session_) == 0) return;
    ::ERR_clear_error();
    ::SSL_shutdown(session_);
    ::ERR_clear_error();
}

std::vector<std::string> TlsSession::subject(int field) const {
    std::vector<std::string> found;
    if (!context_->verifies_ || ::SSL_get_verify_result(session_) != X509_V_OK) return found;
    const X509* const certificate = ::SSL_get0_peer_certificate(session_);
    if (certificate == nullptr) return found;
    const X509_NAME* const subject = ::X509_get_subject_name(certificate);
    for (int at = ::X509_NAME_get_index_by_NID(subject, field, -1); at >= 0;
         at = ::X509_NAME_get_index_by_NID(subject, field, at)) {
        unsigned char* utf8 = nullptr;
        const int size = ::ASN1_STRING_to_UTF8(
            &utf8, ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
        if (size < 0) return {};
        found.emplace_back(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
        ::OPENSSL_free(utf8);
        // "front-proxy\0.evil" is not "front-proxy".
        if (found.back().contains('\0')) return {};
    }
    return found;
}

std::string TlsSession::peer_name() const {
    const auto names = subject(NID_commonName);
    return names.empty() ? std::string{} : names.front();
}

std::vector<std::string> TlsSession::peer_groups() const { return subject(NID_organizationName); }

}  // namespace aliquot::http
