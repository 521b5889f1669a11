// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "http/auth.h"
#include "http/message.h"

namespace aliquot::http {

/// A whole request, to be answered.
struct Job {
    std::uint64_t connection = 0;
    Request request;
    bool keep_alive = false;
    bool takes_chunks = false;
    /// Its name and password are not known yet: they are checked before it is answered.
    bool unchecked = false;
    Passwords::Digest credentials{};  // when unchecked
    bool large = false;               // its body: at most one such is worked on at a time
    std::shared_ptr<const Auth> auth;
};

}  // namespace aliquot::http
