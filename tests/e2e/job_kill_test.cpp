// SPDX-License-Identifier: Apache-2.0
// A server that is killed, and a machine whose power fails, at each of the journal's writes: no job is lost, none runs
// twice.
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "job_server/keeper.h"
#include "os/temporary_directory.h"

namespace aliquot::job_server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kJobs = 3;
constexpr int kDone = 10;
constexpr int kTooLate = 11;
constexpr int kRefused = 12;
constexpr int kFailedJob = 13;

Options options_of(const fs::path& directory) {
    Options options;
    options.state = directory / "state";
    options.devices = *simulated_devices("a2:2", 0);
    options.runner = {ALIQUOT_BIN_DIR "/aliquot", "serve", "--run-attempt"};
    options.grace = 200ms;
    options.first_pause = 10ms;
    return options;
}

jobs::Request job_of(const fs::path& directory, int number) {
    jobs::Request request;
    request.name = "job-" + std::to_string(number);
    request.command = {"sh", "-c",
                       "f=" + (directory / request.name).native() +
                           "; echo run >> $f; sleep 0.02; echo done >> $f"};
    request.gpu_count = number == 0 ? 2 : 1;
    return request;
}

enum class Death : std::uint8_t { kOfServer, kOfMachine };

/// What a power cut does to runners; the mark of each then is of another boot.
void cut_power(const fs::path& jobs) {
    for (const auto& entry : fs::directory_iterator(jobs)) {
        std::ifstream in(entry.path() / kStartedFile);
        std::string boot;
        pid_t runner = 0;
        std::string ticks;
        if (!(in >> boot >> runner >> ticks) || runner <= 1) continue;
        if (!open_runner(look_at(entry.path()))) continue;  // it has ended
        ::kill(runner, SIGKILL);
        std::ofstream(entry.path() / kStartedFile)
            << "00000000-0000-4000-8000-000000000000 " << runner << " " << ticks << "\n";
    }
}

/// A server's life, in a process of its own: submits what is not submitted, waits for all to end.
[[noreturn]] void live(const fs::path& directory, int kill_at, Death death) {
    Options options = options_of(directory);
    int writes = 0;
    options.hook = [&] {
        if (++writes != kill_at) return;
        if (death == Death::kOfMachine) cut_power(directory / "state/jobs");
        ::kill(::getpid(), SIGKILL);
    };
    auto keeper = Keeper::start(std::move(options));
    if (!keeper) ::_exit(kRefused);
    const User me{.uid = ::getuid(), .gid = ::getgid(), .name = "", .home = "/"};
    for (int i = 0; i < kJobs; ++i) {
        if (!(*keeper)->submit(me, job_of(directory, i), "key-" + std::to_string(i))) {
            ::_exit(kRefused);
        }
    }
    const auto end = std::chrono::steady_clock::now() + 120s;
    while ((*keeper)->living() > 0) {
        if (std::chrono::steady_clock::now() >= end) ::_exit(kTooLate);
        std::this_thread::sleep_for(5ms);
    }
    for (const Record& record : (*keeper)->list({})) {
        if (record.state != jobs::State::kSucceeded) ::_exit(kFailedJob);
    }
    ::_exit((*keeper)->self_check().empty() ? kDone : kRefused);
}

/// How that life ended: an exit code, or -SIGKILL.
int outcome_of_life(const fs::path& directory, int kill_at, Death death = Death::kOfServer) {
    const pid_t child = ::fork();
    if (child == 0) live(directory, kill_at, death);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::string content(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(JobServerKilled, AtAnyWriteLosesNoJobAndRunsNoneTwice) {
    int kills = 0;
    for (int at = 1;; ++at) {
        const os::TemporaryDirectory directory;
        fs::permissions(directory.path(), fs::perms(0755));
        const int first = outcome_of_life(directory.path(), at);
        if (first == -SIGKILL) {
            ++kills;
            // And again while it recovers, earlier each time, until one life is whole.
            for (int again = at;
                 again > 0 && outcome_of_life(directory.path(), again) == -SIGKILL;) {
                ++kills;
                again /= 2;
            }
            ASSERT_EQ(outcome_of_life(directory.path(), 0), kDone) << "killed at write " << at;
        }
        for (int i = 0; i < kJobs; ++i) {
            EXPECT_EQ(content(directory.path() / ("job-" + std::to_string(i))), "run\ndone\n")
                << "job " << i << ", killed at write " << at;
        }
        if (first != -SIGKILL) {
            EXPECT_EQ(first, kDone);
            break;
        }
    }
    // Three jobs: four steps each, and the hook before and after each.
    EXPECT_GE(kills, 24);
}

TEST(JobServerPowerCut, AtAnyWriteLosesNoJobAndRepeatsOnlyWhatItInterrupted) {
    int all_cuts = 0;
    for (int at = 1;; ++at) {
        const os::TemporaryDirectory directory;
        fs::permissions(directory.path(), fs::perms(0755));
        int cuts = 0;
        int last = outcome_of_life(directory.path(), at, Death::kOfMachine);
        for (int again = at; last == -SIGKILL; again /= 2) {
            ++cuts;
            last = outcome_of_life(directory.path(), again, Death::kOfMachine);
        }
        ASSERT_EQ(last, kDone) << "power cut at write " << at;
        for (int i = 0; i < kJobs; ++i) {
            const std::string text = content(directory.path() / ("job-" + std::to_string(i)));
            EXPECT_THAT(text, testing::EndsWith("run\ndone\n")) << "job " << i;
            int runs = 0;
            for (auto one = text.find("run"); one != std::string::npos;
                 one = text.find("run", one + 1)) {
                ++runs;
            }
            // A cut takes no job that waits, nor one whose end was written.
            EXPECT_LE(runs, 1 + cuts) << "job " << i << ", power cut at write " << at;
        }
        all_cuts += cuts;
        if (cuts == 0) break;
    }
    EXPECT_GE(all_cuts, 24);
}

}  // namespace
}  // namespace aliquot::job_server
