// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "http/access.h"
#include "http/coding.h"
#include "http/connection.h"
#include "http/message.h"

namespace aliquot::http {

/// What the asker's request says about the form of its answer.
struct ResponseForm {
    bool keep_alive = false;
    bool without_body = false;  // HEAD
    bool takes_chunks = false;
    std::string_view accept_encoding;
    std::size_t compress_from = 0;  // bytes
};

/// An answer as bytes, compressed where that pays. Of one that is a stream: the head.
Reply render(Response answer, const ResponseForm& form, const Access& access,
             CompressedBodies& bodies);

/// What is answered to somebody without a right password.
Response unauthorized();

/// A short plain answer; the connection is closed after it.
Reply refusal(int status, std::string_view reason);

}  // namespace aliquot::http
