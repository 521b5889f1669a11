// SPDX-License-Identifier: Apache-2.0
#include "placement/event_log.h"

#include <gtest/gtest.h>

#include "placement/random_cluster.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::placement {
namespace {

/// Any operations at random; what they answer is not looked at.
void act(Recorder& recorder, Dice& dice, unsigned operations) {
    unsigned nodes = recorder.engine().node_count();
    const auto some_id = [&] { return PlacementId{1 + dice.below(operations)}; };
    for (unsigned i = 0; i < operations; ++i) {
        switch (dice.below(40)) {
            case 0:
                (void)recorder.add_node(random_node(dice, nodes++ % 60));
                break;
            case 1:
                if (dice.one_in(8)) recorder.set_workload(random_workload(dice));
                break;
            case 2:
            case 3:
                (void)recorder.place_gang(random_request(dice), dice.below(5));
                break;
            case 4:
                (void)recorder.what_if(random_request(dice));
                break;
            case 5: {
                const Mark mark = recorder.mark();
                (void)recorder.place(random_request(dice));
                (void)recorder.release(some_id());
                if (dice.one_in(2)) recorder.undo_to(mark);
                recorder.commit();
                break;
            }
            case 6: {
                Placement where{.node = dice.below(nodes), .devices = {}};
                where.devices.push_back(static_cast<std::uint8_t>(dice.below(8)));
                (void)(dice.one_in(2) ? recorder.move(some_id(), where).ok()
                                      : recorder.restore(random_request(dice), where).ok());
                break;
            }
            case 7: {
                std::vector<Move> moves;
                for (unsigned k = dice.below(4); k > 0; --k) {
                    const PlacementId id = some_id();
                    const auto where = recorder.engine().placement_of(some_id());
                    if (where) moves.push_back({.id = id, .to = *where});
                }
                (void)recorder.rearrange(moves);
                break;
            }
            default:
                if (dice.below(10) < 3)
                    (void)recorder.release(some_id());
                else
                    (void)recorder.place(random_request(dice));
        }
    }
}

std::string recorded(Policy policy, unsigned operations, std::uint64_t seed = 7) {
    std::string text;
    Options options;
    options.policy = policy;
    options.published = sim::trace::published_scorer;
    options.seed = 0xFFFF'FFFF'FFFF'FFFFULL;
    options.learn = seed % 2 == 0;
    options.learn_every = 50;
    Recorder recorder(options, [&](std::string_view line) { text += line; });
    Dice dice(seed);
    EXPECT_TRUE(recorder.add_geometry(seven_slices("A100")).ok());
    for (unsigned i = 0; i < 12; ++i) EXPECT_TRUE(recorder.add_node(random_node(dice, i)).ok());
    recorder.set_workload(random_workload(dice));
    act(recorder, dice, operations);
    return text;
}

/// The payloads of a log, without checks.
std::vector<std::string> payloads_of(std::string_view text) {
    std::vector<std::string> payloads;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        payloads.emplace_back(text.substr(0, end - 18));
        text.remove_prefix(end + 1);
    }
    return payloads;
}

std::string sealed(const std::vector<std::string>& payloads) {
    Chain chain;
    std::string text;
    for (const std::string& payload : payloads) text += chain.sealed(payload);
    return text;
}

const std::vector<std::string>& head() {
    static const std::vector<std::string> lines = [] {
        auto all = payloads_of(recorded(Policy::kBestFit, 0));
        all.resize(2);
        return all;
    }();
    return lines;
}

/// What replay() says about the head of a log and this line.
std::string refusal_of(const std::string& line) {
    std::vector<std::string> lines = head();
    lines.push_back(line);
    const auto played = replay(sealed(lines), sim::trace::published_scorer);
    return played ? "played" : played.error().message;
}

