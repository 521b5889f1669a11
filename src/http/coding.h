// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace aliquot::http {

/// Whether an Accept-Encoding takes gzip, and not less gladly than the plain bytes (RFC 9110
/// 12.5.3).
bool takes_gzip(std::string_view accept_encoding);

/// Whether a body of this type and size is worth the work.
bool is_compressible(std::string_view content_type, std::size_t bytes);

/// Compressed, fastest level; empty when it would not be a tenth smaller.
std::string gzip(std::string_view plain);

/// Remembers what bodies that many ask for are when compressed, as long as they live. Thread-safe.
class CompressedBodies {
public:
    /// Null when gzip() does not pay.
    std::shared_ptr<const std::string> of(const std::shared_ptr<const std::string>& body);

private:
    struct Slot {
        std::weak_ptr<const std::string> body;
        std::shared_ptr<const std::string> compressed;
    };
    std::mutex mutex_;
    std::array<Slot, 32> slots_;  // the files of a page, and what changes beside them
    std::size_t next_ = 0;
};

}  // namespace aliquot::http
