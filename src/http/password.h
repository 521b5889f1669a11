// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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

/// Who may ask. A hash is slow by design (about 60 ms at cost 10), so what was found right, and what
/// was found wrong lately, is remembered, as a keyed digest. Thread-safe.
class Passwords {
public:
    using Digest = std::array<unsigned char, 32>;
    enum class Verdict : std::uint8_t { kUnknown, kRight, kWrong };

    /// users   name -> bcrypt hash, all of them good by why_no_bcrypt()
    explicit Passwords(std::map<std::string, std::string> users);

    [[nodiscard]] bool empty() const { return users_.empty(); }

    /// By it the same name and password are known again.
    [[nodiscard]] Digest digest(const Credentials& given) const;

    /// Answers at once, from memory; kUnknown: ask matches().
    [[nodiscard]] Verdict remembered(const Credentials& given, const Digest& asked) const;

    /// The slow check. An unknown user takes as long as a wrong password.
    bool matches(const Credentials& given);

private:
    const std::map<std::string, std::string> users_;
    std::string nobody_;  // a hash that no password has
    Digest key_{};
    mutable std::mutex mutex_;
    std::map<std::string, Digest> known_;
    std::set<Digest> wrong_;
    std::deque<Digest> wrong_in_order_;
};

}  // namespace aliquot::http
