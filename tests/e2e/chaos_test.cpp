// SPDX-License-Identifier: Apache-2.0
//
// Everything that can happen to a node, for as long as is asked for. The run follows from its seed
// but for the timing of the processes.
#include <charconv>
#include <cstdio>
#include <span>
#include <string_view>
#include <thread>

#include "tests/e2e/chaos_node.h"

namespace aliquot::chaos {
namespace {

struct Arguments {
    std::uint64_t seconds = 600;
    std::uint64_t seed = 1;
    Sharing sharing = Sharing::kTimeSlicingAndMig;
    std::uint64_t late_milliseconds = 0;  // kubelet notices the end of a stream so much later
    bool verbose = false;
};

bool read_number(std::string_view text, std::uint64_t& number) {
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && stop == text.data() + text.size();
}

bool read_arguments(std::span<char* const> words, Arguments& arguments) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--mps") {
            arguments.sharing = Sharing::kMps;
        } else if (word == "--verbose") {
            arguments.verbose = true;
        } else if (i + 1 < words.size()) {
            std::uint64_t* const number = word == "--seconds"        ? &arguments.seconds
                                          : word == "--seed"         ? &arguments.seed
                                          : word == "--late-kubelet" ? &arguments.late_milliseconds
                                                                     : nullptr;
            if (number == nullptr || !read_number(words[++i], *number)) return false;
        } else {
            return false;
        }
    }
    return true;
}

int run(const Arguments& arguments) {
    ChaosNode node(arguments.sharing, arguments.seed,
                   std::chrono::milliseconds(arguments.late_milliseconds));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
    std::uint64_t events = 0;
    try {
        while (std::chrono::steady_clock::now() < end) {
            const std::string event = node.happen();
            ++events;
            if (arguments.verbose) std::printf("%s\n", event.c_str());
            for (unsigned i = 0; i < 4; ++i) {
                node.look();
                // The world goes on between two events; what happens in it is not waited for.
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        }
        node.settle();
    } catch (const Broken& broken) {
        std::fprintf(stderr, "BROKEN (seed %llu, event %llu): %s\n--- agent:\n%s",
                     static_cast<unsigned long long>(arguments.seed),
                     static_cast<unsigned long long>(events), broken.what(),
                     node.agent_log().c_str());
        return 1;
    }
    std::printf("chaos: %llu events, %llu pods, slowest recovery %lld ms: all held\n",
                static_cast<unsigned long long>(events),
                static_cast<unsigned long long>(node.admitted()),
                static_cast<long long>(node.slowest_recovery().count()));
    return 0;
}

}  // namespace
}  // namespace aliquot::chaos

int main(int argc, char** argv) {
    aliquot::chaos::Arguments arguments;
    if (!aliquot::chaos::read_arguments({argv, argv + argc}, arguments)) {
        std::fprintf(stderr,
                     "usage: %s [--seconds N] [--seed S] [--mps] [--late-kubelet MS] [--verbose]\n",
                     argv[0]);
        return 2;
    }
    try {
        return aliquot::chaos::run(arguments);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "chaos: %s\n", problem.what());
        return 1;
    }
}
