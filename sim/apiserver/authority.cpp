// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/authority.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace aliquot::sim::apiserver {

namespace {

struct Free {
    void operator()(X509* one) const { X509_free(one); }
    void operator()(EVP_PKEY* one) const { EVP_PKEY_free(one); }
    void operator()(BIO* one) const { BIO_free(one); }
    void operator()(X509_EXTENSION* one) const { X509_EXTENSION_free(one); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

constexpr long kDay = 86'400;

Error refused() { return {ErrorCode::kInternal, "certificate authority: OpenSSL refuses"}; }

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string to_pem(X509* certificate) {
    const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), certificate);
    return text_of(bio.get());
}

std::string to_pem(EVP_PKEY* key) {
    const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(bio.get());
}

void add_name(X509_NAME* name, const char* field, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.data()),
                               static_cast<int>(text.size()), -1, 0);
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context{};
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, Free> extension(
        X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Certificate blank(EVP_PKEY* key, long days) {
    Certificate made(X509_new());
    X509_set_version(made.get(), 2);
    std::uint64_t serial = 0;
    RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), days * kDay);
    X509_set_pubkey(made.get(), key);
    return made;
}

}  // namespace

struct Authority::Keys {
    Key key;
    Certificate certificate;
};

Authority::Authority(std::unique_ptr<Keys> keys)
    : keys_(std::move(keys)), pem_(to_pem(keys_->certificate.get())) {}
Authority::~Authority() = default;

Result<std::unique_ptr<Authority>> Authority::make() {
    auto keys = std::make_unique<Keys>();
    keys->key.reset(EVP_EC_gen("P-256"));
    if (keys->key == nullptr) return refused();
    keys->certificate = blank(keys->key.get(), 3650);
    X509* certificate = keys->certificate.get();
    X509_NAME* name = X509_get_subject_name(certificate);
    add_name(name, "CN", "aliquot-sim-ca");
    X509_set_issuer_name(certificate, name);
    if (!add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") ||
        !add_extension(certificate, certificate, NID_key_usage,
                       "critical,keyCertSign,digitalSignature") ||
        !add_extension(certificate, certificate, NID_subject_key_identifier, "hash") ||
        X509_sign(certificate, keys->key.get(), EVP_sha256()) == 0) {
        return refused();
    }
    return std::unique_ptr<Authority>(new Authority(std::move(keys)));
}

Result<PemPair> Authority::issue_server(const std::string& common_name,
                                        const std::vector<std::string>& names) const {
    const Key key(EVP_EC_gen("P-256"));
    if (key == nullptr) return refused();
    const Certificate made = blank(key.get(), 365);
    add_name(X509_get_subject_name(made.get()), "CN", common_name);
    X509_set_issuer_name(made.get(), X509_get_subject_name(keys_->certificate.get()));
    std::string list;
    for (const std::string& name : names) {
        in6_addr address{};
        const bool ip = inet_pton(AF_INET, name.c_str(), &address) == 1 ||
                        inet_pton(AF_INET6, name.c_str(), &address) == 1;
        list += (list.empty() ? "" : ",") + std::string(ip ? "IP:" : "DNS:") + name;
    }
    if (!add_extension(made.get(), keys_->certificate.get(), NID_subject_alt_name, list) ||
        !add_extension(made.get(), keys_->certificate.get(), NID_ext_key_usage, "serverAuth") ||
        X509_sign(made.get(), keys_->key.get(), EVP_sha256()) == 0) {
        return refused();
    }
    return PemPair{to_pem(made.get()), to_pem(key.get())};
}

Result<PemPair> Authority::issue_client(const std::string& user,
                                        const std::vector<std::string>& groups) const {
    const Key key(EVP_EC_gen("P-256"));
    if (key == nullptr) return refused();
    const Certificate made = blank(key.get(), 365);
    for (const std::string& group : groups) add_name(X509_get_subject_name(made.get()), "O", group);
    add_name(X509_get_subject_name(made.get()), "CN", user);
    X509_set_issuer_name(made.get(), X509_get_subject_name(keys_->certificate.get()));
    if (!add_extension(made.get(), keys_->certificate.get(), NID_ext_key_usage, "clientAuth") ||
        X509_sign(made.get(), keys_->key.get(), EVP_sha256()) == 0) {
        return refused();
    }
    return PemPair{to_pem(made.get()), to_pem(key.get())};
}

}  // namespace aliquot::sim::apiserver
