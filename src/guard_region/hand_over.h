// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/descriptor.h"
#include "base/result.h"

/// Memory for guards that is no file: whoever connects to a socket gets one byte with a descriptor,
/// and the connection ends. Nobody waits for whoever does not take it.
namespace aliquot::guard_region {

/// Listens at `file`, for every user, in place of what is there: whoever looks finds the old or the new.
/// Non-blocking.
/// errors   kPermission, kUnavailable, kInvalidInput: the name is too long
Result<Descriptor> listen_at(const std::filesystem::path& file);

/// Sends `memory`, opened once more: locks belong to the open file, so everybody gets their own.
void hand_over(int connection, int memory);

/// Sends `memory` itself: an open file for each that asks would be kernel memory of ours for as long
/// as they keep it. Whoever wants locks of their own opens it once more.
void pass_on(int connection, int memory);

/// Whether the other side has taken all that was sent to it, or is gone.
bool was_taken(int connection);

/// The other side: waits a second at most. Opens once more what it gets, for locks of its own.
/// errors   kUnavailable: nobody listens, or sends nothing
Result<Descriptor> receive_from(const std::filesystem::path& file);

}  // namespace aliquot::guard_region
