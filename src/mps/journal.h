// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/compute_mode.h"
#include "gpu/inventory.h"
#include "mps/process.h"

namespace aliquot::mps {

/// What was changed on this machine for MPS, so that whoever comes after a crash can undo it. An
/// entry is on the disk before the change it tells of is made, and until it is undone.
struct JournalEntry {
    gpu::Uuid gpu;
    std::optional<gpu::ComputeMode> restore_to;  // empty: the mode was exclusive-process already
    ProcessId daemon;                            // pid 0: none is known
    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

struct Journal {
    std::string boot;  // the kernel's boot id: after a reboot neither pids nor modes hold
    std::vector<JournalEntry> entries;

    JournalEntry* find(const gpu::Uuid& gpu);
    friend bool operator==(const Journal&, const Journal&) = default;
};

/// Lines of words: "aliquot-mps 1", "boot ID", "gpu UUID mode MODE|kept daemon PID START".
std::string to_text(const Journal& journal);
/// errors   kInvalidInput: not a journal, or of a later version; the message has the line number
Result<Journal> parse_journal(std::string_view text);

}  // namespace aliquot::mps
