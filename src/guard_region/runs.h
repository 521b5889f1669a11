// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "guard_region/limits.h"

namespace aliquot::guard_region {

/// One `aliquot run` that lives: its files are `config` and `ledger` in `directory`.
struct Run {
    std::filesystem::path directory;
    std::string name;  // of the program that it runs
    Limits limits;
};

/// A place in the books of a machine, given back by the destructor.
class Reservation {
public:
    Reservation(std::filesystem::path directory, Descriptor alive)
        : directory_(std::move(directory)), alive_(std::move(alive)) {}
    Reservation(Reservation&&) noexcept = default;
    Reservation& operator=(Reservation&&) = delete;
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation();

    [[nodiscard]] std::filesystem::path config() const;
    [[nodiscard]] std::filesystem::path ledger() const;
    /// Where the run's pages for turns are handed out, once somebody keeps turns.
    [[nodiscard]] std::filesystem::path node() const;

private:
    std::filesystem::path directory_;  // empty: moved away
    Descriptor alive_;                 // locked while the run lives
};

/// What is asked of Runs.
struct RunRequest {
    Settings settings;                      // of one device
    std::uint64_t device_memory_bytes = 0;  // of that device; 0: not known
    bool overcommit = false;                // do not look whether it fits
};

/// The books of all `aliquot run` of one user on this machine: who lives, with which limits. Safe
/// between processes; what a killed one has left is cleared by the next.
class Runs {
public:
    /// base   a directory of this user alone
    explicit Runs(std::filesystem::path base) : base_(std::move(base)) {}

    /// The directory of this user, made when it is not there: ALIQUOT_RUN_DIRECTORY, where that is
    /// set; else root's is /run/aliquot/run, others have theirs in /run/user/<uid>, XDG_RUNTIME_DIR, or beneath the temporary directory.
    /// errors   kPermission: it belongs to somebody else, or others may write there
    static Result<std::filesystem::path> usual_place(
        const std::map<std::string, std::string>& environment);

    /// Takes a place: makes config and ledger, if the limits of all that live on the device, with
    /// this one, fit its memory.
    /// errors   kConflict: they do not (the message has the figures); kInvalidInput: as
    ///          ConfigFile::create(); kPermission, kUnavailable
    [[nodiscard]] Result<Reservation> reserve(const RunRequest& request) const;

    /// Those that live, by directory.
    [[nodiscard]] std::vector<Run> list() const;

    /// The directories of all, also of those that have ended and were not cleared yet.
    [[nodiscard]] std::vector<std::filesystem::path> directories() const;
    /// Whoever has this file locked keeps their turns.
    [[nodiscard]] std::filesystem::path turns_lock() const { return base_ / "turns.lock"; }

private:
    [[nodiscard]] Result<Descriptor> lock_books() const;
    void sweep() const;

    std::filesystem::path base_;
};

}  // namespace aliquot::guard_region
