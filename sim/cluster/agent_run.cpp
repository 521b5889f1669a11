// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/agent_run.h"

#include <deque>
#include <fstream>
#include <utility>

#include "base/text.h"

namespace aliquot::sim::cluster {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kMaxRestarts = 5;
constexpr auto kFirstPause = 250ms;
constexpr auto kGoodRun = 10s;
constexpr auto kGrace = 3000ms;

}  // namespace

AgentRun::AgentRun(std::vector<std::string> argv, Environment environment,
                   std::filesystem::path log)
    : argv_(std::move(argv)), environment_(std::move(environment)), log_(std::move(log)) {}

Result<Done> AgentRun::start() {
    auto process = os::Process::start(
        {.argv = argv_, .environment = environment_, .output_path = log_.native()});
    if (!process) return std::move(process).error().during("start the agent");
    process_ = *std::move(process);
    started_ = std::chrono::steady_clock::now();
    return Done{};
}

Result<Done> AgentRun::tick(TimePoint now) {
    if (process_) {
        const auto exit = process_->poll();
        if (!exit) return Done{};
        process_.reset();
        exit_code_ = exit->code;
        failures_ = now - started_ >= kGoodRun ? 1 : failures_ + 1;
        next_start_ = now + kFirstPause * (1U << (failures_ - 1));
    }
    if (failures_ > kMaxRestarts) {
        return Error{ErrorCode::kUnavailable,
                     "the agent ended " + std::to_string(failures_) + " times (exit code " +
                         std::to_string(exit_code_) + "): " + last_words(log_, 1)};
    }
    if (now < next_start_) return Done{};
    ++restarts_;
    return start();
}

void AgentRun::stop() {
    if (process_) process_->terminate(kGrace);
    process_.reset();
}

std::string last_words(const std::filesystem::path& log, unsigned lines) {
    std::ifstream file(log, std::ios::binary);
    constexpr std::streamoff kTail = 16'384;
    file.seekg(0, std::ios::end);
    const std::streamoff size = file.tellg();
    if (!file || size <= 0) return "it printed nothing";
    file.seekg(size > kTail ? size - kTail : 0);
    std::deque<std::string> last;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) continue;
        last.push_back(line);
        if (last.size() > lines) last.pop_front();
    }
    std::string text = join(last, "\n");
    return text;
}

}  // namespace aliquot::sim::cluster
