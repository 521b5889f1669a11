// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "job_server/record.h"
#include "job_server/use_look.h"

/// Jobs that hold GPUs and do not use them. Pure: what is measured is handed in.
namespace aliquot::job_server {

/// What the server does about them. Milliseconds.
struct IdlePolicy {
    TimeMs after = 0;            // told when its GPUs were idle for so long; 0: never
    unsigned below_percent = 5;  // use of each of its GPUs that counts as idle, 1 to 100
    bool ends = false;           // and ended when they still are, `grace` later
    TimeMs grace = 600'000;
    TimeMs min_run = 600'000;  // of each try does not count: programs load their data first
    TimeMs most_after = 0;     // a job may name no longer time for itself; 0: any
};

/// What holds for one job: its own word goes before the server's, and means that it is ended.
struct IdleRule {
    TimeMs after = 0;  // 0: nobody looks
    bool ends = false;
};
IdleRule rule_of(const IdlePolicy& policy, const jobs::Request& request);

/// A job that runs, as far as its use is judged.
struct Watched {
    JobId job = 0;
    std::uint32_t attempt = 0;
    pid_t runner = 0;  // whose children its processes are
    std::vector<std::string> devices{};
    bool is_share = false;              // others may use the device
    std::uint32_t compute_percent = 0;  // that its share may use at most; 0: all
};

enum class Seen : std::uint8_t { kUnknown, kIdle, kUsed };

/// Of which job's runner a process is a child; 0: of none of these.
using RunnerOf = std::function<pid_t(std::uint32_t pid)>;

/// What a look says of a job. Idle: each of its GPUs was measured for most of the time, and used below the limit, its
/// encoders and decoders too. Of a shared GPU counts what no other job's processes did; where the driver does not tell
/// processes apart, a GPU that is used leaves it unknown.
/// elapsed   since the look before
Seen seen_of(const Watched& job, const UseLook& look, std::chrono::microseconds elapsed,
             unsigned below_percent, const RunnerOf& runner_of);

/// How long the GPUs of a try have been idle.
struct IdleStretch {
    JobId job = 0;
    std::uint32_t attempt = 0;
    TimeMs since = 0;  // first look that found them idle; 0: they are not
    TimeMs until = 0;  // last one
    TimeMs told = 0;   // when its owner was told; 0: not yet
    friend bool operator==(const IdleStretch&, const IdleStretch&) = default;
};

/// Between two looks that know something; after a longer one, and when the clock was set back, it begins anew.
inline constexpr TimeMs kLongestBlind = 120'000;

/// The stretch with one look more. What is unknown neither adds to it nor ends it.
IdleStretch with_look(IdleStretch stretch, Seen seen, TimeMs now);

enum class IdleStep : std::uint8_t { kNone, kTell, kEnd };
IdleStep step_of(const IdleStretch& stretch, const IdleRule& rule, TimeMs grace, TimeMs now);

/// "GPU use below 5 % for 30m"
std::string idle_words(unsigned below_percent, TimeMs length);

}  // namespace aliquot::job_server
