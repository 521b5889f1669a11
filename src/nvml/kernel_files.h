// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
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

/// Which capability devices open which MIG instances of one GPU.
class MigMinors {
public:
    /// Reads the lines of /proc/driver/nvidia-caps/mig-minors: "gpu0/gi1/access 12",
    /// "gpu0/gi1/ci0/access 13"; others are passed over.
    static MigMinors parse(std::string_view text);

    /// gpu   the minor number of the GPU. Empty: not told.
    [[nodiscard]] std::optional<unsigned> of(unsigned gpu, unsigned gpu_instance) const;
    [[nodiscard]] std::optional<unsigned> of(unsigned gpu, unsigned gpu_instance,
                                             unsigned compute_instance) const;

private:
    [[nodiscard]] std::optional<unsigned> find(std::array<unsigned, 3> key) const;
    std::map<std::array<unsigned, 3>, unsigned> minors_;
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

    /// Nothing when the file is not there. The kernel module writes it once, for all instances that
    /// there may ever be.
    [[nodiscard]] MigMinors mig_minors() const;

private:
    [[nodiscard]] std::optional<std::string> read(const std::string& path,
                                                  std::size_t limit_bytes = 1 << 16) const;
    std::vector<os::Root> roots_;
};

/// "0000:3b:00.0" and "00000000:3B:00.0"; the function is ignored.
std::optional<gpu::PciAddress> parse_pci_address(std::string_view text);

/// The minor numbers of MIG devices, read once for all GPUs by the first that needs them.
/// Thread-safe.
class SharedMinors {
public:
    const MigMinors& get(const KernelFiles& kernel) {
        std::call_once(read_, [&] { minors_ = kernel.mig_minors(); });
        return minors_;
    }

private:
    std::once_flag read_;
    MigMinors minors_;
};

}  // namespace aliquot::nvml
