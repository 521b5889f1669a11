// SPDX-License-Identifier: Apache-2.0
// aliquot-probe: what a container has of the GPU that it was given.
#include <csignal>
#include <cstdio>
#include <ctime>

#include "cmd/aliquot-probe/probe.h"
#include "cmd/aliquot-probe/work.h"

namespace {

/// Stays on the GPU until the time is up or somebody says that it is enough.
void hold(unsigned seconds) {
    const timespec limit{.tv_sec = static_cast<time_t>(seconds), .tv_nsec = 0};
    sigset_t ends{};
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGINT);
    (void)::sigtimedwait(&ends, nullptr, &limit);
}

/// Prints the line that aliquot bench reads.
int measure(const aliquot::probe::Arguments& asked) {
    constexpr int kFailed = 1;
    constexpr double kRounds = 1000;
    const auto speed = aliquot::probe::work(asked.work, asked.work_seconds);
    if (!speed) {
        std::fprintf(stderr, "aliquot-probe: %s\n", speed.error().message.c_str());
        return kFailed;
    }
    std::printf("ALIQUOT_BENCH_SECONDS=%.9f\n", kRounds / *speed);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    constexpr int kUsage = 2;
    const auto asked = aliquot::probe::read_arguments(
        {const_cast<const char* const*>(words + 1), static_cast<std::size_t>(count - 1)});
    if (!asked) {
        std::fprintf(stderr, "aliquot-probe: %s\n", asked.error().message.c_str());
        return kUsage;
    }
    if (asked->help || asked->version) {
        std::fputs(asked->help ? aliquot::probe::kHelp : "aliquot-probe " ALIQUOT_VERSION "\n",
                   stdout);
        return 0;
    }
    if (asked->work != aliquot::probe::Arguments::Work::kNone) return measure(*asked);
    // As the first process of a container we would otherwise not hear SIGTERM.
    sigset_t ends{};
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGINT);
    ::sigprocmask(SIG_BLOCK, &ends, nullptr);
    const auto answer = aliquot::probe::look(*asked);
    std::fputs(aliquot::probe::to_json(answer).c_str(), stdout);
    std::fflush(stdout);
    if (answer.could_ask && asked->hold_seconds > 0) hold(asked->hold_seconds);
    return answer.exit_code();
}
