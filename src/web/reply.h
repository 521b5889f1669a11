// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "web/coding.h"
#include "web/connection.h"
#include "web/server.h"

namespace aliquot::web {

/// What the asker's request says about the form of its answer.
struct AnswerForm {
    bool keep_alive = false;
    bool without_body = false;  // HEAD
    std::string_view accept_encoding;
};

/// An answer as bytes, compressed where that pays.
Reply render(Answer answer, const AnswerForm& form, const Access& access, CompressedBodies& bodies);

/// A short plain answer; the connection is closed after it.
Reply refusal(int status, std::string_view reason);

}  // namespace aliquot::web
