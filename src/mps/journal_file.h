// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mps/journal.h"
#include "os/root.h"

namespace aliquot::mps {

/// The journal on the disk. Every change is there when the call returns. Thread-safe.
class JournalFile {
public:
    /// root   must outlive this
    /// path   host path
    JournalFile(const os::Root& root, std::string path);

    /// Reads what an earlier run has left; once, at the start. Entries of an earlier boot are
    /// dropped: a reboot has undone them. A damaged file is kept beside as PATH.damaged.
    /// errors   kInvalidInput: damaged; kPermission, kUnavailable. The journal is then empty.
    Result<Done> load();

    [[nodiscard]] std::vector<JournalEntry> entries() const;
    [[nodiscard]] std::optional<JournalEntry> find(const gpu::Uuid& gpu) const;
    /// Adds or replaces the entry of a GPU. After the last entry has gone the file goes too.
    Result<Done> put(const JournalEntry& entry);
    Result<Done> remove(const gpu::Uuid& gpu);

private:
    Result<Done> write();
    const os::Root& root_;
    std::string path_;
    mutable std::mutex mutex_;
    Journal journal_;
};

}  // namespace aliquot::mps
