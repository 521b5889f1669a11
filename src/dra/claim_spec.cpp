// SPDX-License-Identifier: Apache-2.0
#include "dra/claim_spec.h"

#include <algorithm>

#include "base/text.h"

namespace aliquot::dra {
namespace {

constexpr std::string_view kJson = ".json";

std::string file_prefix() { return concat({kCdiVendor, "-", kCdiClass, "-"}); }

}  // namespace

std::string cdi_id(const PreparedDevice& device) {
    return concat({kCdiVendor, "/", kCdiClass, "=", device.cdi_name});
}

std::string cdi_file_name(const std::string& uid) {
    return file_prefix() + uid + std::string(kJson);
}

std::string uid_of_cdi_file(std::string_view name) {
    const std::string prefix = file_prefix();
    if (!name.starts_with(prefix) || !name.ends_with(kJson)) return {};
    if (name.size() <= prefix.size() + kJson.size()) return {};
    return std::string(name.substr(prefix.size(), name.size() - prefix.size() - kJson.size()));
}

Result<cdi::Spec> claim_spec(const PreparedClaim& claim, const cdi::Spec& node) {
    cdi::Spec spec{.kind = concat({kCdiVendor, "/", kCdiClass}), .edits = node.edits};
    for (const PreparedDevice& device : claim.devices) {
        const auto known = std::ranges::find(node.devices, device.uuid, &cdi::Device::name);
        if (known == node.devices.end()) {
            return Error{ErrorCode::kNotFound, "claim " + to_text(claim.claim) + ": " +
                                                   device.uuid + " is not on this node"};
        }
        spec.devices.push_back({.name = device.cdi_name, .edits = known->edits});
    }
    // A runtime that knows GPUs by itself adds none.
    spec.edits.environment.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
    for (const auto& [name, value] : claim.environment) {
        spec.edits.environment.push_back(concat({name, "=", value}));
    }
    for (const grant::Grant::Mount& mount : claim.mounts) {
        spec.edits.mounts.push_back(
            {.host_path = mount.host_path,
             .container_path = mount.container_path,
             .options = {mount.read_only ? "ro" : "rw", "nosuid", "nodev", "rbind", "rprivate"}});
    }
    return spec;
}

}  // namespace aliquot::dra
