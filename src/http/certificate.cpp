// SPDX-License-Identifier: Apache-2.0
#include "http/certificate.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

namespace aliquot::http {
namespace {

struct Freer {
    void operator()(BIO* bio) const { ::BIO_free(bio); }
    void operator()(X509* certificate) const { ::X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
    void operator()(X509_EXTENSION* extension) const { ::X509_EXTENSION_free(extension); }
};
template <class T>
using Owned = std::unique_ptr<T, Freer>;

Error failed(ErrorCode code, const std::string& what) {
    ::ERR_clear_error();
    return {code, "certificate: " + what};
}

Owned<BIO> reader(const std::string& text) {
    return Owned<BIO>(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string taken(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
}

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const Owned<X509_EXTENSION> extension(
        ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    return extension != nullptr && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Names and times; a serial number that nobody can guess.
bool fill(X509* made, X509* issuer, EVP_PKEY* key, const std::string& name,
          std::chrono::seconds valid_for, Instant now) {
    constexpr long kSecondsEarlier = -300;  // clocks differ
    constexpr long kSecondsOfDay = 86'400;
    const std::time_t begin = std::chrono::system_clock::to_time_t(now);
    std::array<unsigned char, 16> serial{};
    if (::RAND_bytes(serial.data(), serial.size()) != 1) return false;
    serial[0] &= 0x7fU;
    BIGNUM* const number = ::BN_bin2bn(serial.data(), serial.size(), nullptr);
    ::BN_to_ASN1_INTEGER(number, ::X509_get_serialNumber(made));
    ::BN_free(number);
    ::X509_set_version(made, 2);
    std::time_t from = begin;
    ::X509_time_adj_ex(::X509_getm_notBefore(made), 0, kSecondsEarlier, &from);
    std::time_t until = begin;
    ::X509_time_adj_ex(::X509_getm_notAfter(made),
                       static_cast<int>(valid_for.count() / kSecondsOfDay),
                       static_cast<long>(valid_for.count() % kSecondsOfDay), &until);
    return ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                                        reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                                        -1, 0) == 1 &&
           ::X509_set_issuer_name(made, ::X509_get_subject_name(issuer)) == 1 &&
           ::X509_set_pubkey(made, key) == 1;
}

Result<Certificate> written(X509* made, EVP_PKEY* key) {
    const Owned<BIO> certificate(::BIO_new(::BIO_s_mem()));
    const Owned<BIO> key_text(::BIO_new(::BIO_s_mem()));
    if (::PEM_write_bio_X509(certificate.get(), made) != 1 ||
        ::PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
            1) {
        return failed(ErrorCode::kInternal, "cannot be written");
    }
    return Certificate{.certificate = taken(certificate.get()), .key = taken(key_text.get())};
}

int no_passphrase(char* /*room*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

Owned<X509> certificate_of(const std::string& pem) {
    return Owned<X509>(::PEM_read_bio_X509(reader(pem).get(), nullptr, no_passphrase, nullptr));
}

Owned<EVP_PKEY> key_of(const std::string& pem) {
    return Owned<EVP_PKEY>(
        ::PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, no_passphrase, nullptr));
}

Instant instant_of(const ASN1_TIME* time) {
    std::tm parts{};
    if (::ASN1_TIME_to_tm(time, &parts) != 1) return {};
    constexpr int kFirstYear = 1900;
    namespace chrono = std::chrono;
    const chrono::sys_days day = chrono::year(parts.tm_year + kFirstYear) /
                                 chrono::month(static_cast<unsigned>(parts.tm_mon) + 1) /
                                 chrono::day(static_cast<unsigned>(parts.tm_mday));
    return day + chrono::hours(parts.tm_hour) + chrono::minutes(parts.tm_min) +
           chrono::seconds(parts.tm_sec);
}

std::string address_text(const ASN1_OCTET_STRING* address) {
    const int size = ::ASN1_STRING_length(address);
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = size == 4 ? AF_INET : AF_INET6;
    if (size != 4 && size != 16) return {};
    if (::inet_ntop(family, ::ASN1_STRING_get0_data(address), text.data(), text.size()) ==
        nullptr) {
        return {};
    }
    return text.data();
}

std::vector<std::string> names_of(const X509* certificate) {
    std::vector<std::string> found;
    auto* const names = static_cast<GENERAL_NAMES*>(
        ::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_IPADD) found.push_back("IP:" + address_text(name->d.iPAddress));
        if (name->type != GEN_DNS) continue;
        const auto* const bytes =
            reinterpret_cast<const char*>(::ASN1_STRING_get0_data(name->d.dNSName));
        const auto size = static_cast<std::size_t>(::ASN1_STRING_length(name->d.dNSName));
        found.push_back("DNS:" + std::string(bytes, size));
    }
    ::GENERAL_NAMES_free(names);
    std::ranges::sort(found);
    return found;
}

}  // namespace

Result<Certificate> make_authority(const std::string& name, std::chrono::seconds valid_for,
                                   Instant now) {
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    const Owned<X509> made(::X509_new());
    if (key == nullptr || made == nullptr ||
        !fill(made.get(), made.get(), key.get(), name, valid_for, now) ||
        !extend(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !extend(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !extend(made.get(), made.get(), NID_subject_key_identifier, "hash") ||
        ::X509_sign(made.get(), key.get(), ::EVP_sha256()) == 0) {
        return failed(ErrorCode::kInternal, "no authority '" + name + "' can be made");
    }
    return written(made.get(), key.get());
}

Result<Certificate> issue(const Certificate& authority, const std::string& name,
                          const std::vector<std::string>& names, std::chrono::seconds valid_for,
                          Instant now) {
    const Owned<X509> issuer = certificate_of(authority.certificate);
    const Owned<EVP_PKEY> signer = key_of(authority.key);
    if (issuer == nullptr || signer == nullptr) {
        return failed(ErrorCode::kInvalidInput, "the authority is not in PEM");
    }
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    const Owned<X509> made(::X509_new());
    std::string alternative;
    for (const std::string& one : names) alternative += (alternative.empty() ? "" : ",") + one;
    if (key == nullptr || made == nullptr ||
        !fill(made.get(), issuer.get(), key.get(), name, valid_for, now) ||
        !extend(made.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
        !extend(made.get(), issuer.get(), NID_key_usage, "critical,digitalSignature") ||
        !extend(made.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth") ||
        !extend(made.get(), issuer.get(), NID_authority_key_identifier, "keyid") ||
        (!alternative.empty() &&
         !extend(made.get(), issuer.get(), NID_subject_alt_name, alternative))) {
        return failed(ErrorCode::kInvalidInput,
                      "'" + name + "' with names '" + alternative + "' cannot be made");
    }
    if (::X509_sign(made.get(), signer.get(), ::EVP_sha256()) == 0) {
        return failed(ErrorCode::kInternal, "'" + name + "' cannot be signed");
    }
    return written(made.get(), key.get());
}

Result<CertificateFacts> read_certificate(const std::string& pem) {
    const Owned<X509> certificate = certificate_of(pem);
    if (certificate == nullptr) return failed(ErrorCode::kInvalidInput, "there is none in PEM");
    CertificateFacts facts{.valid_from = instant_of(::X509_get0_notBefore(certificate.get())),
                           .valid_until = instant_of(::X509_get0_notAfter(certificate.get())),
                           .names = names_of(certificate.get()),
                           .is_authority = ::X509_check_ca(certificate.get()) == 1};
    ::ERR_clear_error();
    return facts;
}

bool is_pair(const Certificate& certificate) {
    const Owned<X509> one = certificate_of(certificate.certificate);
    const Owned<EVP_PKEY> key = key_of(certificate.key);
    const bool fits =
        one != nullptr && key != nullptr && ::X509_check_private_key(one.get(), key.get()) == 1;
    ::ERR_clear_error();
    return fits;
}

bool has_signed(const std::string& authority, const std::string& certificate) {
    const Owned<X509> issuer = certificate_of(authority);
    const Owned<X509> one = certificate_of(certificate);
    bool has = false;
    if (issuer != nullptr && one != nullptr) {
        const Owned<EVP_PKEY> key(::X509_get_pubkey(issuer.get()));
        has = key != nullptr && ::X509_verify(one.get(), key.get()) == 1;
    }
    ::ERR_clear_error();
    return has;
}

}  // namespace aliquot::http
