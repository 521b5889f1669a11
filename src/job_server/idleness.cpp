// SPDX-License-Identifier: Apache-2.0
#include "job_server/idleness.h"

#include <algorithm>

namespace aliquot::job_server {
namespace {

constexpr double kAll = 100.0;

/// Percent of the time that was measured; empty: too little of it was, and that was idle.
std::optional<double> percent_of(const cost::Use& use, std::chrono::microseconds elapsed,
                                 double below) {
    if (use.measured_us == 0) return std::nullopt;
    const double percent =
        kAll * static_cast<double>(use.busy_us) / static_cast<double>(use.measured_us);
    const bool most = static_cast<double>(use.measured_us) * 2 >=
                      static_cast<double>(std::max<std::int64_t>(elapsed.count(), 0));
    if (!most && percent < below) return std::nullopt;
    return percent;
}

/// Of a shared device that somebody uses: what nobody but this job can have done there.
Seen seen_apart(const Watched& job, const std::string& device, const cost::Use& whole,
                const UseLook& look, double below, const RunnerOf& runner_of) {
    if (look.told_apart.count(device) == 0) return Seen::kUnknown;
    std::uint64_t own_us = 0;
    std::uint64_t others_us = 0;
    unsigned media = 0;
    for (const UseLook::Process& one : look.processes) {
        if (one.device != device) continue;
        const pid_t runner = runner_of(one.pid);
        const bool other = runner != 0 && runner != job.runner;
        (other ? others_us : own_us) += one.use.busy_us;
        if (!other) media = std::max(media, one.media_percent);
    }
    const auto percent = [&](std::uint64_t busy_us) {
        return kAll * static_cast<double>(busy_us) / static_cast<double>(whole.measured_us);
    };
    if (std::max(percent(own_us), static_cast<double>(media)) >= below) return Seen::kUsed;
    // Processes that came and went between two looks are in no list.
    const std::uint64_t told = std::min(own_us + others_us, whole.busy_us);
    return percent(whole.busy_us - told) < below ? Seen::kIdle : Seen::kUnknown;
}

Seen seen_on(const Watched& job, const std::string& device, const UseLook& look,
             std::chrono::microseconds elapsed, double below, const RunnerOf& runner_of) {
    const auto found = look.devices.find(device);
    if (found == look.devices.end()) return Seen::kUnknown;
    const auto whole = percent_of(found->second, elapsed, below);
    if (!whole) return Seen::kUnknown;
    const auto media = look.media_percent.find(device);
    const double busy = std::max(
        *whole, media == look.media_percent.end() ? 0.0 : static_cast<double>(media->second));
    if (busy < below) return Seen::kIdle;
    if (!job.is_share) return Seen::kUsed;
    return seen_apart(job, device, found->second, look, below, runner_of);
}

}  // namespace

IdleRule rule_of(const IdlePolicy& policy, const jobs::Request& request) {
    constexpr TimeMs kMsPerSecond = 1'000;
    if (request.idle_after_seconds != 0) {
        return {.after = request.idle_after_seconds * kMsPerSecond, .ends = true};
    }
    return {.after = policy.after, .ends = policy.ends};
}

Seen seen_of(const Watched& job, const UseLook& look, std::chrono::microseconds elapsed,
             unsigned below_percent, const RunnerOf& runner_of) {
    if (job.devices.empty()) return Seen::kUnknown;
    // A share that may use a tenth of a GPU is busy when it does.
    const double part = job.is_share && job.compute_percent != 0 ? job.compute_percent / kAll : 1;
    const double below = below_percent * part;
    Seen all = Seen::kIdle;
    for (const std::string& device : job.devices) {
        const Seen one = seen_on(job, device, look, elapsed, below, runner_of);
        if (one == Seen::kUsed) return one;
        if (one == Seen::kUnknown) all = one;
    }
    return all;
}

IdleStretch with_look(IdleStretch stretch, Seen seen, TimeMs now) {
    const bool blind = now < stretch.until || now - stretch.until > kLongestBlind;
    if (stretch.since != 0 && blind) stretch.since = stretch.told = 0;
    if (seen == Seen::kUnknown) return stretch;
    if (seen == Seen::kUsed) {
        stretch.since = stretch.told = 0;
        return stretch;
    }
    if (stretch.since == 0) stretch.since = now;
    stretch.until = now;
    return stretch;
}

IdleStep step_of(const IdleStretch& stretch, const IdleRule& rule, TimeMs grace, TimeMs now) {
    if (rule.after == 0 || stretch.since == 0 || stretch.until != now) return IdleStep::kNone;
    if (now - stretch.since < rule.after) return IdleStep::kNone;
    if (stretch.told == 0) return IdleStep::kTell;
    return rule.ends && now - stretch.told >= grace ? IdleStep::kEnd : IdleStep::kNone;
}

std::string idle_words(unsigned below_percent, TimeMs length) {
    constexpr TimeMs kSecond = 1'000;
    constexpr TimeMs kMinute = 60 * kSecond;
    const std::string time = length < kMinute ? std::to_string(length / kSecond) + "s"
                                              : std::to_string(length / kMinute) + "m";
    return "GPU use below " + std::to_string(below_percent) + " % for " + time;
}

}  // namespace aliquot::job_server
