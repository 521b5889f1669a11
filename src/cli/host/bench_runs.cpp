// SPDX-License-Identifier: Apache-2.0
#include "cli/host/bench_runs.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "base/descriptor.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "os/errno_error.h"
#include "os/spawner.h"

namespace aliquot::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostTail = 8192;  // bytes of its output that are kept
constexpr std::size_t kMostShown = 400;
constexpr std::string_view kSecondsMark = "ALIQUOT_BENCH_SECONDS=";

/// The last line that tells the time that counts; 0: none does.
double own_seconds(std::string_view text) {
    const std::size_t at = text.rfind(kSecondsMark);
    if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n')) return 0;
    std::string_view rest = text.substr(at + kSecondsMark.size());
    rest = rest.substr(0, rest.find_first_of("\r\n"));
    const auto seconds = parse_decimal(rest);
    return seconds.value_or(0);
}

/// Reads to the end, or to the limit: false.
Result<bool> drain(int descriptor, SteadyClock::time_point end, std::string& tail) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now()).count();
        pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
        const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return false;
        std::array<char, 4096> part{};
        const ssize_t got = ::read(descriptor, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return os::error_from_errno(errno, "its output");
        if (got == 0) return true;
        tail.append(part.data(), static_cast<std::size_t>(got));
        if (tail.size() > 2 * kMostTail) tail.erase(0, tail.size() - kMostTail);
    }
}

/// The end of what it printed, on one line.
std::string last_words(std::string_view text) {
    text = trim(text);
    if (text.empty()) return "; it printed nothing";
    if (text.size() > kMostShown) text.remove_prefix(text.size() - kMostShown);
    return "; its last words: " + one_line(text);
}

Error failed(const std::string& what, std::string_view said) {
    return {ErrorCode::kUnavailable, what + last_words(said)};
}

Result<BenchTiming> run_one(const BenchProcess& wanted, std::chrono::seconds limit) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::error_from_errno(errno, "a pipe");
    const Descriptor read(ends[0]);
    Descriptor write(ends[1]);
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto begin = SteadyClock::now();
    auto process = os::Process::start({.argv = wanted.argv,
                                       .environment = wanted.environment,
                                       .input_descriptor = nothing.get(),
                                       .output_descriptor = write.get()});
    if (!process) return std::move(process).error();
    write.reset();
    std::string tail;
    const auto drained = drain(read.get(), begin + limit, tail);
    if (!drained) return drained.error();
    std::optional<os::Exit> exit;
    if (*drained) {
        const auto left = begin + limit - SteadyClock::now();
        exit = process->wait(std::max(std::chrono::ceil<std::chrono::milliseconds>(left),
                                      std::chrono::milliseconds(0)));
    }
    const std::chrono::duration<double> wall = SteadyClock::now() - begin;
    if (!exit) {  // the Process kills it
        return failed("took longer than " + std::to_string(limit.count()) + " s", tail);
    }
    if (exit->signal != 0) {
        return failed("was ended by signal " + std::to_string(exit->signal), tail);
    }
    if (exit->code != 0) return failed("exited with " + std::to_string(exit->code), tail);
    return BenchTiming{.wall_seconds = wall.count(), .own_seconds = own_seconds(tail)};
}

}  // namespace

Result<std::vector<BenchTiming>> run_together(const std::vector<BenchProcess>& processes,
                                              std::chrono::seconds limit) {
    std::vector<std::optional<Result<BenchTiming>>> results(processes.size());
    {
        std::vector<std::jthread> threads;  // they are the parents: each lives as long as its child
        for (std::size_t i = 0; i < processes.size(); ++i) {
            threads.emplace_back([&results, &processes, i, limit] {
                results[i].emplace(run_one(processes[i], limit));
            });
        }
    }
    std::vector<BenchTiming> timings;
    for (auto& result : results) {
        if (!*result) return std::move(*result).error();
        timings.push_back(**result);
    }
    return timings;
}

}  // namespace aliquot::cli
