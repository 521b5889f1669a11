// SPDX-License-Identifier: Apache-2.0
#include "gpu/replica_id.h"

#include "base/number.h"

namespace aliquot::gpu {
namespace {

constexpr std::string_view kSeparator = "::";

Error malformed(std::string_view text) {
    return {ErrorCode::kInvalidInput, "replica id '" + std::string(text) + "' is not uuid::index"};
}

}  // namespace

Result<ReplicaId> parse_replica_id(std::string_view text) {
    const DeviceIdView view = split_device_id(text);
    if (view.device.empty() || view.device.size() == text.size() || !view.valid) {
        return malformed(text);
    }
    return ReplicaId{.gpu = {std::string(view.device)}, .index = view.replica};
}

DeviceIdView split_device_id(std::string_view id) {
    const std::size_t separator = id.rfind(kSeparator);
    if (separator == std::string_view::npos) return {.device = id};
    DeviceIdView view{.device = id.substr(0, separator)};
    const auto replica = parse_number<unsigned>(id.substr(separator + kSeparator.size()));
    view.replica = replica.value_or(0);
    view.valid = replica.has_value();
    return view;
}

std::string to_text(const ReplicaId& id) {
    return id.gpu.text + std::string(kSeparator) + std::to_string(id.index);
}

}  // namespace aliquot::gpu
