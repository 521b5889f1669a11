// SPDX-License-Identifier: Apache-2.0
// A hostile container beside honest ones: these keep their limits and see no error, the agent lives,
// answers and stays small.
#include <csignal>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/take_text.h"
#include "tests/attack/attack_node.h"

namespace aliquot::attack {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kMostAgent = 64ULL << 20U;  // the limit that is shipped

/// ALIQUOT_ATTACK_SECONDS: how long each attack lasts.
int seconds() {
    const char* const given = std::getenv("ALIQUOT_ATTACK_SECONDS");
    const int usual = 3;
    return given == nullptr ? usual : std::max(1, std::atoi(given));
}

struct Case {
    const char* name;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class Attacked : public AttackNode, public testing::WithParamInterface<Case> {
protected:
    /// What an honest program does: before, while and after its neighbour attacks.
    os::Process start_honest(const Container& container, const std::string& name) {
        constexpr unsigned kSomebody = 65'532;
        return run_in(container, kSomebody, name + ".log",
                      {ALIQUOT_TEST_DIR "/cuda_tenant", "alloc:1073741824", "alloc:3221225472",
                       "spin:20", "wait:" + file("attacking").native(), "spin:100",
                       "alloc:3221225472", "alloc:536870912", "wait:" + file("over").native(),
                       "spin:20", "alloc:3221225472", "alloc:268435456"},
                      true);
    }
    /// A guard may say that its turn came late: the machine may be busy.
    static std::string without_remarks(std::string_view text) {
        std::string kept;
        while (!text.empty()) {
            const auto line = take_line(text);
            if (!line.starts_with("aliquot-guard[")) kept += std::string(line) + "\n";
        }
        return kept;
    }
    /// Whether it did all that, and what it was refused; else `what_` says what is wrong.
    bool was_served(os::Process& process, const std::string& name) {
        const auto exit = process.wait(120s);
        const bool good = exit && exit->code == 0 &&
                          without_remarks(log(name + ".log")) ==
                              "alloc 0\nalloc 2\nspun 0\nwaited 0\nspun 0\nalloc 2\nalloc 0\n"
                              "waited 0\nspun 0\nalloc 2\nalloc 0\n";
        if (!good) {
            what_ += name + (exit ? " ended with " + std::to_string(exit->code) : " stands still") +
                     ":\n" + log(name + ".log");
        }
        return good;
    }
    void expect_an_agent_that_answers() {
        EXPECT_FALSE(agent_->poll()) << "the agent has ended";
        EXPECT_THAT(status(), HasSubstr("\"before\""));
        EXPECT_LE(peak(), kMostAgent);
    }
    std::string what_;
};

TEST_P(Attacked, HonestContainersKeepTheirLimitsAndTheAgentAnswers) {
    start_agent("{watchdog: report}");
    if (HasFatalFailure() || IsSkipped()) return;
    const auto before = admit("before");
    const auto hostile = admit("hostile");
    ASSERT_TRUE(before && hostile);
    os::Process first = start_honest(*before, "before");
    ASSERT_TRUE(eventually([&] { return log("before.log").contains("spun"); }))
        << log("before.log");
    os::Process attack = attack_in(*hostile, GetParam().name, seconds());
    // Who comes in the middle of it is served, too.
    const auto later = admit("later");
    std::optional<os::Process> second;
    if (later) second = start_honest(*later, "later");
    EXPECT_TRUE(attack.wait(120s)) << "the attacker does not end";
    make("over");
    bool served = was_served(first, "before");
    served = (second && was_served(*second, "later")) && served;
    if (!later) what_ += later.error().message;
    expect_an_agent_that_answers();
    // And an agent that starts now takes it all up.
    agent_->terminate(60s);
    agent_.reset();
    start_agent("{watchdog: report}");
    if (HasFatalFailure()) return;
    ASSERT_TRUE(eventually([&] { return status().contains("\"before\""); }));
    const auto last = admit("last");
    if (!last) what_ += last.error().message;
    expect_an_agent_that_answers();
    EXPECT_TRUE(served && last) << what_;
}

/// How often a container got its ledger, and the median and the longest time in microseconds.
struct Attaches {
    unsigned done = 0;
    long median = 0;
    long longest = 0;
};

TEST_F(AttackNode, WhoSitsOnItsSocketsMakesNobodyElsesAttachSlow) {
    start_agent("{}");
    if (HasFatalFailure() || IsSkipped()) return;
    const auto honest = admit("honest");
    const auto sitting = admit("sitting");
    const auto flooding = admit("flooding");
    ASSERT_TRUE(honest && sitting && flooding);
    constexpr unsigned kTimes = 200;
    const auto attach = [&](const std::string& name) {
        auto process =
            run_in(*honest, 65'532, name,
                   {ALIQUOT_TEST_DIR "/attacker", "attach", std::to_string(kTimes)}, false);
        (void)process.wait(120s);
        Attaches found;
        std::istringstream(log(name)) >> found.done >> found.median >> found.longest;
        return found;
    };
    const Attaches before = attach("before");
    os::Process first = attack_in(*sitting, "sit_on_sockets", 1000);
    os::Process second = attack_in(*flooding, "flood_sockets", 1000);
    const Attaches meanwhile = attach("meanwhile");
    first.signal(SIGKILL);
    second.signal(SIGKILL);
    EXPECT_EQ(before.done, kTimes);
    EXPECT_EQ(meanwhile.done, kTimes);
    // Not of these two, of the machine's other programs: what a thread waits for a processor.
    constexpr long kScheduling = 20'000;
    EXPECT_LE(meanwhile.median, 4 * before.median + kScheduling) << meanwhile.longest;
    RecordProperty("longest_us", static_cast<int>(meanwhile.longest));
}

INSTANTIATE_TEST_SUITE_P(Attack, Attacked,
                         testing::Values(Case{"grow"}, Case{"fill_holes"}, Case{"truncate"},
                                         Case{"scribble"}, Case{"overwrite"}, Case{"hold_locks"},
                                         Case{"hold_words"}, Case{"fork_storm"},
                                         Case{"flood_sockets"}, Case{"sit_on_sockets"},
                                         Case{"hoard"}, Case{"false_ends"}, Case{"never_answers"}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace aliquot::attack
