// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace aliquot::http {

struct Credentials {
    std::string user;
    std::string password;
};

/// Of an Authorization header: "Basic YWxpY2U6c2VjcmV0"; empty when it is none.
std::optional<Credentials> read_basic(std::string_view authorization);

/// What a bcrypt hash must look like; says what is wrong, empty: nothing.
/// The cost (4 to 15: 15 takes seconds) is looked at too, for each check costs as much.
std::string why_no_bcrypt(std::string_view hash);

/// Who may ask. A hash is slow by design (about 60 ms at cost 10), so the password that was found
/// right is remembered, as a keyed digest. Thread-safe.
class Passwords {
public:
    /// users   name -> bcrypt hash, all of them good by why_no_bcrypt()
    explicit Passwords(std::map<std::string, std::string> users);

    [[nodiscard]] bool empty() const { return users_.empty(); }

    /// Answers at once, from memory: true. False: not known to be right, ask matches().
    [[nodiscard]] bool is_known(const Credentials& given) const;

    /// The slow check. An unknown user takes as long as a wrong password.
    bool matches(const Credentials& given);

private:
    using Digest = std::array<unsigned char, 32>;
    [[nodiscard]] Digest digest(const Credentials& given) const;

    const std::map<std::string, std::string> users_;
    std::string nobody_;  // a hash that no password has
    Digest key_{};
    mutable std::mutex mutex_;
    std::map<std::string, Digest> known_;
};

}  // namespace aliquot::http
