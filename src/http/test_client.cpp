// SPDX-License-Identifier: Apache-2.0
#include "http/test_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

namespace aliquot::http {
namespace {

void use(SSL_CTX* context, const TestCertificate& own) {
    BIO* const text = ::BIO_new_mem_buf(own.certificate.data(), -1);
    X509* const certificate = ::PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    ::SSL_CTX_use_certificate(context, certificate);
    ::X509_free(certificate);
    ::BIO_free(text);
    BIO* const key_text = ::BIO_new_mem_buf(own.key.data(), -1);
    EVP_PKEY* const key = ::PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
    ::SSL_CTX_use_PrivateKey(context, key);
    ::EVP_PKEY_free(key);
    ::BIO_free(key_text);
}

void trust(SSL_CTX* context, const TestCertificate& authority) {
    BIO* const text = ::BIO_new_mem_buf(authority.certificate.data(), -1);
    X509* const certificate = ::PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    ::X509_STORE_add_cert(::SSL_CTX_get_cert_store(context), certificate);
    ::X509_free(certificate);
    ::BIO_free(text);
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

}  // namespace

TestClient::TestClient(unsigned port, std::uint32_t own_address)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;  // else a request behind the greeting waits for a delayed ACK
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (own_address != 0) {
        ::setsockopt(socket_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(own_address);
        (void)::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own);
    }
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
        socket_ = Descriptor();
    }
}

TestClient::TestClient(unsigned port, const TlsSettings& settings) : TestClient(port) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes here; the server has no need of it
    context_ = ::SSL_CTX_new(::TLS_client_method());
    if (settings.authority != nullptr) trust(context_, *settings.authority);
    if (settings.own != nullptr) use(context_, *settings.own);
    if (settings.only_tls12) ::SSL_CTX_set_max_proto_version(context_, TLS1_2_VERSION);
    session_ = ::SSL_new(context_);
    ::SSL_set_fd(session_, socket_.get());
    greeted_ = ::SSL_connect(session_) == 1;
}

TestClient::~TestClient() {
    ::SSL_free(session_);
    ::SSL_CTX_free(context_);
}

bool TestClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent =
            session_ != nullptr
                ? ::SSL_write(session_, bytes.data(), static_cast<int>(bytes.size()))
                : ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool TestClient::more() {
    std::array<char, 16384> room{};
    const ssize_t got = session_ != nullptr
                            ? ::SSL_read(session_, room.data(), static_cast<int>(room.size()))
                            : ::recv(socket_.get(), room.data(), room.size(), 0);
    if (got <= 0) return false;
    input_.append(room.data(), static_cast<std::size_t>(got));
    return true;
}

std::optional<TestResponse> TestClient::receive(bool without_body) {
    std::size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
        if (!more()) return std::nullopt;
    }
    TestResponse answer;
    std::string_view head = std::string_view(input_).substr(0, end + 2);
    answer.status = std::atoi(head.substr(9, 3).data());
    head.remove_prefix(head.find("\r\n") + 2);
    while (!head.empty()) {
        const std::string_view line = head.substr(0, head.find("\r\n"));
        std::string name(line.substr(0, line.find(':')));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        answer.headers[name] = line.substr(line.find(':') + 2);
        head.remove_prefix(line.size() + 2);
    }
    input_.erase(0, end + 4);
    const auto length = answer.headers.find("content-length");
    const std::size_t size =
        without_body || length == answer.headers.end() ? 0 : std::stoul(length->second);
    while (input_.size() < size) {
        if (!more()) return std::nullopt;
    }
    answer.body = input_.substr(0, size);
    input_.erase(0, size);
    return answer;
}

std::optional<TestResponse> TestClient::get(const std::string& path,
                                            const std::string& more_headers) {
    if (!send("GET " + path + " HTTP/1.1\r\nHost: here\r\n" + more_headers + "\r\n")) {
        return std::nullopt;
    }
    return receive();
}

std::optional<std::string> TestClient::chunk() {
    std::size_t line = 0;
    while ((line = input_.find("\r\n")) == std::string::npos) {
        if (!more()) return std::nullopt;
    }
    const std::size_t size = std::stoul(input_.substr(0, line), nullptr, 16);
    while (input_.size() < line + 2 + size + 2) {
        if (!more()) return std::nullopt;
    }
    std::string part = input_.substr(line + 2, size);
    input_.erase(0, line + 2 + size + 2);
    return part;
}

bool TestClient::ends() {
    std::array<char, 4096> room{};
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), room.data(), room.size(), 0)) > 0) {
    }
    return got == 0 || errno == ECONNRESET;
}

std::string gunzip(const std::string& compressed) {
    z_stream stream{};
    ::inflateInit2(&stream, 15 + 16);
    std::string made(16UL << 20U, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream.avail_in = static_cast<uInt>(compressed.size());
    stream.next_out = reinterpret_cast<Bytef*>(made.data());
    stream.avail_out = static_cast<uInt>(made.size());
    const int end = ::inflate(&stream, Z_FINISH);
    made.resize(end == Z_STREAM_END ? stream.total_out : 0);
    ::inflateEnd(&stream);
    return made;
}

}  // namespace aliquot::http
