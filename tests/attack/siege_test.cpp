// SPDX-License-Identifier: Apache-2.0
// Eight hostile containers, each with every attack in turn, beside four honest ones: these keep their
// limits and shares, see no error and answer as fast as when it is quiet.
//
// ALIQUOT_SIEGE_SECONDS   how long each of them attacks; shares and times are then held to figures, on a
//                         machine that does nothing else. Without it, all of them together do each
//                         attack at least once, for a second
// ALIQUOT_SIEGE_ATTACK    only this one, by all of them
// ALIQUOT_SIEGE_APART     "gpu": the hostile ones have another GPU, so what is felt is no turns; "driver": the same
//                         GPU and a simulated driver of their own, so what is felt is not the lock of the simulated
//                         one, whose holder can be stopped as no holder in a kernel can
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/number.h"
#include "base/take_text.h"
#include "os/exchange.h"
#include "tests/attack/attack_node.h"

namespace aliquot::attack {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr unsigned kHostile = 8;
constexpr double kCap = 15;  // percent
constexpr char kOtherDriver[] = "other-driver";
constexpr std::uint64_t kMemory = kGiB;
constexpr std::uint64_t kMostAgent = 64ULL << 20U;  // the limit that is shipped

int seconds_of_siege() {
    const char* const given = std::getenv("ALIQUOT_SIEGE_SECONDS");
    return given == nullptr ? 0 : std::max(1, std::atoi(given));
}

struct Span {
    Clock::time_point begin;
    Clock::time_point end;
    bool attacked = false;
    std::string attacks;
};

struct Sample {
    Clock::time_point time;
    double value = 0;
};

/// The lines "WORD NS VALUE" of a log.
std::vector<Sample> samples(std::string_view text, std::string_view word) {
    std::vector<Sample> found;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        if (take_word(line) != word) continue;
        const auto time = parse_number<std::int64_t>(take_word(line));
        const auto value = parse_number<std::int64_t>(take_word(line));
        if (!time || !value) continue;
        found.push_back(
            {Clock::time_point(std::chrono::nanoseconds(*time)), static_cast<double>(*value)});
    }
    return found;
}

std::vector<double> values_in(const std::vector<Sample>& samples, const std::vector<Span>& spans,
                              bool attacked) {
    std::vector<double> values;
    for (const Sample& sample : samples) {
        for (const Span& span : spans) {
            if (span.attacked != attacked || sample.time < span.begin || sample.time >= span.end) {
                continue;
            }
            values.push_back(sample.value);
        }
    }
    return values;
}

double seconds_in(const std::vector<Span>& spans, bool attacked) {
    double all = 0;
    for (const Span& span : spans) {
        if (span.attacked != attacked) continue;
        all += std::chrono::duration<double>(span.end - span.begin).count();
    }
    return all;
}

/// Percent of the GPU, of kernels of a millisecond.
double share_in(const std::vector<Sample>& samples, const std::vector<Span>& spans, bool attacked) {
    double kernels = 0;
    for (const double one : values_in(samples, spans, attacked)) kernels += one;
    return kernels / 1000 / seconds_in(spans, attacked) * 100;
}

/// The same from the first sample to the last.
double share_of(const std::vector<Sample>& samples) {
    double kernels = 0;
    for (const Sample& sample : samples) kernels += sample.value;
    const std::chrono::duration<double> all = samples.back().time - samples.front().time;
    return (kernels - samples.front().value) / 1000 / all.count() * 100;
}

double percentile(std::vector<double> values, double part) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double last = static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(part * last)];
}

class Siege : public AttackNode {
protected:
    Siege() {
        gpus_ = apart() == "gpu" ? 2 : 1;
        share_ = "memory: 1Gi, compute: 15";
        replicas_ = 12;
    }
    static std::string_view apart() {
        const char* const given = std::getenv("ALIQUOT_SIEGE_APART");
        return given == nullptr ? "" : given;
    }
    /// On the honest ones' GPU, or not on it; a container that got another one does nothing.
    Result<Container> admit_at(const std::string& name, bool honest) {
        for (unsigned attempt = 0;; ++attempt) {
            auto container = admit(name + (attempt == 0 ? "" : "-" + std::to_string(attempt)));
            if (container && !honest && apart() == "driver") container->driver = kOtherDriver;
            if (!container || apart() != "gpu") return container;
            const std::string gpu = container->grant.environment["NVIDIA_VISIBLE_DEVICES"];
            if (gpu_.empty()) gpu_ = gpu;
            if ((gpu == gpu_) == honest) return container;
        }
    }
    struct Honest {
        std::string name;
        std::string kind;
        Container container;
        std::optional<os::Process> process;
    };
    void start_honest() {
        for (const char* const kind : {"work", "work", "serve", "serve"}) {
            Honest one{.name = "honest" + std::to_string(honest_.size()), .kind = kind};
            auto container = admit_at(one.name, true);
            ASSERT_TRUE(container) << container.error().message;
            one.container = *std::move(container);
            one.process = run_in(one.container, 65'532, one.name + ".log",
                                 {ALIQUOT_TEST_DIR "/honest", one.kind, file("over").native(),
                                  std::to_string(kMemory)},
                                 true);
            honest_.push_back(std::move(one));
            ASSERT_TRUE(eventually([&] {
                return log(honest_.back().name + ".log").contains("ready");
            })) << log(honest_.back().name + ".log");
        }
    }
    void admit_hostile() {
        for (unsigned i = 0; i < kHostile; ++i) {
            auto container = admit_at("hostile" + std::to_string(i), false);
            ASSERT_TRUE(container) << container.error().message;
            hostile_.push_back(*std::move(container));
        }
    }
    /// Each does another attack, for so long.
    void attack(const std::vector<std::string>& attacks, std::size_t round,
                std::chrono::seconds time) {
        std::vector<os::Process> running;
        std::string names;
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < hostile_.size(); ++i) {
            const std::string& name = attacks[(round + i * 3) % attacks.size()];
            names += " " + name;
            running.push_back(run_in(hostile_[i], 65'534, "hostile.log",
                                     {"/usr/bin/nice", "-n", "19", ALIQUOT_TEST_DIR "/attacker",
                                      name, std::to_string(time.count()), std::to_string(round)},
                                     false));
        }
        for (os::Process& one : running) EXPECT_TRUE(one.wait(time + 120s)) << "does not end";
        spans_.push_back({begin, Clock::now(), true, names});
    }
    void rest(std::chrono::milliseconds time) {
        const auto begin = Clock::now();
        std::this_thread::sleep_for(time);  // measures: it is to be quiet for so long
        spans_.push_back({begin, Clock::now(), false, " none"});
    }
    /// Which attacks it is that are felt.
    void print_rounds(const std::vector<Sample>& took) const {
        for (const Span& span : spans_) {
            const auto values = values_in(took, {span}, span.attacked);
            std::printf("    half of them within %.0f, 99 of 100 within %.0f us beside%s\n",
                        percentile(values, 0.5), percentile(values, 0.99), span.attacks.c_str());
        }
    }
    std::vector<Honest> honest_;
    std::vector<Container> hostile_;
    std::vector<Span> spans_;
    std::string gpu_;  // of the honest ones
};

