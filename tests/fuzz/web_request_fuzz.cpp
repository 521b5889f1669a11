// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/coding.h"
#include "http/message.h"
#include "http/password.h"

/// Any bytes as a request: incomplete, refused or read; what is read is a whole head, and no prefix
/// of it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using State = aliquot::http::Reading::State;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto reading = aliquot::http::read_head(bytes);
    if (reading.state == State::kRefused && (reading.status < 400 || reading.reason.empty())) {
        std::abort();
    }
    if (reading.state != State::kComplete) return 0;
    const auto& head = reading.head;
    if (head.head_bytes > size || head.request.path.empty()) std::abort();
    if (aliquot::http::read_head(bytes.substr(0, head.head_bytes - 1)).state == State::kComplete) {
        std::abort();
    }
    (void)aliquot::http::takes_gzip(head.request.header("accept-encoding"));
    (void)aliquot::http::read_basic(head.request.header("authorization"));
    return 0;
}
