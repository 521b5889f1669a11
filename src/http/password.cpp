// SPDX-License-Identifier: Apache-2.0
#include "http/password.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <memory>

namespace aliquot::http {
namespace {

constexpr std::size_t kHashBytes = 60;
constexpr int kLeastCost = 4;
constexpr int kMostCost = 15;
constexpr std::size_t kMostWrong = 1024;  // 100 KiB

bool is_salt_letter(char c) {
    return c == '.' || c == '/' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

int cost_of(std::string_view hash) { return (hash[4] - '0') * 10 + (hash[5] - '0'); }

int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
}

std::optional<std::string> base64_decoded(std::string_view text) {
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string made;
    unsigned bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const int value = base64_value(c);
        if (value < 0) return std::nullopt;
        bits = (bits << 6U | static_cast<unsigned>(value)) & 0xffffffU;
        held += 6;
        if (held >= 8) {
            held -= 8;
            made += static_cast<char>(bits >> held & 0xffU);
        }
    }
    return made;
}

/// What crypt makes of the password with the salt and cost of `hash`.
std::string crypted(const std::string& password, const std::string& hash) {
    const auto room = std::make_unique<crypt_data>();  // 32 KiB
    // Not crypt_r: the sanitizers put themselves before that one.
    const char* const made =
        ::crypt_rn(password.c_str(), hash.c_str(), room.get(), sizeof(crypt_data));
    std::string text = made == nullptr ? "" : made;
    ::OPENSSL_cleanse(room.get(), sizeof(crypt_data));
    return text;
}

}  // namespace

std::optional<Credentials> read_basic(std::string_view authorization) {
    constexpr std::string_view kScheme = "basic ";
    if (authorization.size() <= kScheme.size() ||
        !std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                    [](char a, char b) { return a == (b | 0x20); })) {
        return std::nullopt;
    }
    authorization.remove_prefix(kScheme.size());
    while (authorization.starts_with(' ')) authorization.remove_prefix(1);
    const auto text = base64_decoded(authorization);
    const std::size_t colon = text ? text->find(':') : std::string::npos;
    if (colon == std::string::npos || text->contains('\0')) return std::nullopt;
    return Credentials{.user = text->substr(0, colon), .password = text->substr(colon + 1)};
}

std::string why_no_bcrypt(std::string_view hash) {
    const bool framed = hash.size() == kHashBytes && hash.starts_with("$2") &&
                        (hash[2] == 'a' || hash[2] == 'b' || hash[2] == 'y') && hash[3] == '$' &&
                        hash[4] >= '0' && hash[4] <= '9' && hash[5] >= '0' && hash[5] <= '9' &&
                        hash[6] == '$';
    if (!framed || !std::all_of(hash.begin() + 7, hash.end(), is_salt_letter)) {
        return "is not a bcrypt hash ($2y$10$ and 53 letters)";
    }
    const int cost = cost_of(hash);
    if (cost < kLeastCost || cost > kMostCost) {
        return "has bcrypt cost " + std::to_string(cost) + "; expected 4 to 15";
    }
    return {};
}

Passwords::Passwords(std::map<std::string, std::string> users) : users_(std::move(users)) {
    int cost = 10;
    for (const auto& [name, hash] : users_) cost = std::max(cost, cost_of(hash));
    nobody_ = std::string("$2y$") + static_cast<char>('0' + cost / 10) +
              static_cast<char>('0' + cost % 10) + "$" + std::string(53, '.');
    if (users_.empty()) return;
    std::size_t filled = 0;
    while (filled < key_.size()) {
        const ssize_t got = ::getrandom(key_.data() + filled, key_.size() - filled, 0);
        if (got > 0) filled += static_cast<std::size_t>(got);
    }
}

Passwords::Digest Passwords::digest(const Credentials& given) const {
    const auto user = users_.find(given.user);
    // The user's name cannot hold a NUL: read_basic() refuses it.
    std::string text = given.user + '\0' + given.password;
    if (user != users_.end()) text.append(1, '\0').append(user->second);
    Digest made{};
    unsigned size = made.size();
    ::HMAC(::EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), made.data(), &size);
    ::OPENSSL_cleanse(text.data(), text.size());
    return made;
}

Passwords::Verdict Passwords::remembered(const Credentials& given, const Digest& asked) const {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(given.user);
    if (known != known_.end() &&
        ::CRYPTO_memcmp(known->second.data(), asked.data(), asked.size()) == 0) {
        return Verdict::kRight;
    }
    return wrong_.contains(asked) ? Verdict::kWrong : Verdict::kUnknown;
}

bool Passwords::matches(const Credentials& given) {
    const auto user = users_.find(given.user);
    const std::string& hash = user == users_.end() ? nobody_ : user->second;
    const std::string made = crypted(given.password, hash);
    const bool right = made.size() == hash.size() &&
                       ::CRYPTO_memcmp(made.data(), hash.data(), hash.size()) == 0 &&
                       user != users_.end();
    const Digest asked = digest(given);
    const std::scoped_lock lock(mutex_);
    if (right) {
        known_[given.user] = asked;
    } else if (wrong_.insert(asked).second) {
        wrong_in_order_.push_back(asked);
        if (wrong_in_order_.size() > kMostWrong) {
            wrong_.erase(wrong_in_order_.front());
            wrong_in_order_.pop_front();
        }
    }
    return right;
}

}  // namespace aliquot::http
