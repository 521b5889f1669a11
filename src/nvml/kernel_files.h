// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inventory.h"
#include "os/root.h"

namespace aliquot::nvml {

/// What the kernel's files say of a GPU, also of one that the driver can no longer reach.
struct KernelGpu {
    gpu::PciAddress pci;
    gpu::Uuid uuid;  // empty: not told
    std::string model;
    std::optional<unsigned> minor;
};

/// sysfs and /proc/driver/nvidia of a node. A container may have its own at "/", a node directory
/// beneath the driver root; looked for in this order: root, driver root, "/".
class KernelFiles {
public:
    KernelFiles(const os::Root& root, const std::string& driver_root);

    /// Empty: sysfs says -1 (one node only) or nothing.
    [[nodiscard]] std::optional<unsigned> numa_node(const gpu::PciAddress& address) const;

    /// Directories of /proc/driver/nvidia/gpus, by PCI address; empty when there are none.
    [[nodiscard]] std::vector<KernelGpu> gpus() const;

    /// Version of the loaded kernel module, "580.65.06"; empty when not told.
    [[nodiscard]] std::string module_version() const;

private:
    [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
    std::vector<os::Root> roots_;
};

/// "0000:3b:00.0" and "00000000:3B:00.0"; the function is ignored.
std::optional<gpu::PciAddress> parse_pci_address(std::string_view text);

}  // namespace aliquot::nvml
