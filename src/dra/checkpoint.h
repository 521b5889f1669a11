// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dra/prepare.h"
#include "os/root.h"

namespace aliquot::dra {

/// One claim as it is kept: a line of format and checksum, then a line of JSON. The checksum is over the bytes as
/// they lie there, and members that are not known are skipped, so that older and newer versions read each other.
std::string to_text(const PreparedClaim& claim);
/// Any bytes.
/// errors   kInvalidInput: cut off, changed, or of a format that cannot be read
Result<PreparedClaim> parse_prepared_claim(std::string_view text);

/// The claims of this node on disk, a file for each: <directory>/<uid>.claim. Reads them again when another
/// instance of the driver has written. Not thread-safe; instances exclude each other by a lock that is not its own.
class Checkpoint {
public:
    /// directory   host path; root must outlive this
    Checkpoint(const os::Root& root, std::string directory);

    /// What is there now. A file that cannot be read is set aside as NAME.bad, told once, and never in the way.
    const PreparedClaims& claims();

    /// errors   kPermission, kUnavailable: it cannot be written; then nothing has changed
    Result<Done> put(const PreparedClaim& claim);
    /// That it is not there is success.
    Result<Done> erase(const std::string& uid);

private:
    [[nodiscard]] std::string file_of(const std::string& uid) const;
    /// What tells that another has written. A time of change alone does not: its clock stands still for milliseconds.
    struct Mark {
        std::uint64_t changes = 0;  // counted by all writers
        os::FileStatus::Identity directory;
        friend bool operator==(const Mark&, const Mark&) = default;
    };
    /// None: it cannot be told.
    [[nodiscard]] std::optional<Mark> mark() const;
    void count_change() const;
    void read_all();

    const os::Root& root_;
    const std::string directory_;
    PreparedClaims claims_;
    std::optional<Mark> read_at_;
};

/// Whether it may name a file: letters, digits, '-', at most 64.
bool is_claim_uid(std::string_view text);

}  // namespace aliquot::dra
