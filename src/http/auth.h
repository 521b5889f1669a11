// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/access.h"
#include "http/password.h"
#include "http/tls.h"
#include "os/root.h"

namespace aliquot::http {

/// Who may come in, as it stands at one moment.
struct Auth {
    explicit Auth(Access given) : access(std::move(given)), passwords(access.users) {}
    Access access;
    std::shared_ptr<const TlsContext> tls;  // null: plain HTTP
    mutable Passwords passwords;
};

/// Keeps an Auth as its files say. Used by one thread.
class AuthWatch {
public:
    static Result<AuthWatch> start(Access access);

    /// Looks at the files when the last look is a second old. A change that is bad is logged once
    /// and changes nothing.
    const std::shared_ptr<const Auth>& current();

    /// Looks now, whenever the last look was.
    void look();

private:
    using Identity = std::optional<os::FileStatus::Identity>;
    explicit AuthWatch(std::shared_ptr<const Auth> auth);
    [[nodiscard]] static std::vector<Identity> identities(const Access& access);

    std::shared_ptr<const Auth> auth_;
    std::vector<Identity> seen_;  // of the files at the last attempt
    std::chrono::steady_clock::time_point looked_at_;
};

}  // namespace aliquot::http
