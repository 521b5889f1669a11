// SPDX-License-Identifier: Apache-2.0
#include "os/exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/descriptor.h"
#include "os/root.h"

namespace aliquot::os {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds::rep kLookForStop = 100;
constexpr std::size_t kLongestInput = 4096;  // PIPE_BUF: fits an empty pipe in one piece

struct Pipe {
    Descriptor read;
    Descriptor write;
};

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return error_from_errno(errno, "pipe");
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Reads until the other side closes. kUnavailable: one of the limits has passed.
Result<std::string> read_all(int descriptor, SteadyClock::time_point end,
                             const ExchangeLimits& limits, const std::string& program) {
    std::string text;
    for (;;) {
        if (limits.stop.stop_requested()) {
            return Error{ErrorCode::kUnavailable, program + " was stopped"};
        }
        auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now()).count();
        if (limits.stop.stop_possible()) left = std::min(left, kLookForStop);
        pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
        const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0 && SteadyClock::now() < end) continue;
        if (ready <= 0) {
            return Error{ErrorCode::kUnavailable, program + " does not answer in time"};
        }
        std::array<char, 4096> part{};
        const ssize_t got = ::read(descriptor, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_from_errno(errno, program);
        if (got == 0) return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > limits.output_bytes) {
            return Error{
                ErrorCode::kUnavailable,
                program + " says more than " + std::to_string(limits.output_bytes) + " bytes"};
        }
    }
}

}  // namespace

Result<Exchange> exchange(Command command, std::string_view input, const ExchangeLimits& limits) {
    const std::string program = command.argv.empty() ? "" : command.argv.front();
    if (input.size() > kLongestInput) {
        return Error{ErrorCode::kInvalidInput, program + ": the input is too long"};
    }
    const auto end = SteadyClock::now() + limits.deadline;
    auto in = make_pipe();
    if (!in) return std::move(in).error();
    auto out = make_pipe();
    if (!out) return std::move(out).error();
    const ssize_t written = ::write(in->write.get(), input.data(), input.size());
    if (std::cmp_not_equal(written, input.size())) return error_from_errno(errno, program);
    in->write.reset();
    command.input_descriptor = in->read.get();
    command.output_descriptor = out->write.get();
    command.output_path.clear();
    auto process = Process::start(command);
    if (!process) return std::move(process).error();
    in->read.reset();
    out->write.reset();
    auto text = read_all(out->read.get(), end, limits, program);
    if (!text) return std::move(text).error();  // the Process kills it
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
    const auto exit = process->wait(std::max(left, std::chrono::milliseconds(0)));
    if (!exit) return Error{ErrorCode::kUnavailable, program + " does not end in time"};
    return Exchange{.exit = *exit, .output = *std::move(text)};
}

}  // namespace aliquot::os
