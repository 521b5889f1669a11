// SPDX-License-Identifier: Apache-2.0
//
// guard-share-meter [--seconds S] [--only cap|weight|inference|kill|hami] [--bare] [--json FILE]
// [--hami LIBVGPU]: what share
// of a GPU tenants get under the guard, over the simulated device (which takes turns between processes)
// or the machine's driver. Each figure is measured for S seconds (5) after one second of warming.
// --bare runs the same without the guard. Nothing fails: rows outside of their bounds are marked.
// --hami runs some of the caps with HAMi-core's library as well, in turn with the guard.
// Two tenants cannot use more of the device than each of them does alone without the guard, waiting for
// its own launches: that is measured after each row of weights, with how long a wake takes in that minute.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/contract/guard/guard_world.h"
#include "tests/contract/guard/probe.h"
#include "tests/contract/guard/wake_meter.h"

namespace aliquot::guardkit {
namespace {

constexpr std::uint64_t kWarmMs = 1000;

/// A grid whose kernels have no room beside another: then their times add up to that of the device.
constexpr unsigned kFull = 100'000;

struct Work {
    unsigned kernel_us = 1000;
    unsigned depth = 8;
    unsigned grid = 1000;
    bool graph = false;
    unsigned think_ms = 0;
    unsigned threads = 1;
    unsigned streams = 1;
    unsigned container = 0;  // same number: same region
    std::map<std::string, std::string> environment;
    std::string hami;  // this library instead of the guard
};

struct Got {
    double share = -1;
    double batches = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double longest_ms = 0;
};

class Meter {
public:
    struct Options {
        unsigned seconds = 5;
        bool bare = false;
        std::string only;
        std::string json;
        std::string hami;
    };
    explicit Meter(const Options& options)
        : seconds_(std::max(options.seconds, 1U)),
          bare_(options.bare),
          only_(options.only),
          json_(options.json),
          hami_(options.hami) {}

    int run() {
        if (wanted("cap")) caps();
        if (wanted("weight")) weights();
        if (wanted("inference")) inference();
        if (wanted("kill")) killed_holder();
        if (wanted("hami") && !hami_.empty()) beside_hami();
        if (!json_.empty()) std::ofstream(json_) << "[\n" << rows_ << "\n]\n";
        return 0;
    }

private:
    [[nodiscard]] bool wanted(const char* part) const { return only_.empty() || only_ == part; }

    struct Running {
        os::Process process;
        int output;
    };

    Running start(GuardWorld& world, const Work& work, std::uint64_t at_ns, bool for_ever,
                  bool bare) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) std::_Exit(3);
        auto environment = world.environment();
        for (const auto& [name, value] : work.environment) environment[name] = value;
        environment["ALIQUOT_GUARD_REGION"] =
            world.directory() / ("region-" + std::to_string(work.container));
        const std::string container = "turns-" + std::to_string(work.container);
        if (!fs::exists(world.directory() / container)) {
            const auto weight = work.environment.find("ALIQUOT_GUARD_WEIGHT");
            world.turns().add(container,
                              weight == work.environment.end()
                                  ? 1U
                                  : static_cast<std::uint32_t>(std::stoul(weight->second)));
        }
        environment["ALIQUOT_GUARD_NODE"] = world.directory() / container;
        if (bare) environment.erase("LD_PRELOAD");
        if (!work.hami.empty()) set_hami(environment, work.hami, world.directory());
        char self[4096] = {};
        (void)!::readlink("/proc/self/exe", self, sizeof self - 1);
        os::Command command;
        command.argv = {fs::path(self).parent_path() / "guard-tenant",
                        std::to_string(work.kernel_us),
                        std::to_string(work.depth),
                        std::to_string(work.grid),
                        work.graph ? "1" : "0",
                        std::to_string(work.think_ms),
                        std::to_string(at_ns),
                        std::to_string(kWarmMs),
                        for_ever ? "0" : std::to_string(seconds_ * 1000),
                        std::to_string(work.threads),
                        std::to_string(work.streams)};
        command.environment = environment;
        command.output_descriptor = ends[1];
        auto process = os::Process::start(command);
        ::close(ends[1]);
        if (!process) std::_Exit(3);
        return {*std::move(process), ends[0]};
    }

