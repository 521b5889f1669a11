// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace aliquot::os {

/// A new empty directory under TMPDIR, removed with all it holds by the destructor.
/// Throws std::filesystem::filesystem_error when none can be made.
class TemporaryDirectory {
public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// The destructor leaves it and all that it holds.
    void keep() { kept_ = true; }

private:
    std::filesystem::path path_;
    bool kept_ = false;
};

}  // namespace aliquot::os
