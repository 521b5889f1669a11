// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/password.h"
#include "http/server.h"

/// Any bytes as a web configuration: read or refused, and what is read keeps its promises.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto access = aliquot::http::parse_access(text, "/etc/web.yml");
    if (!access) {
        if (access.error().message.contains('\n')) std::abort();  // a message is one line
        return 0;
    }
    for (const auto& [name, hash] : access->users) {
        if (!aliquot::http::why_no_bcrypt(hash).empty()) std::abort();
    }
    if (access->tls && (access->tls->certificate_file.empty() || access->tls->key_file.empty())) {
        std::abort();
    }
    return 0;
}