    static void set_hami(std::map<std::string, std::string>& environment,
                         const std::string& library, const fs::path& directory) {
        environment["LD_PRELOAD"] = library;
        environment["CUDA_DEVICE_MEMORY_LIMIT"] = "1g";
        environment["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = directory / "hami";
        environment["LIBCUDA_LOG_LEVEL"] = "0";
        const auto cap = environment.find("ALIQUOT_GUARD_CAP");
        if (cap != environment.end()) environment["CUDA_DEVICE_SM_LIMIT"] = cap->second;
    }

    static Got finish(Running& running) {
        std::string text;
        char buffer[256];
        ssize_t got = 0;
        while ((got = ::read(running.output, buffer, sizeof buffer)) > 0)
            text.append(buffer, static_cast<std::size_t>(got));
        ::close(running.output);
        (void)running.process.wait(std::chrono::seconds(30));
        Got figures;
        if (std::sscanf(text.c_str(), "%lf %lf %lf %lf %lf", &figures.share, &figures.batches,
                        &figures.p50_ms, &figures.p99_ms, &figures.longest_ms) != 5)
            std::fprintf(stderr, "a tenant failed: %s\n", text.c_str());
        return figures;
    }

    std::vector<Got> together(const std::vector<Work>& all) { return run_all(all, bare_); }

    std::vector<Got> run_all(const std::vector<Work>& all, bool bare) {
        GuardWorld world(parse_settings("memory=1Gi"));
        const std::uint64_t at = now_ns() + 500'000'000;
        std::vector<Running> running;
        for (const Work& work : all) running.push_back(start(world, work, at, false, bare));
        std::vector<Got> got;
        for (Running& one : running) got.push_back(finish(one));
        return got;
    }

    void row(const std::string& what, const std::string& asked, const std::string& got, bool good) {
        std::printf("%-64s %-16s %-44s %s\n", what.c_str(), asked.c_str(), got.c_str(),
                    good || bare_ ? "" : "outside");
        std::fflush(stdout);
        rows_ += (rows_.empty() ? "" : ",\n") + std::string("  {\"what\": \"") + what +
                 "\", \"asked\": \"" + asked + "\", \"got\": \"" + got +
                 "\", \"within\": " + (good ? "true" : "false") + "}";
    }

    void cap_row(const Work& work, int percent) {
        Work limited = work;
        limited.environment["ALIQUOT_GUARD_CAP"] = std::to_string(percent);
        const Got got = together({limited})[0];
        char what[128];
        std::snprintf(what, sizeof what, "%scap, %s of %u us, %u blocks, depth %u, %u x %u",
                      work.hami.empty() ? "" : "HAMi-core, ", work.graph ? "graphs" : "kernels",
                      work.kernel_us, work.grid, work.depth, work.threads, work.streams);
        char figures[96];
        std::snprintf(figures, sizeof figures, "%.1f %% (batch p99 %.1f ms)", got.share,
                      got.p99_ms);
        row(what, std::to_string(percent) + " %", figures, std::fabs(got.share - percent) <= 1);
    }

    void caps() {
        for (const int percent : {25, 50, 75})
            for (const unsigned grid : {1U, 1000U, 100'000U})
                cap_row({.grid = grid, .environment = {}}, percent);
        for (const unsigned depth : {1U, 8U, 64U}) cap_row({.depth = depth, .environment = {}}, 25);
        cap_row({.kernel_us = 20, .depth = 100, .environment = {}}, 25);
        cap_row({.kernel_us = 200, .depth = 16, .environment = {}}, 25);
        cap_row({.kernel_us = 10'000, .depth = 2, .environment = {}}, 25);
        cap_row({.kernel_us = 50'000, .depth = 1, .environment = {}}, 25);
        for (const unsigned threads : {2U, 4U, 16U})
            cap_row({.threads = threads, .environment = {}}, 25);
        for (const unsigned streams : {2U, 8U, 64U})
            cap_row({.depth = 64, .grid = kFull, .streams = streams, .environment = {}}, 25);
        cap_row({.depth = 4, .grid = kFull, .threads = 4, .streams = 4, .environment = {}}, 25);
        for (const int percent : {25, 50})
            cap_row({.depth = 10, .graph = true, .environment = {}}, percent);
        for (const int percent : {30, 60})
            for (const unsigned depth : {1U, 8U, 64U}) processes_row(depth, percent);
    }

    void beside_hami() {
        std::vector<Work> works;
        for (const unsigned threads : {1U, 4U})
            for (const unsigned depth : {1U, 8U})
                works.push_back({.depth = depth, .threads = threads, .environment = {}});
        works.push_back({.kernel_us = 20, .depth = 100, .environment = {}});
        works.push_back({.kernel_us = 10'000, .depth = 2, .environment = {}});
        works.push_back({.grid = 1, .environment = {}});
        for (Work& work : works) {
            cap_row(work, 25);
            work.hami = hami_;
            cap_row(work, 25);
        }
    }

    void processes_row(unsigned depth, int percent) {
        const Work one{.depth = depth,
                       .environment = {{"ALIQUOT_GUARD_CAP", std::to_string(percent)}}};
        const auto got = together({one, one, one});
        const double sum = got[0].share + got[1].share + got[2].share;
        char what[96];
        char asked[16];
        char figures[96];
        std::snprintf(what, sizeof what, "cap, three processes of one container, depth %u", depth);
        std::snprintf(asked, sizeof asked, "%d %%", percent);
        std::snprintf(figures, sizeof figures, "%.1f + %.1f + %.1f = %.1f %%", got[0].share,
                      got[1].share, got[2].share, sum);
        row(what, asked, figures, std::fabs(sum - percent) <= 2);
    }

    void weight_row(const Work& first, const Work& second, const char* what) {
        const auto got = together({first, second});
        const std::string wakes = to_text(measure_wakes());
        const double sum = got[0].share + got[1].share;
        const double part = sum > 0 ? 100 * got[0].share / sum : 0;
        // In the parts that they have, each with the pauses that it has alone.
        const double one = run_all({first}, true)[0].share;
        const double other = run_all({second}, true)[0].share;
        const double most = 100 / (part / one + (100 - part) / other);
        char figures[192];
        std::snprintf(figures, sizeof figures,
                      "%.1f:%.1f, %.1f %% used = %.1f %% of the %.1f %% that they can; wakes %s",
                      part, 100 - part, sum, 100 * sum / most, most, wakes.c_str());
        row(what, "30:70", figures, std::fabs(part - 30) <= 1.5 && sum >= 95);
    }

    static Work weighted(const char* weight, unsigned container, unsigned depth) {
        return {.depth = depth,
                .container = container,
                .environment = {{"ALIQUOT_GUARD_WEIGHT", weight}}};
    }

    void weights() {
        for (const unsigned depth : {1U, 8U, 64U}) {
            const std::string what = "two tenants, depth " + std::to_string(depth);
            weight_row(weighted("30", 1, depth), weighted("70", 2, depth), what.c_str());
        }
        Work small = weighted("30", 1, 8);
        small.grid = 1;
        Work large = weighted("70", 2, 64);
        large.grid = 100'000;
        large.kernel_us = 200;
        weight_row(small, large, "two tenants, unlike kernels");
        const auto lengths = [&](unsigned first_us, unsigned second_us) {
            Work first = weighted("30", 1, first_us < 1000 ? 64 : 2);
            Work second = weighted("70", 2, second_us < 1000 ? 64 : 2);
            first.kernel_us = first_us;
            second.kernel_us = second_us;
            const std::string what = "two tenants, kernels of " + std::to_string(first_us) +
                                     " and " + std::to_string(second_us) + " us";
            weight_row(first, second, what.c_str());
        };
        lengths(100, 5000);
        lengths(5000, 20'000);
        lengths(20'000, 100);
        Work threads = weighted("30", 1, 8);
        threads.threads = 4;
        weight_row(threads, weighted("70", 2, 8), "two tenants, four threads against one");
        Work graphs = weighted("70", 2, 10);
        graphs.graph = true;
        weight_row(weighted("30", 1, 8), graphs, "two tenants, one with graphs");

        // Who does not use its part costs nobody anything.
        Work idle = weighted("70", 2, 1);
        idle.think_ms = (seconds_ + 2) * 1000;
        const auto got = together({weighted("30", 1, 8), idle});
        char figures[64];
        std::snprintf(figures, sizeof figures, "%.1f %%", got[0].share);
        row("a tenant of 30 beside an idle one of 70", "100 %", figures, got[0].share >= 95);
    }

    void inference() {
        Work asking = weighted("70", 1, 10);
        asking.think_ms = 20;
        const auto beside = together({asking, weighted("30", 2, 64)});
        const auto alone = together({asking});
        char figures[128];
        std::snprintf(figures, sizeof figures, "p50 %.1f p99 %.1f ms (training %.1f %%)",
                      beside[0].p50_ms, beside[0].p99_ms, beside[1].share);
        row("requests of 10 ms each 20 ms beside training", "p99 <= 20 ms", figures,
            beside[0].p99_ms <= 20);
        std::snprintf(figures, sizeof figures, "p50 %.1f p99 %.1f ms", alone[0].p50_ms,
                      alone[0].p99_ms);
        row("the same requests alone", "", figures, true);
    }

    void killed_holder() {
        GuardWorld world(parse_settings("memory=1Gi"));
        const std::uint64_t at = now_ns() + 500'000'000;
        Running lasting = start(world, weighted("30", 1, 8), at, false, bare_);
        for (unsigned i = 0; i < seconds_ * 2; ++i) {
            Running victim = start(world, weighted("70", 2 + i % 3, 8), at, true, bare_);
            nap_us(400'000);
            victim.process.signal(9);
            (void)victim.process.wait(std::chrono::seconds(5));
            ::close(victim.output);
        }
        const Got got = finish(lasting);
        char figures[96];
        std::snprintf(figures, sizeof figures, "longest batch of 8 ms: %.1f ms", got.longest_ms);
        // A batch of 8 ms at 30 % is 27 ms; a dead holder may add little to that.
        row("neighbours that hold the turn are killed", "<= 250 ms", figures,
            got.longest_ms <= 250);
    }

    unsigned seconds_;
    bool bare_;
    std::string only_;
    std::string json_;
    std::string hami_;
    std::string rows_;
};

int run_meter(int count, char** words) {
    Meter::Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const char* const value = i + 1 < count ? words[i + 1] : "";
        if (word == "--bare") {
            options.bare = true;
            continue;
        }
        if (word == "--seconds") {
            options.seconds = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
        } else if (word == "--only") {
            options.only = value;
        } else if (word == "--json") {
            options.json = value;
        } else if (word == "--hami") {
            options.hami = value;
        } else {
            std::fprintf(stderr, "guard-share-meter: '%s' is not known\n", word.c_str());
            return 2;
        }
        ++i;
    }
    return Meter(options).run();
}

}  // namespace
}  // namespace aliquot::guardkit

int main(int count, char** words) { return aliquot::guardkit::run_meter(count, words); }
