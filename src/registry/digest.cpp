// SPDX-License-Identifier: Apache-2.0
#include "registry/digest.h"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace aliquot::registry {

Digest::Digest() : context_(::EVP_MD_CTX_new()) {
    if (context_ == nullptr || ::EVP_DigestInit_ex(context_, ::EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
}

Digest::~Digest() { ::EVP_MD_CTX_free(context_); }

void Digest::add(std::string_view bytes) {
    ::EVP_DigestUpdate(context_, bytes.data(), bytes.size());
}

std::string Digest::text() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    ::EVP_DigestFinal_ex(context_, bytes.data(), &size);
    std::string text = "sha256:";
    for (unsigned i = 0; i < size; ++i) {
        text += kDigits[bytes.at(i) >> 4U];
        text += kDigits[bytes.at(i) & 15U];
    }
    return text;
}

std::string digest_of(std::string_view bytes) {
    Digest digest;
    digest.add(bytes);
    return digest.text();
}

}  // namespace aliquot::registry
