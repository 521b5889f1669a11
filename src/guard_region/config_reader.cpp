// SPDX-License-Identifier: Apache-2.0
#include "guard_region/config_reader.h"

#include "guard_region/config_file.h"
#include "guard_region/truth.h"
#include "guard_region/uuid.h"

namespace aliquot::guard_region {

Result<Settings> read_config(const std::filesystem::path& file) {
    const auto config = ConfigFile::open(file, ConfigFile::Access::kRead);
    if (!config) return config.error();
    return config->settings();
}

void apply_truth(const std::filesystem::path& file, LedgerView& ledger) {
    const auto config = ConfigFile::open(file, ConfigFile::Access::kRead);
    if (config) apply_truth(*config, ledger);
}

std::vector<Limits> devices_in(const LedgerView& ledger) {
    std::vector<Limits> devices;
    for (const LedgerDevice& device : ledger.devices) {
        if (!is_none(device.uuid)) devices.push_back({.uuid = gpu_text(device.uuid)});
    }
    return devices;
}

}  // namespace aliquot::guard_region
