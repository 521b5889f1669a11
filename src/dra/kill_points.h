// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace aliquot::dra {

/// Runs `work` in a child process that is killed (SIGKILL) right before its `nth` step that changes a file system:
/// a rename, a removal, a new directory, a sync; the first is 1. Such steps of a child wait for no disk, since what a
/// process that dies has written is there for the next one. True: it was killed; false: it came to its end before.
/// Throws std::runtime_error when no child can be made, or it ends otherwise.
bool runs_until_killed(unsigned nth, const std::function<void()>& work);

/// Such a step that is none of a file system, where `work` says so.
void kill_point();

/// While one lives, this process does not wait for the disk either.
class NoSync {
public:
    NoSync();
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;
};

}  // namespace aliquot::dra
