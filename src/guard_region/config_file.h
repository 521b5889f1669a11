// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "abi/region.h"
#include "base/result.h"
#include "guard_region/limits.h"

namespace aliquot::guard_region {

/// What the driver says of one process, for its guard.
struct SlotTruth {
    unsigned slot = 0;
    std::uint64_t owner = 0;    // of the slot
    std::int32_t host_pid = 0;  // 0: not known
    /// By place in Settings::devices. Empty: as it was; abi::kNotMeasured: no figure.
    std::array<std::optional<std::uint64_t>, abi::kRegionDevices> overhead_bytes{};
    friend bool operator==(const SlotTruth&, const SlotTruth&) = default;
};

/// A region's config: written by us, only read by the container. Limits and truth may change while
/// guards read them. One writer at a time; not thread-safe.
class ConfigFile {
public:
    /// Makes the file (mode 0644), which must not be there.
    /// errors   kInvalidInput: too many devices, a UUID that is none; kPermission, kConflict,
    ///          kUnavailable: the file cannot be made
    static Result<ConfigFile> create(const std::filesystem::path& file, const Settings& settings);

    /// errors   kNotFound, kPermission; kInvalidInput: not a config of this version
    static Result<ConfigFile> open(const std::filesystem::path& file) {
        return open(file, Access::kWrite);
    }
    enum class Access : std::uint8_t { kRead, kWrite };
    /// With kRead only settings() and told_overhead() may be called.
    static Result<ConfigFile> open(const std::filesystem::path& file, Access access);

    ConfigFile(ConfigFile&& other) noexcept;
    ConfigFile& operator=(ConfigFile&& other) noexcept;
    ConfigFile(const ConfigFile&) = delete;
    ConfigFile& operator=(const ConfigFile&) = delete;
    ~ConfigFile();

    /// As it is now. MIG devices are named "GPU-..." too: the file does not know the difference.
    [[nodiscard]] Settings settings() const;

    /// New limits for a device of this config, at once for every running process.
    /// errors   kNotFound: none with that uuid
    Result<Done> set_limits(const Limits& limits);

    /// For messages of guards; those that have read it already keep the old name.
    void set_container(std::string_view name);

    /// Writes what a process holds besides what its guard counts. Guards take it with the next
    /// publish_truth().
    void set_truth(const SlotTruth& truth);

    /// Ends one look: all figures are written. Guards count looks (Slot::truth_from), so one that
    /// changed nothing counts, too.
    void publish_truth();

    /// The overhead that was told of a slot; empty: of another owner, or never.
    [[nodiscard]] std::optional<std::uint64_t> told_overhead(unsigned slot, std::uint64_t owner,
                                                             unsigned device) const;

    /// Says that somebody measures, so that guards need not.
    void beat();

private:
    explicit ConfigFile(abi::Config* mapped) : mapped_(mapped) {}
    [[nodiscard]] unsigned count() const;

    abi::Config* mapped_ = nullptr;
};

}  // namespace aliquot::guard_region