TEST(EventLog, PlaysThreeThousandOperationsAgainForEveryPolicy) {
    const auto policies = static_cast<unsigned>(policy_words().size());
    for (const std::string_view word : policy_words()) {
        const std::string text = recorded(*parse_policy(word), 3'000 / policies + 1);
        const auto played = replay(text, sim::trace::published_scorer);
        ASSERT_TRUE(played.ok()) << word << ": " << played.error().message;
        ASSERT_FALSE(played->first_difference.has_value())
            << word << ", line " << played->first_difference->line << ": "
            << played->first_difference->logged << " is now " << played->first_difference->now;
        EXPECT_EQ(played->decisions + 1, played->lines);
    }
}

TEST(EventLog, PlaysALearningEngineAgain) {
    const auto played = replay(recorded(Policy::kAliquot, 300, 8), sim::trace::published_scorer);
    ASSERT_TRUE(played.ok());
    EXPECT_FALSE(played->first_difference.has_value());
}

TEST(EventLog, GivesTheEngineBack) {
    std::string text;
    Recorder recorder({}, [&](std::string_view line) { text += line; });
    Dice dice(3);
    for (unsigned i = 0; i < 6; ++i) (void)recorder.add_node(random_node(dice, i));
    for (unsigned i = 0; i < 40; ++i) (void)recorder.place(random_request(dice));
    auto played = replay(text, sim::trace::published_scorer);
    ASSERT_TRUE(played.ok());
    EXPECT_EQ(played->engine.live(), recorder.engine().live());
    for (NodeId id = 0; id < 6; ++id)
        EXPECT_EQ(played->engine.state(id), recorder.engine().state(id));
    EXPECT_EQ(played->engine.self_check(), "");
}

TEST(EventLog, FindsEveryChangedByte) {
    const std::string text = recorded(Policy::kAliquot, 12);
    Dice dice(5);
    for (unsigned i = 0; i < 100; ++i) {
        std::string changed = text;
        char& byte = changed[dice.below(static_cast<unsigned>(changed.size()))];
        byte = static_cast<char>(byte ^ static_cast<char>(1U << dice.below(8)));
        const auto played = replay(changed, sim::trace::published_scorer);
        EXPECT_FALSE(played.ok() && !played->first_difference) << i;
    }
}

TEST(EventLog, FindsALostLineAndACutOne) {
    const std::string text = recorded(Policy::kAliquot, 12);
    const std::size_t first = text.find('\n', 400) + 1;
    std::string lost = text;
    lost.erase(first, lost.find('\n', first) + 1 - first);
    EXPECT_FALSE(replay(lost, sim::trace::published_scorer).ok());
    EXPECT_FALSE(replay(text.substr(0, text.size() - 1)).ok());
    EXPECT_EQ(replay("").error().message, "line 1: is missing: expected a version and options");
}

TEST(EventLog, SaysTheFirstLineThatComesOutDifferently) {
    std::vector<std::string> lines = payloads_of(recorded(Policy::kBestFit, 60));
    std::size_t changed = 0;
    for (std::size_t i = 0; i < lines.size() && changed == 0; ++i) {
        const std::size_t found = lines[i].find(" -> id=");
        if (!lines[i].starts_with("place ") || found == std::string::npos) continue;
        lines[i].insert(found + 7, "9");
        changed = i + 1;
    }
    const auto played = replay(sealed(lines), sim::trace::published_scorer);
    ASSERT_TRUE(played.ok()) << played.error().message;
    ASSERT_TRUE(played->first_difference.has_value());
    EXPECT_EQ(played->first_difference->line, changed);
    EXPECT_EQ(played->first_difference->logged, " id=9" + played->first_difference->now.substr(3));
}

TEST(EventLog, KeepsAnyTextAndAnyDouble) {
    std::string text;
    Options options;
    options.weights.price = 0.1;
    Recorder recorder(options, [&](std::string_view line) { text += line; });
    NodeSpec spec;
    spec.name = "a b,c:d=e%\n#-> ä";
    spec.labels = {{"", ""}, {"k:", ",v"}};
    (void)recorder.add_node(spec);
    recorder.set_workload({{.request = {}, .popularity = 1.0 / 3}});
    auto played = replay(text, sim::trace::published_scorer);
    ASSERT_TRUE(played.ok()) << played.error().message;
    EXPECT_EQ(played->engine.node(0).name, spec.name);
    EXPECT_EQ(played->engine.node(0).labels, spec.labels);
    EXPECT_EQ(played->engine.workload()[0].popularity, 1.0 / 3);
    EXPECT_EQ(played->engine.options().weights.price, 0.1);
}

TEST(EventLog, NamesTheLineAndWhatIsWrongWithIt) {
    EXPECT_EQ(refusal_of("dance -> ok"),
              "line 3: found 'dance', expected node, place, release, ...");
    EXPECT_EQ(refusal_of("release id=1"), "line 3: has no outcome (->)");
    EXPECT_EQ(refusal_of("release id=01 -> ok"),
              "line 3: id is '01', expected a number of 64 bits");
    EXPECT_EQ(refusal_of("release id=1 id=2 -> ok"),
              "line 3: found 'id=2', expected the end of the line");
    EXPECT_EQ(refusal_of("place cpu=x memory=0 -> ok"),
              "line 3: cpu is 'x', expected a number of -2147483647 to 2147483647");
    EXPECT_EQ(refusal_of("workload types=1 popularity=0.5 -> ok"),
              "line 3: popularity is '0.5', expected a hexadecimal number of 0p+0 to 1p+0");
    EXPECT_EQ(refusal_of("move id=1 node=0 on=1,, start=0 -> ok"),
              "line 3: on is '', expected a number of 0 to 255");
    EXPECT_EQ(refusal_of("node name=a%2 cpu=1 -> ok"),
              "line 3: name is 'a%2', expected text with other bytes than letters, digits and "
              "._/*- as %XX");
    EXPECT_EQ(refusal_of("release id=5 -> refused not-found"), "played");
}

TEST(EventLog, RefusesAnotherVersionAndALineWithoutEnd) {
    std::vector<std::string> lines = head();
    lines[0] = "aliquot-placement-log 2";
    EXPECT_EQ(replay(sealed(lines), sim::trace::published_scorer).error().message,
              "line 1: is 'aliquot-placement-log 2', expected 'aliquot-placement-log 1'");
    EXPECT_EQ(refusal_of(std::string(kMostLogLine, 'x')),
              "line 3: has 1048594 bytes, expected at most 1048576");
}

TEST(EventLog, OfAPolicyThatTheProgramHasNotIsRefused) {
    const auto played = replay(recorded(Policy::kBestFit, 12));
    ASSERT_FALSE(played);
    EXPECT_EQ(played.error().message,
              "line 2: has policy=best-fit, expected aliquot: this program has no other");
    EXPECT_TRUE(replay(recorded(Policy::kAliquot, 12)).ok()) << "ours needs none of them";
}

}  // namespace
}  // namespace aliquot::placement
