// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/request.h"
#include "jobs/retry.h"
#include "jobs/state.h"

namespace aliquot::job_server {

using JobId = std::uint64_t;
using TimeMs = std::int64_t;  // since 1970; 0: not yet

/// A user of this machine, as the kernel or the user database tells.
struct User {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name;  // empty: the number is all that is known
    std::string home;
    friend bool operator==(const User&, const User&) = default;
};

/// A job as the journal has it.
struct Record {
    JobId id = 0;  // 0: not in the journal yet
    User user;
    std::string key;          // of the user, to ask twice and get one; empty: none
    pid_t runner = 0;         // process of its runner, while it has one; not in the journal
    std::uint32_t index = 0;  // in its array
    jobs::Request request;
    jobs::State state = jobs::State::kQueued;
    jobs::Cause cause = jobs::Cause::kNone;  // of the last try
    int exit_code = 0;                       // of the last try, as a shell says it
    std::string reason;                      // why it is in its state, one line
    std::uint32_t attempt = 0;               // tries that were begun or taken back
    std::uint32_t counted = 0;               // of those that failed and count
    std::vector<std::string> devices;        // UUIDs, while it has them and of the last try
    bool on_cpu = false;                     // no GPU came in time
    bool cancel_asked = false;
    bool for_idleness = false;  // cancel_asked by the server, since nobody used its GPUs
    TimeMs idle_since = 0;      // its GPUs are idle, and that was told; 0: not; not in the journal
    TimeMs submitted = 0;
    TimeMs not_before = 0;  // a further try waits until then
    TimeMs first_started = 0;
    TimeMs started = 0;  // of the last try
    TimeMs ended = 0;
};

/// One step of a job.
struct Transition {
    TimeMs at = 0;
    jobs::State from = jobs::State::kDraft;
    jobs::State to = jobs::State::kDraft;
    std::string reason;
};

}  // namespace aliquot::job_server
