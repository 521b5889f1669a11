// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gpu/inventory.h"
#include "os/root.h"

namespace aliquot::labels {

/// The machine's name by its maker, as DMI has it; empty: not readable.
std::string machine_name(const os::Root& root);

/// The PCI class of each GPU, as sysfs tells it; those that it does not tell are left out.
std::map<gpu::Uuid, std::uint32_t> pci_classes(const os::Root& root,
                                               const gpu::Inventory& inventory);

/// Whether the machine has a GPU of NVIDIA's on its PCI bus, with or without a driver.
bool has_nvidia_gpu(const os::Root& root);

}  // namespace aliquot::labels
