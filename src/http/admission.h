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
#include "http/password.h"
#include "http/server.h"
#include "http/tls.h"
#include "os/root.h"

namespace aliquot::http {

/// Who may come in, as it stands at one moment.
struct Admission {
    explicit Admission(Access given) : access(std::move(given)), passwords(access.users) {}
    Access access;
    std::shared_ptr<const TlsContext> tls;  // null: plain HTTP
    mutable Passwords passwords;
};

/// Keeps an Admission as its files say. Used by one thread.
class AdmissionWatch {
public:
    static Result<AdmissionWatch> start(Access access);

    /// Looks at the files when the last look is a second old. A change that is bad is logged once
    /// and changes nothing.
    const std::shared_ptr<const Admission>& current();

    /// Looks now, whenever the last look was.
    void look();

private:
    using Identity = std::optional<os::FileStatus::Identity>;
    explicit AdmissionWatch(std::shared_ptr<const Admission> admission);
    [[nodiscard]] static std::vector<Identity> identities(const Access& access);

    std::shared_ptr<const Admission> admission_;
    std::vector<Identity> seen_;  // of the files at the last attempt
    std::chrono::steady_clock::time_point looked_at_;
};

}  // namespace aliquot::http
