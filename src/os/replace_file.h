// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace aliquot::os {

/// Writes a file so that a reader sees the old content or the new, never a part, and that the new one outlasts a
/// power cut: temporary file beside it, fsync, rename, fsync of the directory. What a writer that was killed left
/// there of the same file (".NAME.tmpPID.N") goes first.
/// mode     permission bits; empty: those of the file that is there, else 0666 less the umask
/// errors   kNotFound: no such directory; kPermission; kUnavailable: no space, I/O error. The old content stays and
///          no temporary file does; but when only the last step failed, which the message says, the new content is there
Result<Done> replace_file(const std::filesystem::path& file, std::string_view content,
                          std::optional<std::uint32_t> mode);

/// Writes what a person named: a file as replace_file() does, through links; anything else (a pipe, /dev/stdout) and
/// a file whose directory nobody may write in is written into.
/// mode     as of replace_file()
/// errors   as replace_file(), with the path as given
Result<Done> write_output(const std::filesystem::path& path, std::string_view content,
                          std::optional<std::uint32_t> mode = std::nullopt);

}  // namespace aliquot::os
