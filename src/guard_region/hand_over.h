// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

/// Memory for guards that is no file: whoever connects to a socket gets one byte with a descriptor,
/// and the connection ends. Nobody waits for whoever does not take it.
namespace aliquot::guard_region {

/// Listens at `file`, for every user, in place of what is there: whoever looks finds the old or the new.
/// Non-blocking.
/// type     of socket: SOCK_STREAM, SOCK_SEQPACKET
/// errors   kPermission, kUnavailable, kInvalidInput: the name is too long
Result<Descriptor> listen_at(const std::filesystem::path& file, int type = SOCK_STREAM);

/// Sends `memory` itself: an open file for each that asks would be kernel memory of ours for as long
/// as they keep it. Whoever wants locks of their own opens it once more.
void pass_on(int connection, int memory);

/// The same of several files, at most kMostFiles, with what is to be said of them.
inline constexpr std::size_t kMostFiles = 4;
void pass_on(int connection, std::span<const int> files, std::string_view head);

/// Whether the other side has taken all that was sent to it, or is gone.
bool was_taken(int connection);

/// The other side: waits a second at most. Opens once more what it gets, for locks of its own.
/// errors   kUnavailable: nobody listens, or sends nothing
Result<Descriptor> receive_from(const std::filesystem::path& file);

}  // namespace aliquot::guard_region
