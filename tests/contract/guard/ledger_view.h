// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "abi/region.h"

/// What abi/region.h says of the files that the guard keeps and reads, seen as the agent sees them:
/// by pread(), never mapped.
namespace aliquot::guardkit {

/// A copy of the ledger of ALIQUOT_GUARD_REGION as it is now.
class LedgerView {
public:
    /// Skips the check where the guard keeps no ledger that we can read (it is not ours).
    static LedgerView read();
    static bool readable();

    /// What the process allocated, as counted; 0: it has no slot.
    [[nodiscard]] std::uint64_t tracked(pid_t pid, unsigned gpu = 0) const;
    [[nodiscard]] std::uint64_t used(unsigned gpu = 0) const;
    [[nodiscard]] std::uint64_t peak(unsigned gpu = 0) const;
    [[nodiscard]] std::uint64_t denied(unsigned gpu = 0) const;
    [[nodiscard]] std::uint32_t remarks(unsigned gpu = 0) const;
    /// The sum over slots of what `used` is to be the sum of.
    [[nodiscard]] std::uint64_t sum_of_slots(unsigned gpu = 0) const;
    [[nodiscard]] unsigned slots_taken() const;
    [[nodiscard]] bool has_slot(pid_t pid) const;
    [[nodiscard]] const abi::Ledger& ledger() const { return *ledger_; }
    /// Slot of the process as an index; kRegionSlots: none.
    [[nodiscard]] unsigned slot_of(pid_t pid) const;

private:
    [[nodiscard]] unsigned device_place(unsigned gpu) const;
    std::shared_ptr<abi::Ledger> ledger_;
};

/// The config file at ALIQUOT_GUARD_CONFIG, made and changed as the agent does it: written through
/// a mapping of our own, each field by itself.
class ConfigFile {
public:
    /// Makes it, with the first `gpus` GPUs in it and no limits.
    explicit ConfigFile(unsigned gpus = 1);
    ~ConfigFile();
    ConfigFile(const ConfigFile&) = delete;
    ConfigFile& operator=(const ConfigFile&) = delete;

    abi::Config& operator*() const { return *config_; }
    abi::Config* operator->() const { return config_; }

private:
    abi::Config* config_;
};

}  // namespace aliquot::guardkit
