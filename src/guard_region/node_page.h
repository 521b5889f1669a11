// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"
#include "os/root.h"

/// The page on which the guards of several containers take turns (abi::NodePage). All of them write
/// it, and nobody believes more of it than that it is there.
namespace aliquot::guard_region {

/// A new empty page in memory that nobody can cut short: sealed against another size. It lasts as
/// long as somebody has it open.
/// errors   kUnavailable: no memory
Result<Descriptor> make_node_memory();

/// The page that earlier made memory has become, from a process of `pids` that holds it: so that an
/// agent that starts again goes on with the page of the containers that run. Where there are
/// several, the one that most processes hold.
/// root     for /proc
/// errors   kNotFound: none holds one, or we may not look (CAP_SYS_PTRACE)
Result<Descriptor> find_node_memory(const os::Root& root, std::span<const pid_t> pids);

/// A page as a file of one user, mode 0600. There already: nothing to do.
/// errors   kPermission, kUnavailable; kInvalidInput: something else is there
Result<Done> make_node_file(const std::filesystem::path& file);

}  // namespace aliquot::guard_region
