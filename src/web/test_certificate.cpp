// SPDX-License-Identifier: Apache-2.0
#include "web/test_certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <stdexcept>

namespace aliquot::web {
namespace {

std::string taken(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    std::string text(bytes, static_cast<std::size_t>(size));
    ::BIO_free(bio);
    return text;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    if (extension == nullptr) throw std::runtime_error("extension " + value);
    ::X509_add_ext(certificate, extension, -1);
    ::X509_EXTENSION_free(extension);
}

TestCertificate make(const std::string& name, const TestCertificate* above,
                     const std::string& alternative_name) {
    static long serial = 0;
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const made = ::X509_new();
    X509* issuer = made;
    EVP_PKEY* signer = key;
    if (above != nullptr) {
        BIO* const text = ::BIO_new_mem_buf(above->certificate.data(), -1);
        issuer = ::PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
        ::BIO_free(text);
        BIO* const key_text = ::BIO_new_mem_buf(above->key.data(), -1);
        signer = ::PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
        ::BIO_free(key_text);
    }
    ::X509_set_version(made, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(made), ++serial);
    ::X509_gmtime_adj(::X509_getm_notBefore(made), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(made), 3600);
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    ::X509_set_issuer_name(made, ::X509_get_subject_name(issuer));
    ::X509_set_pubkey(made, key);
    extend(made, issuer, NID_basic_constraints, above == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
    if (!alternative_name.empty()) extend(made, issuer, NID_subject_alt_name, alternative_name);
    ::X509_sign(made, signer, ::EVP_sha256());

    BIO* const certificate_text = ::BIO_new(::BIO_s_mem());
    ::PEM_write_bio_X509(certificate_text, made);
    BIO* const key_text = ::BIO_new(::BIO_s_mem());
    ::PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
    if (above != nullptr) {
        ::X509_free(issuer);
        ::EVP_PKEY_free(signer);
    }
    ::X509_free(made);
    ::EVP_PKEY_free(key);
    return {.certificate = taken(certificate_text), .key = taken(key_text)};
}

}  // namespace

TestCertificate TestCertificate::authority(const std::string& name) {
    return make(name, nullptr, "");
}

TestCertificate TestCertificate::issue(const std::string& name,
                                       const std::string& alternative_name) const {
    return make(name, this, alternative_name);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    const std::filesystem::path beside = path.string() + ".new";
    std::ofstream(beside) << text;
    std::filesystem::rename(beside, path);
}

}  // namespace aliquot::web
