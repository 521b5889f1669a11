// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "guard_region/limits.h"
#include "guard_region/record.h"
#include "os/root.h"

namespace aliquot::guard_region {

/// The regions of a node: <base>/<id>/record, and <base>/<id>/guard/ with config, ledger and the
/// turns' socket, which is what a container sees. Only root comes in from the host's side.
/// Thread-safe: a region is made beside and then given its name.
class Directory {
public:
    /// base   host path, "/run/aliquot/regions"
    /// root   must outlive this
    Directory(const os::Root& root, std::string base) : root_(root), base_(std::move(base)) {}

    /// Makes a region. `record.id` is chosen here.
    /// returns  the record with its id
    /// errors   kInvalidInput: of ConfigFile::create(); kPermission, kUnavailable: no room
    [[nodiscard]] Result<Record> create(Record record, const Settings& settings) const;

    /// All regions by id; what cannot be read is left out.
    [[nodiscard]] std::vector<Record> list() const;

    /// Writes the record anew.
    [[nodiscard]] Result<Done> update(const Record& record) const;

    /// Removes a region; that it is not there is success. Containers that have it mounted go on.
    [[nodiscard]] Result<Done> remove(const std::string& id) const;

    /// Removes what a creation that was cut off has left.
    void sweep() const;

    /// Host path of what the container sees.
    [[nodiscard]] std::string guard_path(const std::string& id) const;
    /// For system calls.
    [[nodiscard]] std::filesystem::path file(const std::string& id, std::string_view name) const;
    [[nodiscard]] std::filesystem::path place() const { return root_.resolve(base_); }
    /// The same without symbolic links, as the kernel names mounts.
    [[nodiscard]] std::string real_place() const;
    [[nodiscard]] const std::string& base() const { return base_; }

private:
    [[nodiscard]] Result<Done> fill(const std::string& place, const Record& record,
                                    const Settings& settings) const;

    const os::Root& root_;
    std::string base_;
};

}  // namespace aliquot::guard_region
