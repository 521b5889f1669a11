// SPDX-License-Identifier: Apache-2.0
//
// guard-bench [--rounds N] [--hami LIBRARY] [--json FILE]: what the guard adds to a call, over the
// plain driver. Every figure is the median over rounds of a process of its own; the ways to run (bare,
// guarded, HAMi-core) take turns in each round, so that a noisy minute hits all of them. Targets are
// those of the issue; a median above one is marked, nothing fails.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/contract/guard/guard_world.h"
#include "tests/contract/guard/probe.h"

namespace aliquot::guardkit {
namespace {

struct Case {
    const char* name;
    const char* verb;
    const char* live;
    unsigned siblings;
    double target_ns;  // most that may be added; 0: none is set
    std::map<std::string, std::string> environment;
};

std::vector<Case> cases() {
    const std::map<std::string, std::string> none;
    return {
        {"launch", "launch", "0", 0, 3, none},
        {"launch, cap", "launch", "0", 0, 15, {{"ALIQUOT_GUARD_CAP", "90"}}},
        {"launch, cap, 64 streams", "launch", "64", 0, 15, {{"ALIQUOT_GUARD_CAP", "90"}}},
        {"launch, cap, 1,000 streams", "launch", "1000", 0, 15, {{"ALIQUOT_GUARD_CAP", "90"}}},
        {"launch, weight", "launch", "0", 0, 15, {{"ALIQUOT_GUARD_WEIGHT", "50"}}},
        {"launch-ex", "launch-ex", "0", 0, 3, none},
        {"launch-ex, cap", "launch-ex", "0", 0, 15, {{"ALIQUOT_GUARD_CAP", "90"}}},
        {"graph launch", "graph-launch", "0", 0, 3, none},
        {"graph launch, cap", "graph-launch", "0", 0, 15, {{"ALIQUOT_GUARD_CAP", "90"}}},
        {"alloc+free, 0 live", "alloc-free", "0", 0, 110, none},
        {"alloc+free, 1,000 live", "alloc-free", "1000", 0, 110, none},
        {"alloc+free, 50,000 live", "alloc-free", "50000", 0, 110, none},
        {"alloc+free, 1,000,000 live", "alloc-free", "1000000", 0, 110, none},
        {"alloc+free, 8 siblings", "alloc-free", "0", 8, 300, none},
        {"alloc+free, 64 siblings", "alloc-free", "0", 64, 300, none},
        {"memory info", "memory-info", "0", 0, 20, none},
        {"cuInit", "init", "0", 0, 200'000, none},
        {"exec of /bin/true", "", "0", 0, 60'000, none},
    };
}

enum class Way { kBare, kGuarded, kHami };

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

std::string self_folder() {
    char path[4096] = {};
    (void)!::readlink("/proc/self/exe", path, sizeof path - 1);
    return fs::path(path).parent_path();
}

class Bench {
public:
    Bench(std::string hami, unsigned rounds)
        : hami_(std::move(hami)),
          rounds_(rounds),
          world_(parse_settings("memory=64Gi driver=plain")) {
        world_.turns().add("turns-50", 50U);
    }

    /// Median ns of one way; 0: it failed.
    std::map<Way, double> measure(const Case& one) {
        std::vector<Way> ways = {Way::kBare, Way::kGuarded};
        if (!hami_.empty()) ways.push_back(Way::kHami);
        std::map<Way, std::vector<double>> figures;
        world_.forget_region();
        std::map<Way, std::vector<Neighbour>> neighbours;
        for (const Way way : ways)
            for (unsigned i = 0; i < one.siblings && way != Way::kBare; ++i)
                neighbours[way].push_back(hold(environment_of(way, one)));
        const unsigned rounds = std::strcmp(one.live, "1000000") == 0 ? 5 : rounds_;
        for (unsigned round = 0; round < rounds; ++round) {
            for (const Way way : ways) {
                // HAMi-core looks through a list: minutes with many live allocations.
                if (way == Way::kHami && std::strlen(one.live) > 4 && round > 0) continue;
                if (way == Way::kHami && std::strlen(one.live) > 6) continue;
                const double ns = one.verb[0] == '\0' ? exec_ns(environment_of(way, one))
                                                      : call_ns(one, environment_of(way, one));
                if (ns > 0) figures[way].push_back(ns);
            }
        }
        std::map<Way, double> medians;
        for (auto& [way, values] : figures) medians[way] = median(values);
        return medians;
    }

private:
    struct Neighbour {
        os::Process process;
        int input;
        Neighbour(os::Process started, int end) : process(std::move(started)), input(end) {}
        Neighbour(Neighbour&& other) noexcept
            : process(std::move(other.process)), input(other.input) {
            other.input = -1;
        }
        Neighbour& operator=(Neighbour&&) = delete;
        ~Neighbour() {
            if (input >= 0) ::close(input);
        }
    };

    std::map<std::string, std::string> environment_of(Way way, const Case& one) {
        auto words = world_.environment();
        for (const auto& [name, value] : one.environment) words[name] = value;
        words["ALIQUOT_GUARD_NODE"] = world_.directory() / "turns-50";
        if (way == Way::kBare) words.erase("LD_PRELOAD");
        if (way == Way::kHami) {
            words["LD_PRELOAD"] = hami_;
            words.erase("ALIQUOT_SIM_STATE");  // over the plain driver it does not want an NVML
            words["CUDA_DEVICE_MEMORY_LIMIT"] = "64g";
            words["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = world_.directory() / "hami";
            words["LIBCUDA_LOG_LEVEL"] = "0";
            const auto cap = one.environment.find("ALIQUOT_GUARD_CAP");
            if (cap != one.environment.end()) words["CUDA_DEVICE_SM_LIMIT"] = cap->second;
        }
        return words;
    }

    double call_ns(const Case& one, const std::map<std::string, std::string>& environment) {
        int ends[2];
        if (::pipe(ends) != 0) return 0;
        os::Command command;
        command.argv = {self_folder() + "/guard-bench-call", one.verb, one.live};
        command.environment = environment;
        command.output_descriptor = ends[1];
        auto process = os::Process::start(command);
        ::close(ends[1]);
        char text[4096] = {};
        std::size_t length = 0;
        ssize_t got = 0;
        while (length < sizeof text - 1 &&
               (got = ::read(ends[0], text + length, sizeof text - 1 - length)) > 0)
            length += static_cast<std::size_t>(got);
        ::close(ends[0]);
        if (!process) return 0;
        const auto exit = process->wait(std::chrono::minutes(5));
        if (!exit || exit->code != 0) return 0;
        // The last line; a library may have said something before.
        while (length > 0 && text[length - 1] == '\n') text[--length] = '\0';
        const char* const line = std::strrchr(text, '\n');
        return std::strtod(line == nullptr ? text : line + 1, nullptr);
    }

    /// Median of 51 executions, seen from outside.
    static double exec_ns(const std::map<std::string, std::string>& environment) {
        std::vector<std::string> words;
        for (const auto& [name, value] : environment) words.push_back(name + "=" + value);
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        char program[] = "/bin/true";
        char* arguments[] = {program, nullptr};
        std::vector<double> times;
        for (int i = 0; i < 51; ++i) {
            const std::uint64_t began = now_ns();
            pid_t child = -1;
            if (::posix_spawn(&child, program, nullptr, nullptr, arguments, pointers.data()) != 0)
                return 0;
            ::waitpid(child, nullptr, 0);
            times.push_back(static_cast<double>(now_ns() - began));
        }
        return median(times);
    }

    static Neighbour hold(const std::map<std::string, std::string>& environment) {
        int input[2];
        int output[2];
        if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) std::_Exit(3);
        os::Command command;
        command.argv = {self_folder() + "/guard-bench-call", "hold"};
        command.environment = environment;
        command.input_descriptor = input[0];
        command.output_descriptor = output[1];
        auto process = os::Process::start(command);
        ::close(input[0]);
        ::close(output[1]);
        char text[8];
        (void)!::read(output[0], text, sizeof text);
        ::close(output[0]);
        if (!process) std::_Exit(3);
        return {*std::move(process), input[1]};
    }

    std::string hami_;
    unsigned rounds_;
    GuardWorld world_;
};

int run_bench(int count, char** words) {
    std::string hami;
    std::string json;
    unsigned rounds = 11;
    for (int i = 1; i + 1 < count; i += 2) {
        if (std::strcmp(words[i], "--hami") == 0) hami = words[i + 1];
        if (std::strcmp(words[i], "--json") == 0) json = words[i + 1];
        if (std::strcmp(words[i], "--rounds") == 0)
            rounds = static_cast<unsigned>(std::strtoul(words[i + 1], nullptr, 10));
    }
    if (count % 2 == 0 || rounds == 0) {
        std::fputs("guard-bench [--rounds N] [--hami LIBRARY] [--json FILE]\n", stderr);
        return 2;
    }
    Bench bench(hami, rounds);
    std::string rows;
    std::printf("%-28s %12s %12s %12s %12s %s\n", "call", "bare ns", "added ns", "target ns",
                hami.empty() ? "" : "HAMi adds", "");
    for (const Case& one : cases()) {
        auto figures = bench.measure(one);
        const double bare = figures[Way::kBare];
        const double added = figures[Way::kGuarded] - bare;
        const double hami_added = figures.contains(Way::kHami) ? figures[Way::kHami] - bare : 0;
        std::printf("%-28s %12.1f %12.1f %12.0f ", one.name, bare, added, one.target_ns);
        if (figures.contains(Way::kHami)) std::printf("%12.1f", hami_added);
        std::printf(" %s\n", figures[Way::kGuarded] == 0 ? "FAILED"
                             : added > one.target_ns     ? "above"
                                                         : "");
        std::fflush(stdout);
        char row[512];
        std::snprintf(row, sizeof row,
                      "  {\"call\": \"%s\", \"bare_ns\": %.2f, \"added_ns\": %.2f, \"target_ns\": "
                      "%.0f, \"hami_added_ns\": %s}",
                      one.name, bare, added, one.target_ns,
                      figures.contains(Way::kHami) ? std::to_string(hami_added).c_str() : "null");
        rows += (rows.empty() ? "" : ",\n") + std::string(row);
    }
    if (!json.empty()) std::ofstream(json) << "[\n" << rows << "\n]\n";
    return 0;
}

}  // namespace
}  // namespace aliquot::guardkit

int main(int count, char** words) { return aliquot::guardkit::run_bench(count, words); }
