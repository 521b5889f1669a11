// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "base/result.h"
#include "os/root.h"

/// The guard's library as containers get it: by versions side by side, since an overwritten library
/// crashes whoever has it mapped.
namespace aliquot::guard_region {

/// Where a container finds it, and what its /etc/ld.so.preload says.
inline constexpr char kLibraryDirectory[] = "/run/aliquot/lib";
inline constexpr char kLibraryFile[] = "libaliquot-guard.so";
inline constexpr char kPreloadFile[] = "ld.so.preload";

/// Puts the library and its preload file into <base>/<version>/, complete or not at all. The version
/// is made of the content, so the same library is put there once.
///
/// base      host path, "/var/lib/aliquot/guard"
/// library   where this program has it; at most 64 MiB
/// returns   the version
/// errors    kNotFound: no library; kInvalidInput: not a library for this processor; kPermission,
///           kUnavailable: it cannot be put there
Result<std::string> install_guard(const os::Root& root, const std::string& base,
                                  const std::filesystem::path& library);

/// Removes the versions that are not in `used`, and what an installation that was cut off has left.
void remove_guards(const os::Root& root, const std::string& base,
                   const std::set<std::string>& used);

}  // namespace aliquot::guard_region
