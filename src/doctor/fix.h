// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/judge.h"
#include "os/root.h"

namespace aliquot::doctor {

/// A change that doctor may make by itself: one file, or one kubectl call. Nothing is restarted,
/// drained or removed.
struct SafeFix {
    std::string id;      // the check
    std::string path;    // the file; empty: a command
    std::string before;  // its text now; empty: it does not exist
    std::string after;
    std::vector<std::string> command;  // argv
    std::string then;                  // what the user still has to do: "reboot"
};

/// The safe fixes of a report: module blacklists and options, sysctl, labels. Empty: nothing of what
/// failed can be fixed safely.
std::vector<SafeFix> safe_fixes(const Report& report, const Facts& facts);

/// "--- path" and "+++ path" with the changed lines, or "$ kubectl label ...".
std::string show(const SafeFix& fix);

/// errors   kPermission (needs root), kConflict: the file changed since it was read
Result<Done> apply(const SafeFix& fix, const os::Root& root);

}  // namespace aliquot::doctor