TEST_F(Siege, OfEightHostileContainersFourHonestOnesNoticeNothing) {
    if (IsSkipped()) return;
    if (apart() == "driver") {
        std::filesystem::copy(directory_.path() / "driver", directory_.path() / kOtherDriver,
                              std::filesystem::copy_options::recursive);
    }
    start_agent("{watchdog: report}");
    if (HasFatalFailure() || IsSkipped()) return;
    start_honest();
    admit_hostile();
    if (HasFatalFailure()) return;
    const auto listed = os::exchange(
        {.argv = {ALIQUOT_TEST_DIR "/attacker", "list"}, .environment = os::current_environment()},
        "", {.deadline = 60s});
    ASSERT_TRUE(listed) << listed.error().message;
    std::vector<std::string> attacks;
    for (std::string_view text = listed->output; !text.empty();)
        attacks.emplace_back(take_line(text));
    if (const char* const only = std::getenv("ALIQUOT_SIEGE_ATTACK")) attacks = {only};
    const bool held_to_figures = seconds_of_siege() > 0;
    const std::chrono::seconds each(
        std::max(1, seconds_of_siege() / static_cast<int>(attacks.size())));
    constexpr std::size_t kFewRounds = 7;
    const std::size_t rounds = held_to_figures ? attacks.size() : kFewRounds;
    ASSERT_LE(attacks.size(), 3 * (kHostile - 1) + kFewRounds) << "some would not be tried";
    for (std::size_t round = 0; round < rounds; ++round) {
        rest(std::chrono::milliseconds(each) / 2 + 200ms);
        attack(attacks, round, each);
    }
    EXPECT_FALSE(agent_->poll()) << "the agent has ended";
    EXPECT_LE(peak(), kMostAgent);
    make("over");
    std::printf("%.0f s under attack, %.0f s quiet; the agent held %.1f MiB at most\n",
                seconds_in(spans_, true), seconds_in(spans_, false),
                static_cast<double>(peak()) / (1U << 20U));
    for (Honest& one : honest_) {
        const auto exit = one.process->wait(120s);
        const std::string told = log(one.name + ".log");
        ASSERT_TRUE(exit && exit->code == 0) << told.substr(0, 2000);
        EXPECT_FALSE(told.contains("error")) << told.substr(0, 2000);
        const bool serves = one.kind == "serve";
        const auto measured = samples(told, serves ? "took" : "done");
        ASSERT_GE(measured.size(), 2U);
        if (serves) {
            const double quiet = percentile(values_in(measured, spans_, false), 0.99);
            const double attacked = percentile(values_in(measured, spans_, true), 0.99);
            std::printf("%s: 99 of 100 answers within %.0f us, quiet %.0f us\n", one.name.c_str(),
                        attacked, quiet);
            if (held_to_figures) {
                print_rounds(measured);
                EXPECT_LE(attacked, 1.2 * quiet);
            }
        } else {
            const double quiet = share_in(measured, spans_, false);
            const double attacked = share_in(measured, spans_, true);
            const double ever = share_of(measured);
            std::printf("%s: %.1f %% of the GPU, quiet %.1f %%, ever %.1f %%, its limit %.0f %%\n",
                        one.name.c_str(), attacked, quiet, ever, kCap);
            constexpr double kPoints = 3;
            EXPECT_LE(ever, kCap + kPoints);
            if (held_to_figures) {
                EXPECT_LE(attacked, kCap + kPoints);
                EXPECT_GE(attacked, std::min(quiet, kCap) - kPoints);
            }
        }
    }
}

}  // namespace
}  // namespace aliquot::attack
