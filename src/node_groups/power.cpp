// SPDX-License-Identifier: Apache-2.0
#include "node_groups/power.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/log.h"
#include "base/sentence.h"
#include "os/exchange.h"

namespace aliquot::node_groups {
namespace {

constexpr std::chrono::seconds kBetweenTries{2};

std::string run_once(const Group& group, const std::vector<std::string>& words,
                     const std::stop_token& stop) {
    os::Command command{.argv = words};
    const auto own = os::current_environment();
    for (const char* const name : {"PATH", "HOME"}) {
        const auto found = own.find(name);
        if (found != own.end()) command.environment[name] = found->second;
    }
    const auto done =
        os::exchange(std::move(command), "", {.deadline = group.power.timeout, .stop = stop});
    if (!done) return one_line(done.error().message, 300);
    if (done->exit.code == 0) return "";
    return words.front() + " ended with " + std::to_string(done->exit.code) +
           (done->output.empty() ? "" : ": " + one_line(done->output, 300));
}

}  // namespace

std::string carry_out(const Group& group, const Task& task, const std::stop_token& stop) {
    const auto machine = std::ranges::find_if(
        group.machines, [&](const Machine& one) { return one.name == task.machine; });
    if (machine == group.machines.end()) return "no such machine";
    const auto words = command_for(task.starts ? group.power.start : group.power.stop, *machine);
    if (!words) return words.error().message;
    std::string problem;
    std::mutex mutex;
    std::condition_variable_any changed;
    for (unsigned attempt = 0; attempt < group.power.tries; ++attempt) {
        if (attempt != 0) {
            std::unique_lock lock(mutex);
            changed.wait_for(lock, stop, kBetweenTries, [] { return false; });
        }
        if (stop.stop_requested()) break;
        problem = run_once(group, *words, stop);
        if (problem.empty()) break;
    }
    log::info("node_groups.power", {{"machine", task.machine},
                                    {"action", task.starts ? "start" : "stop"},
                                    {"problem", problem}});
    return problem;
}

}  // namespace aliquot::node_groups
