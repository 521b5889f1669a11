// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/serve_idle.h"

#include "base/sentence.h"
#include "base/time_text.h"
#include "command_line/command.h"

namespace aliquot::cli {
namespace {

constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 30);

Result<job_server::TimeMs> time_of(const char* flag, const std::string& word,
                                   std::chrono::milliseconds least) {
    const auto span = parse_duration(word);
    if (!span || *span < least || *span > kLongest) {
        return Error{ErrorCode::kInvalidInput,
                     std::string(flag) + ": '" + one_line(word, 40) +
                         "' is wrong; expected 90s, 30m or 2h, at least " +
                         std::to_string(least.count() / 1'000) + "s and at most 30d"};
    }
    return span->count();
}

}  // namespace

void add_idle_flags(command_line::Command& command, IdleWords& words) {
    command
        .add_option("--idle-after", words.after,
                    "Warn a job whose GPUs were idle for this long, as 30m; off: only jobs "
                    "submitted with --idle-after",
                    "TIME")
        ->capture_default_str();
    command
        .add_option("--idle-below", words.below,
                    "Utilization below which a GPU is idle, in percent", "PERCENT")
        ->range(1U, 100U)
        ->capture_default_str();
    command
        .add_option(
            "--idle-action", words.action,
            "What to do: tell (warn it), or end it when it is still idle --idle-grace later",
            "ACTION")
        ->one_of({"tell", "end"})
        ->capture_default_str();
    command
        .add_option("--idle-grace", words.grace, "Time between warning a job and ending it", "TIME")
        ->capture_default_str();
    command
        .add_option("--idle-min-run", words.min_run,
                    "Start of each try that does not count, while programs load their data", "TIME")
        ->capture_default_str();
    command.add_option("--idle-most", words.most,
                       "Longest --idle-after that a job may request; default: any", "TIME");
}

Result<job_server::IdlePolicy> idle_policy(const IdleWords& words) {
    using std::chrono::seconds;
    job_server::IdlePolicy policy{.below_percent = words.below, .ends = words.action == "end"};
    if (words.after != "off") {
        const auto after = time_of("--idle-after", words.after, seconds(1));
        if (!after) return after.error();
        policy.after = *after;
    }
    if (!words.most.empty()) {
        const auto most = time_of("--idle-most", words.most, seconds(60));
        if (!most) return most.error();
        policy.most_after = *most;
    }
    const auto grace = time_of("--idle-grace", words.grace, seconds(0));
    if (!grace) return grace.error();
    policy.grace = *grace;
    const auto min_run = time_of("--idle-min-run", words.min_run, seconds(0));
    if (!min_run) return min_run.error();
    policy.min_run = *min_run;
    return policy;
}

}  // namespace aliquot::cli
