// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "mig/plan.h"

namespace aliquot::mig {

/// How a GPU is cut.
struct Partitioning {
    bool enabled = false;             // MIG mode
    std::vector<Instance> instances;  // by start; `busy` does not matter
    friend bool operator==(const Partitioning&, const Partitioning&) = default;
};

/// What happens to one GPU.
struct JournalEntry {
    gpu::Uuid gpu;
    unsigned index = 0;  // the driver's, for messages
    Partitioning before;
    Partitioning wanted;
    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// An unfinished change. Written before anything is touched and removed when it is done, so that
/// whoever finds one knows where the GPUs were and where they shall be; how far they got is asked
/// of the GPUs themselves.
struct Journal {
    enum class Direction : std::uint8_t { kForward, kBack };
    Direction direction = Direction::kForward;
    std::string reason;    // why it goes back; empty while it goes forward
    bool remember = true;  // ApplyOptions::remember
    std::vector<JournalEntry> gpus;
    friend bool operator==(const Journal&, const Journal&) = default;
};

/// What was reached last on each GPU: what is restored after a reboot.
struct LastApplied {
    struct Entry {
        gpu::Uuid gpu;
        unsigned index = 0;
        Partitioning cut;
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> gpus;  // by uuid
    friend bool operator==(const LastApplied&, const LastApplied&) = default;
};

/// JSON with a checksum (FNV-1a, 64 bits, over its body).
std::string to_json(const Journal& journal);
std::string to_json(const LastApplied& spec);

/// errors   kInvalidInput: not such a file, another version, or its checksum does not fit
Result<Journal> parse_journal(std::string_view text);
Result<LastApplied> parse_last_applied(std::string_view text);

}  // namespace aliquot::mig
