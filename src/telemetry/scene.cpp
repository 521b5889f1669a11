// SPDX-License-Identifier: Apache-2.0
#include "telemetry/scene.h"

#include "gpu/replica_id.h"

namespace aliquot::telemetry {

DeviceName read_device_name(std::string_view id) {
    const gpu::DeviceIdView view = gpu::split_device_id(id);
    return {.uuid = view.device, .replica = view.replica};
}

}  // namespace aliquot::telemetry
