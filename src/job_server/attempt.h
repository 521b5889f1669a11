// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "jobs/retry.h"

/// The jobs of one machine: kept in a journal, started when their turn comes, found again after any death.
namespace aliquot::job_server {

/// One try of a job has a directory of its own: `spec` (what to run; ours alone), `started` (made once, locked by the
/// runner as long as it lives), `output`, `exit`. Who makes `started` decides whether the try begins: the runner, or
/// a server that takes the try back. So no try begins twice, whoever dies when.
struct Spec {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> env;
    std::vector<std::string>
        aside;  // run before it and after it, whatever becomes of that; empty: nothing
    /// Holds its share: run as this process's user with guard_env alone, which no submitter can change, and ends with a
    /// program that calls run_guarded() of the directory that follows. Empty: argv is run.
    std::vector<std::string> guard;
    std::vector<std::pair<std::string, std::string>> guard_env;
    std::string workdir;
    uid_t uid = 0;
    gid_t gid = 0;
    std::string user;                       // for its further groups; empty: none are set
    std::int64_t seconds = 0;               // it is ended after so long
    std::int64_t grace_ms = 10'000;         // between SIGTERM and SIGKILL
    std::uint64_t output_bytes = 64 << 20;  // what comes after is thrown away, and said
    std::string cgroup;                     // a directory to be made; empty: none
    std::uint64_t memory_bytes = 0;         // of the cgroup; 0: no limit
    std::int64_t cpu_milli = 0;
};

/// How a try ended.
struct Ending {
    jobs::Cause cause = jobs::Cause::kNone;
    int code = 0;        // as a shell says it: 128 + signal
    std::string reason;  // one line; may be empty
};

/// What is known of a try.
struct Look {
    enum class Kind : std::uint8_t {
        kNew,    // it has not begun
        kAlive,  // its runner lives
        kEnded,  // `ending`
        kLost,   // its runner was killed, or the machine started anew
        kVoid,   // taken back before it began
    };
    Kind kind = Kind::kNew;
    Ending ending;
    pid_t runner = 0;
    std::string boot;               // of the machine, when it began
    std::uint64_t start_ticks = 0;  // of the runner
};

/// Makes the directory and its spec. errors: of the file system
Result<Done> prepare_attempt(const std::filesystem::path& directory, const Spec& spec);
Look look_at(const std::filesystem::path& directory);
/// Takes a try back that has not begun: from then on it never does. False: it has begun.
bool take_back(const std::filesystem::path& directory);
/// Ends what a killed runner has left, when this is still the same boot.
void end_left_over(const Look& lost, const std::string& cgroup);
/// The runner's process, when it still is the one that was looked at; empty: it has ended.
Descriptor open_runner(const Look& alive);

/// The runner: runs the try to its end, in this process. Writes "started" and a line break, or what is wrong, to
/// standard output. To be called in a process with one thread. Returns its exit code.
int run_attempt(const std::filesystem::path& directory);

/// What the guard's words start: becomes the submitter, with the guard's variables beside the spec's, and then the spec's
/// program. Returns only when that fails: an exit code, as a shell says it; what is wrong is on standard error.
int run_guarded(const std::filesystem::path& directory);

/// Changes with every start of the machine; empty: the kernel does not tell.
std::string boot_id();

// Files of an attempt's directory.
inline constexpr const char* kSpecFile = "spec";
inline constexpr const char* kStartedFile = "started";
inline constexpr const char* kOutputFile = "output";
inline constexpr const char* kExitFile = "exit";

/// Between the two forms of a spec.
std::string to_text(const Spec& spec);
Result<Spec> read_spec(const std::string& text);

}  // namespace aliquot::job_server
