// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/descriptor.h"
#include "base/result.h"
#include "guard_region/ledger.h"

namespace aliquot::guard_region {

/// Makes an empty ledger, mode 0666: whatever user a container runs as writes it. The directory
/// around it keeps everybody else out.
/// region   names the container; not 0
/// errors   kConflict: there is a file; kPermission; kUnavailable
Result<Done> create_ledger(const std::filesystem::path& file, std::uint64_t region);

/// Makes a ledger of as many zeros. False: errno says why.
bool write_ledger_head(int fd, std::uint64_t region);

/// A random name for a ledger; never 0.
std::uint64_t random_region();

/// A ledger that is read again and again. Never mapped: its tenant may cut it short at any time.
class LedgerFile {
public:
    /// What lies there, or is handed over there.
    /// errors   kNotFound, kPermission; kInvalidInput: not a regular file; of receive_from()
    static Result<LedgerFile> open(const std::filesystem::path& file);
    /// One that is open.
    /// name   for messages
    static LedgerFile of(Descriptor fd, std::filesystem::path name) {
        return LedgerFile(std::move(name), std::move(fd));
    }

    /// errors   kInvalidInput: cut short, or scribbled over; kUnavailable: cannot be read
    [[nodiscard]] Result<LedgerView> read() const;

    /// Whether a process holds some slot, by the locks alone: true even where the content is not to
    /// be read.
    [[nodiscard]] bool held() const;

private:
    LedgerFile(std::filesystem::path file, Descriptor fd)
        : file_(std::move(file)), fd_(std::move(fd)) {}

    std::filesystem::path file_;
    Descriptor fd_;
};

}  // namespace aliquot::guard_region
