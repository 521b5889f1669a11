// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "guard_region/directory.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::agent {

/// The regions of this node and the guard's library that they name: makes, lists, removes them.
///
/// Thread-safe. What is known lies in memory, and nobody who asks for it waits for the disk; two who
/// install the library wait for each other.
class GuardRegions {
public:
    struct Options {
        std::filesystem::path library;  // where this program has the guard
        std::string library_base;       // host paths
        std::string regions;
    };
    /// How it stands with making regions.
    struct State {
        std::string version;  // of the guard that new containers get; empty: none yet
        std::string problem;  // why the last region could not be made; empty: it could
    };

    /// Reads what an earlier agent has left, and removes what it has left half made.
    /// root   must outlive this
    GuardRegions(const os::Root& root, Options options);

    /// Installs the guard where it is not, and makes a region. Id, library and time are chosen here.
    /// errors   of install_guard() and Directory::create()
    Result<guard_region::Record> make(guard_region::Record record,
                                      const guard_region::Settings& settings);

    /// All regions by id.
    [[nodiscard]] std::vector<guard_region::Record> list() const;

    /// Writes the record of a region anew.
    Result<Done> update(const guard_region::Record& record);

    /// Removes a region. Where its files stay, so does the region.
    Result<Done> remove(const std::string& id);

    /// While the last region could not be made: tries by one that nobody gets, every few seconds, so
    /// that the problem is told for as long as there is one.
    void try_again(os::TimePoint now);

    /// Removes guards that no region names.
    void remove_unused_guards();

    [[nodiscard]] State state() const;
    /// Host path of a version of the guard.
    [[nodiscard]] std::string library(const std::string& version) const;
    /// Its paths alone are for others.
    [[nodiscard]] const guard_region::Directory& directory() const { return directory_; }

private:
    Result<guard_region::Record> make_unnoted(guard_region::Record record,
                                              const guard_region::Settings& settings);
    Result<std::string> install();

    const os::Root& root_;
    Options options_;
    guard_region::Directory directory_;
    std::mutex installing_;     // held while guards are installed or removed
    mutable std::mutex mutex_;  // guards what follows; never held over a system call
    State state_;
    os::TimePoint next_try_{};
    std::int64_t newest_us_ = 0;  // when the newest region was made
    std::map<std::string, guard_region::Record> records_;
};

}  // namespace aliquot::agent
