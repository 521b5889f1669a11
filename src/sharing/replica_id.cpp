// SPDX-License-Identifier: Apache-2.0
#include "sharing/replica_id.h"

#include <charconv>
#include <system_error>

namespace aliquot::sharing {
namespace {

constexpr std::string_view kSeparator = "::";

Error malformed(std::string_view text) {
    return {ErrorCode::kInvalidInput, "replica id '" + std::string(text) + "' is not uuid::index"};
}

}  // namespace

Result<ReplicaId> parse_replica_id(std::string_view text) {
    const auto separator = text.rfind(kSeparator);
    if (separator == 0 || separator == std::string_view::npos) return malformed(text);

    ReplicaId id{.gpu = {std::string(text.substr(0, separator))}};
    const std::string_view digits = text.substr(separator + kSeparator.size());
    const char* const end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, id.index);
    if (problem != std::errc{} || stop != end) return malformed(text);  // "2x" stops early
    return id;
}

std::string to_text(const ReplicaId& id) {
    return id.gpu.text + std::string(kSeparator) + std::to_string(id.index);
}

}  // namespace aliquot::sharing
