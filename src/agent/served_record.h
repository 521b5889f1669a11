// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/root.h"
#include "sharing/served_devices.h"

namespace aliquot::agent {

/// How the devices of this node are served, over restarts of the agent: what pods were promised
/// must not be learned from a configuration that may have changed meanwhile. Not thread-safe.
class ServedRecord {
public:
    struct Content {
        sharing::ServedDevices served;
        bool incomplete = false;  // something is held of devices that are not in it
    };

    /// file   host path; root must outlive this
    ServedRecord(const os::Root& root, std::string file) : root_(root), file_(std::move(file)) {}

    /// No file at all is an empty record; one that cannot be read or understood is incomplete.
    Content load();
    /// Writes what has changed.
    /// errors   it cannot be written; what was there before stays
    Result<Done> save(const Content& content);
    /// Writes, though nothing has changed: whether it could be written.
    Result<Done> write(const Content& content);

private:
    const os::Root& root_;
    const std::string file_;
    std::string written_;
};

/// The file beneath the agent's state directory.
std::string served_record_path(const std::string& state_directory);

std::string to_json(const ServedRecord::Content& content);
/// errors   kInvalidInput: it is no such record, or not of this version
Result<ServedRecord::Content> parse_served_record(std::string_view json);

}  // namespace aliquot::agent
