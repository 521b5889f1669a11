// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
///
/// A note that does not parse is set aside as <uid>.claim.bad and told once. Its claim is still there, as kLost: the
/// name tells whose it is, `devices_of` what it holds.
class Checkpoint {
public:
    /// What the claim with this uid holds, from elsewhere than its note; empty: nothing tells.
    /// errors   it cannot be read now
    using DevicesOf = std::function<Result<std::vector<PreparedDevice>>(const std::string& uid)>;

    /// directory   host path; root must outlive this
    Checkpoint(const os::Root& root, std::string directory, DevicesOf devices_of);

    /// What is there now, valid until the next call; a directory that is not there has none.
    /// errors   kPermission, kUnavailable: the directory or one of its files cannot be read, or there are more files
    ///          than are read. Nobody knows then what is held; the next call looks again.
    Result<const PreparedClaims*> claims();

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
    void remember(const std::optional<Mark>& before);
    /// errors   as claims()
    [[nodiscard]] Result<PreparedClaims> read_all() const;
    void set_aside(const std::string& name, const std::string& why) const;
    Result<Done> add_lost(const std::string& uid, PreparedClaims& claims) const;

    const os::Root& root_;
    const std::string directory_;
    const DevicesOf devices_of_;
    PreparedClaims claims_;
    std::optional<Mark> read_at_;
};

/// Whether it may name a file: letters, digits, '-', at most 64.
bool is_claim_uid(std::string_view text);

}  // namespace aliquot::dra
