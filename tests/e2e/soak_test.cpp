// SPDX-License-Identifier: Apache-2.0
//
// aliquot_soak [--kubelet-restarts N] [--agent-kills N] [--seed S] [--load N] [--agent PROGRAM]
//
// --load N: N processes that only compute run beside it, so that every race has time to be lost.
// Pods come and go while kubelet restarts and the agent is killed, over and over. After each event
// all devices must come back, no device may be held twice, running pods must keep what they have,
// and nothing may be left over. Prints how long devices were away. Exit code 0 when all held.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "tests/busy_processes.h"
#include "tests/e2e/soak_node.h"

namespace aliquot::soak {
namespace {

using std::chrono::milliseconds;

struct Arguments {
    std::uint64_t kubelet_restarts = 10;
    std::uint64_t agent_kills = 10;
    std::uint64_t seed = 1;
    std::uint64_t load = 0;
    std::string agent = ALIQUOT_BIN_DIR "/aliquot-agent";
};

bool read_number(std::string_view text, std::uint64_t& number) {
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && stop == text.data() + text.size();
}

bool read_arguments(const std::vector<std::string_view>& words, Arguments& arguments) {
    for (std::size_t i = 1; i < words.size(); i += 2) {
        if (i + 1 == words.size()) return false;
        const auto name = words[i];
        const auto value = words[i + 1];
        if (name == "--agent") {
            arguments.agent = value;
            continue;
        }
        std::uint64_t* const target = name == "--kubelet-restarts" ? &arguments.kubelet_restarts
                                      : name == "--agent-kills"    ? &arguments.agent_kills
                                      : name == "--seed"           ? &arguments.seed
                                      : name == "--load"           ? &arguments.load
                                                                   : nullptr;
        if (target == nullptr || !read_number(value, *target)) return false;
    }
    return true;
}

void print_times(const char* name, std::vector<milliseconds> times) {
    if (times.empty()) return;
    std::ranges::sort(times);
    const auto at = [&](std::size_t percent) {
        return static_cast<long>(times[(times.size() - 1) * percent / 100].count());
    };
    std::printf("devices back after %s: p50 %ld ms, p99 %ld ms, max %ld ms (%zu events)\n", name,
                at(50), at(99), at(100), times.size());
}

/// One process must not hold more at the end of many events than at their begin; a few are room
/// for connections that are just being closed.
void compare(const char* who, const Leaks& before, const Leaks& after) {
    constexpr std::size_t kRoom = 12;
    std::printf("%s: descriptors %zu -> %zu, threads %zu -> %zu\n", who, before.descriptors,
                after.descriptors, before.threads, after.threads);
    if (after.descriptors > before.descriptors + kRoom) {
        throw Broken(std::string(who) + ": file descriptors leak");
    }
    if (after.threads > before.threads + kRoom) {
        throw Broken(std::string(who) + ": threads leak");
    }
}

class Soak {
public:
    explicit Soak(const Arguments& arguments)
        : left_restarts_(arguments.kubelet_restarts),
          left_kills_(arguments.agent_kills),
          random_(arguments.seed),
          node_(arguments.agent, arguments.seed) {}

    void run() {
        node_.start_agent();
        node_.wait_for_all();
        for (int i = 0; i < 3; ++i) restart();  // so that all that is made once is there
        const Leaks ours = SoakNode::we_hold();
        // Half of the restarts with one agent process: it would show what it leaks.
        const Leaks agent = node_.agent_holds();
        for (std::uint64_t i = left_restarts_ / 2; i > 0; --i) restart();
        compare("agent", agent, node_.agent_holds());
        while (left_restarts_ + left_kills_ > 0) {
            if (random_() % (left_restarts_ + left_kills_) < left_restarts_) {
                restart();
            } else {
                kill();
            }
        }
        compare("kubelet and driver side", ours, SoakNode::we_hold());
        node_.end_agent();
        std::printf("kills after which the agent registered more than once: %llu\n",
                    static_cast<unsigned long long>(registered_again_));
        print_times("a restart of kubelet", restart_times_);
        print_times("a kill of the agent", kill_times_);
    }

    void print_state() const {
        std::fprintf(stderr, "event %llu, %zu pods\nagent's log:\n%s\n",
                     static_cast<unsigned long long>(events_), node_.pods(),
                     node_.agent_log().c_str());
    }
    [[nodiscard]] std::uint64_t admitted() const { return node_.admitted(); }

private:
    void restart() {
        if (left_restarts_ > 0) --left_restarts_;
        node_.restart_kubelet();
        restart_times_.push_back(node_.wait_for_all());
        settle();
    }
    void kill() {
        --left_kills_;
        node_.kill_agent();
        node_.start_agent();
        kill_times_.push_back(node_.wait_for_all());
        settle();
    }
    void settle() {
        node_.check();
        node_.change_pods();
        node_.check();
        if (node_.registrations() > 1) ++registered_again_;
        if (++events_ % 100 == 0) {
            std::printf("%llu events, %zu pods running\n", static_cast<unsigned long long>(events_),
                        node_.pods());
            std::fflush(stdout);
        }
    }

    std::uint64_t left_restarts_;
    std::uint64_t left_kills_;
    std::uint64_t events_ = 0;
    std::uint64_t registered_again_ = 0;
    std::mt19937_64 random_;
    SoakNode node_;
    std::vector<milliseconds> restart_times_;
    std::vector<milliseconds> kill_times_;
};

int run(const Arguments& arguments) {
    const auto begin = std::chrono::steady_clock::now();
    const BusyProcesses load(arguments.load);
    Soak soak(arguments);
    try {
        soak.run();
    } catch (const Broken& broken) {
        std::fprintf(stderr, "BROKEN (seed %llu): %s\n",
                     static_cast<unsigned long long>(arguments.seed), broken.what());
        soak.print_state();
        return 1;
    }
    const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    std::printf("soak: %llu kubelet restarts, %llu agent kills, %llu pods in %.1f s: all held\n",
                static_cast<unsigned long long>(arguments.kubelet_restarts),
                static_cast<unsigned long long>(arguments.agent_kills),
                static_cast<unsigned long long>(soak.admitted()), seconds.count());
    return 0;
}

}  // namespace
}  // namespace aliquot::soak

int main(int argc, char** argv) {
    aliquot::soak::Arguments arguments;
    if (!aliquot::soak::read_arguments({argv, argv + argc}, arguments)) {
        std::fprintf(stderr,
                     "usage: %s [--kubelet-restarts N] [--agent-kills N] [--seed S] "
                     "[--load N] [--agent PROGRAM]\n",
                     argv[0]);
        return 2;
    }
    try {
        return aliquot::soak::run(arguments);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "soak: %s\n", problem.what());
        return 1;
    }
}
