// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/move_lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.h"
#include "kube_client/stub_api.h"

namespace aliquot::cli {
namespace {

using namespace std::chrono_literals;

constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";

struct World {
    MoveLease run(const std::string& identity) {
        return {api, words, {.identity = identity, .now = [this] { return now; }}};
    }
    kube_client::StubApi api;
    ClusterOptions words;
    MoveLease::Time now = *parse_rfc3339("2026-01-01T12:00:00Z");
};

/// The text, or why there is none.
std::string said(const kube_client::Outcome<std::string>& outcome) {
    return outcome ? *outcome : outcome.failure().message;
}

TEST(MoveLease, CountsMovesOfAllRunsWithinAnHour) {
    World world;
    auto first = world.run("one");
    EXPECT_THAT(*first.moves(), testing::IsEmpty()) << "there is no Lease yet";
    EXPECT_EQ(said(first.spend(2)), "");
    world.now += 10min;
    EXPECT_EQ(said(first.spend(2)), "");
    first.let_go();
    auto second = world.run("two");
    EXPECT_EQ(said(second.spend(2)),
              "2 pods were moved within the last hour, and --moves-per-hour is 2; the next may go "
              "at 2026-01-01T13:00:00Z");
    EXPECT_EQ(second.moves()->size(), 2U);
    world.now += 51min;
    EXPECT_EQ(said(second.spend(2)), "") << "the first is more than an hour ago";
    EXPECT_EQ(said(second.spend(2)),
              "2 pods were moved within the last hour, and --moves-per-hour is 2; the next may go "
              "at 2026-01-01T13:10:00Z");
}

TEST(MoveLease, LetsOneRunMovePodsAtATime) {
    World world;
    auto first = world.run("one");
    auto second = world.run("two");
    EXPECT_EQ(said(first.hold()), "");
    EXPECT_EQ(said(second.hold()),
              "one moves pods now; if it has died, others may from 2026-01-01T12:01:00Z on");
    EXPECT_NE(said(second.spend(10)), "");
    EXPECT_THAT(*second.moves(), testing::IsEmpty()) << "what was refused is not counted";
    first.let_go();
    EXPECT_EQ(said(second.hold()), "");
    world.now += 61s;  // it has died
    EXPECT_EQ(said(first.spend(10)), "");
    second.let_go();
    EXPECT_NE(said(second.hold()), "") << "it was another's: nothing was let go";
}

TEST(MoveLease, DecidesAnewWhenAnotherCameBetweenLookAndWrite) {
    World world;
    auto first = world.run("one");
    auto second = world.run("two");
    bool is_first = true;
    world.api.before = [&](const kube_client::Request& request)
        -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        if (request.method == "GET" || !is_first) return std::nullopt;
        is_first = false;
        EXPECT_EQ(said(second.spend(1)), "");
        return std::nullopt;
    };
    EXPECT_NE(said(first.spend(1)), "");
    EXPECT_EQ(first.moves()->size(), 1U) << "one of them was first";
}

TEST(MoveLease, ReadsWhateverIsThereAndKeepsWhatOthersWrote) {
    World world;
    world.api.put(kLeases, {"aliquot-system", "aliquot-moves"},
                  R"({"metadata":{"labels":{"team":"x"},"annotations":{"aliquot.dev/moves":)"
                  R"("[7,\"soon\",\"2026-01-01T11:30:00Z\",\"2026-01-01T10:30:00Z\"]"}},)"
                  R"("spec":{"holderIdentity":"gone","renewTime":"2026-01-01T11:00:00Z",)"
                  R"("leaseDurationSeconds":60}})");
    auto run = world.run("one");
    EXPECT_EQ(run.moves()->size(), 1U);
    EXPECT_EQ(said(run.spend(10)), "");
    const auto json = world.api.json(kLeases, {"aliquot-system", "aliquot-moves"});
    ASSERT_TRUE(json);
    EXPECT_THAT(*json, testing::HasSubstr(R"("team":"x")"));
    EXPECT_THAT(*json, testing::HasSubstr(R"("holderIdentity":"one")"));
    EXPECT_EQ(run.moves()->size(), 2U);
}

}  // namespace
}  // namespace aliquot::cli
