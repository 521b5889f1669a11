// SPDX-License-Identifier: Apache-2.0
#include "web/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

namespace aliquot::web {
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
          std::chrono::hours valid_for) {
    constexpr long kSecondsEarlier = -300;  // clocks differ
    std::array<unsigned char, 16> serial{};
    if (::RAND_bytes(serial.data(), serial.size()) != 1) return false;
    serial[0] &= 0x7fU;
    BIGNUM* const number = ::BN_bin2bn(serial.data(), serial.size(), nullptr);
    ::BN_to_ASN1_INTEGER(number, ::X509_get_serialNumber(made));
    ::BN_free(number);
    ::X509_set_version(made, 2);
    ::X509_gmtime_adj(::X509_getm_notBefore(made), kSecondsEarlier);
    ::X509_time_adj_ex(::X509_getm_notAfter(made), static_cast<int>(valid_for.count() / 24),
                       static_cast<long>(valid_for.count() % 24 * 3600), nullptr);
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

}  // namespace

Result<Certificate> make_authority(const std::string& name, std::chrono::hours valid_for) {
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    const Owned<X509> made(::X509_new());
    if (key == nullptr || made == nullptr ||
        !fill(made.get(), made.get(), key.get(), name, valid_for) ||
        !extend(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !extend(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !extend(made.get(), made.get(), NID_subject_key_identifier, "hash") ||
        ::X509_sign(made.get(), key.get(), ::EVP_sha256()) == 0) {
        return failed(ErrorCode::kInternal, "no authority '" + name + "' can be made");
    }
    return written(made.get(), key.get());
}

Result<Certificate> issue(const Certificate& authority, const std::string& name,
                          const std::vector<std::string>& names, std::chrono::hours valid_for) {
    const Owned<X509> issuer(
        ::PEM_read_bio_X509(reader(authority.certificate).get(), nullptr, nullptr, nullptr));
    const Owned<EVP_PKEY> signer(
        ::PEM_read_bio_PrivateKey(reader(authority.key).get(), nullptr, nullptr, nullptr));
    if (issuer == nullptr || signer == nullptr) {
        return failed(ErrorCode::kInvalidInput, "the authority is not in PEM");
    }
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    const Owned<X509> made(::X509_new());
    std::string alternative;
    for (const std::string& one : names) alternative += (alternative.empty() ? "" : ",") + one;
    if (key == nullptr || made == nullptr ||
        !fill(made.get(), issuer.get(), key.get(), name, valid_for) ||
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

}  // namespace aliquot::web
