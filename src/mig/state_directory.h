// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "mig/journal.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::mig {

inline constexpr const char* kDefaultStateDirectory = "/var/lib/aliquot/mig";

/// The directory where changes of MIG are remembered: `journal.json` (an unfinished change),
/// `wish.json` (what was reached last), `lock`. Whoever holds the object holds the lock: two
/// changes of one node exclude each other. Every write is fsync'ed and renamed into place, and the
/// directory is fsync'ed after it.
class StateDirectory {
public:
    /// root   must outlive this
    /// wait   how long to wait for another holder
    /// errors   kConflict: another process holds it; kPermission, kUnavailable: of the file system
    static Result<StateDirectory> open(const os::Root& root, std::string path,
                                       std::chrono::milliseconds wait, os::Clock& clock);
    ~StateDirectory();
    StateDirectory(StateDirectory&& other) noexcept;
    StateDirectory(const StateDirectory&) = delete;
    StateDirectory& operator=(StateDirectory&&) = delete;

    /// Empty: there is no unfinished change.
    /// errors   kConflict: the file is damaged; the message says what to do
    [[nodiscard]] Result<std::optional<Journal>> read_journal() const;
    [[nodiscard]] Result<Done> write_journal(const Journal& journal) const;
    [[nodiscard]] Result<Done> remove_journal() const;

    /// Without entries when there is none.
    [[nodiscard]] Result<LastApplied> read_last_applied() const;
    [[nodiscard]] Result<Done> write_last_applied(const LastApplied& spec) const;

private:
    StateDirectory(const os::Root& root, std::string path, int lock, int directory);
    [[nodiscard]] Result<Done> write(const std::string& file, const std::string& text) const;
    [[nodiscard]] Result<Done> settle() const;

    const os::Root* root_;
    std::string path_;
    int lock_ = -1;
    int directory_ = -1;
};

}  // namespace aliquot::mig
