// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gangs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::scheduling {
namespace {

using Source = GangClaim::Source;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GpuPod member(const std::string& name, unsigned size = 3) {
    GpuPod made{.uid = name,
                .name_space = "team",
                .name = name,
                .is_gated = true,
                .created = "2026-01-01T00:00:00Z",
                .devices = {{"main", "nvidia.com/gpu", 1}}};
    made.claim = {.source = Source::kLabel,
                  .key = "team/gang/train",
                  .name = "train",
                  .is_named = true,
                  .size = size};
    return made;
}

GpuPod released(GpuPod pod) {
    pod.is_gated = false;
    pod.plan = "{}";
    return pod;
}

GpuPod bound(GpuPod pod, const std::string& at = "2026-01-01T00:00:01Z") {
    pod = released(std::move(pod));
    pod.node = "a";
    pod.bound_at = at;
    return pod;
}

std::vector<std::string> names_of(const std::vector<const GpuPod*>& pods) {
    std::vector<std::string> names;
    for (const GpuPod* const one : pods) names.push_back(one->name);
    return names;
}

/// The one turn.
GangTurn turn_of(Gangs& gangs) {
    const auto turns = gangs.turns();
    EXPECT_EQ(turns.size(), 1U);
    return turns.empty() ? GangTurn{} : turns.front();
}

Gangs by_label() {
    return Gangs([](const GangClaim&, const std::string&) -> Result<std::string> {
        ADD_FAILURE() << "nobody is to be asked";
        return Error{ErrorCode::kInternal, ""};
    });
}

TEST(Gangs, WaitUntilAllMembersExist) {
    Gangs gangs = by_label();
    gangs.set_pod(member("p2"));
    gangs.set_pod(member("p1"));
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty());
    EXPECT_EQ(turn_of(gangs).why, "2 of its 3 pods exist");
    GpuPod held = member("p3");
    held.is_gated_else = true;
    gangs.set_pod(held);
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty());
    EXPECT_EQ(turn_of(gangs).why, "1 pod of its 3 has another scheduling gate, too");
    gangs.set_pod(member("p3"));
    const GangTurn turn = turn_of(gangs);
    EXPECT_THAT(names_of(turn.ask), ElementsAre("p1", "p2", "p3"));
    EXPECT_TRUE(turn.at_once);
    EXPECT_EQ(turn.name, "gang team/train");
    EXPECT_FALSE(turn.is_half_placed);
    gangs.remove_pod("p2");
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty());
}

TEST(Gangs, CountMembersThatNeedNoGpuAndThoseThatHaveEndedWell) {
    Gangs gangs = by_label();
    GpuPod launcher = member("launcher");
    launcher.is_gated = false;
    launcher.devices.clear();
    launcher.node = "cpu";
    launcher.bound_at = "2026-01-01T00:00:01Z";
    gangs.set_pod(launcher);
    gangs.set_pod(member("p1"));
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty()) << "that the launcher runs does not mean they do";
    GpuPod done = member("done");
    done.is_gated = false;
    done.is_over = done.has_succeeded = true;
    gangs.set_pod(done);
    EXPECT_THAT(names_of(turn_of(gangs).ask), ElementsAre("p1"));
    done.has_succeeded = false;
    gangs.set_pod(done);
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty()) << "one that failed is made again";
}

TEST(Gangs, TakeTheFirstOfMoreThanTheirSizeAndTheOthersOnceTheyRun) {
    Gangs gangs = by_label();
    for (const char* const name : {"p4", "p1", "p3", "p2"}) gangs.set_pod(member(name, 2));
    EXPECT_THAT(names_of(turn_of(gangs).ask), ElementsAre("p1", "p2"));
    gangs.let_go("p1");
    gangs.let_go("p2");
    const GangTurn turn = turn_of(gangs);
    EXPECT_THAT(names_of(turn.ask), ElementsAre("p3", "p4"));
    EXPECT_FALSE(turn.at_once);
    EXPECT_FALSE(turn.is_half_placed);
}

TEST(Gangs, LetAMemberThatWasMadeAgainRejoinAlone) {
    Gangs gangs = by_label();
    gangs.set_pod(bound(member("p1")));
    GpuPod failed = bound(member("p2"));
    failed.is_over = true;
    gangs.set_pod(failed);
    EXPECT_THAT(gangs.turns(), IsEmpty()) << "nothing waits";
    GpuPod again = member("p2b");
    again.created = "2026-01-01T00:05:00Z";
    gangs.set_pod(again);
    const GangTurn turn = turn_of(gangs);
    EXPECT_THAT(names_of(turn.ask), ElementsAre("p2b"));
    EXPECT_FALSE(turn.at_once) << "p3 may never come again";
    EXPECT_FALSE(turn.is_half_placed);
    EXPECT_EQ(turn.first->name, "p1") << "the gang keeps its place in the queue";
}

TEST(Gangs, AreHalfPlacedWhenSomeWereLetGoAndOthersNot) {
    Gangs gangs = by_label();
    gangs.set_pod(bound(member("p1")));
    gangs.set_pod(released(member("p2")));
    gangs.set_pod(member("p3"));
    GangTurn turn = turn_of(gangs);
    EXPECT_THAT(names_of(turn.ask), ElementsAre("p3"));
    EXPECT_TRUE(turn.at_once) << "p3 waits since before p1 ran";
    EXPECT_TRUE(turn.is_half_placed);
    EXPECT_THAT(names_of(turn.undo), ElementsAre("p2")) << "what runs is left alone";
    gangs.remove_pod("p3");
    turn = turn_of(gangs);
    EXPECT_THAT(turn.ask, IsEmpty());
    gangs.remove_pod("p1");
    turn = turn_of(gangs);
    EXPECT_THAT(names_of(turn.undo), ElementsAre("p2"));
    GpuPod leaving = released(member("p2"));
    leaving.is_leaving = true;
    gangs.set_pod(leaving);
    EXPECT_THAT(gangs.turns(), IsEmpty());
}

TEST(Gangs, AskForTheSizeOnceAndAgainWhenTold) {
    unsigned asked = 0;
    Result<std::string> answer = Error{ErrorCode::kUnavailable, "no connection"};
    Gangs gangs([&](const GangClaim& claim, const std::string& space) {
        ++asked;
        EXPECT_EQ(claim.object + " " + space, "j team");
        return answer;
    });
    GpuPod one = member("p1");
    one.claim = {.source = Source::kJob, .key = "team/job/o1", .name = "j", .object = "j"};
    gangs.set_pod(one);
    EXPECT_THAT(turn_of(gangs).why, HasSubstr("no connection"));
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty());
    EXPECT_EQ(asked, 1U);
    answer =
        std::string(R"({"spec":{"parallelism":2,"completions":2,"completionMode":"Indexed"}})");
    gangs.look_again();
    EXPECT_EQ(turn_of(gangs).why, "1 of its 2 pods exists");
    answer =
        std::string(R"({"spec":{"parallelism":1,"completions":9,"completionMode":"Indexed"}})");
    gangs.look_again();
    EXPECT_EQ(turn_of(gangs).id, "") << "no gang: each pod goes alone";
    EXPECT_THAT(names_of(turn_of(gangs).ask), ElementsAre("p1"));
    for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kPermission}) {
        answer = Error{code, "jobs \"j\" is forbidden"};
        gangs.look_again();
        EXPECT_EQ(turn_of(gangs).id, "") << "nobody asked for a gang";
    }
    one.claim.is_named = true;
    gangs.set_pod(one);
    gangs.look_again();
    EXPECT_THAT(turn_of(gangs).why, HasSubstr("is forbidden"));
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty());
}

TEST(Gangs, OfAJobSetInOrderAreItsReplicatedJobs) {
    Gangs gangs([](const GangClaim&, const std::string&) -> Result<std::string> {
        return std::string(R"({"spec":{"startupPolicy":{"startupPolicyOrder":"InOrder"},)"
                           R"("replicatedJobs":[{"name":"driver","template":{"spec":{}}},)"
                           R"({"name":"worker","replicas":2,"template":{"spec":{}}}]}})");
    });
    const auto put = [&](const std::string& name, const std::string& part) {
        GpuPod made = member(name);
        made.claim = {.source = Source::kJobSet, .key = "team/jobset/s/0", .object = "s"};
        made.claim.part = part;
        gangs.set_pod(made);
    };
    put("d", "driver");
    EXPECT_THAT(names_of(turn_of(gangs).ask), ElementsAre("d")) << "workers come after it";
    put("w0", "worker");
    auto turns = gangs.turns();
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_THAT(turns[1].ask, IsEmpty());
    put("w1", "worker");
    turns = gangs.turns();
    EXPECT_THAT(names_of(turns[1].ask), ElementsAre("w0", "w1"));
    EXPECT_EQ(turns[1].id, "team/jobset/s/0/worker");
}

TEST(Gangs, TellWhatIsWrongWithTheirSize) {
    Gangs gangs = by_label();
    GpuPod one = member("p1", 0);
    one.claim.wrong = "aliquot.dev/gang-size is \"x\"; expected 1 to 1024";
    gangs.set_pod(one);
    gangs.set_pod(member("p2", 2));
    EXPECT_THAT(turn_of(gangs).why, HasSubstr("expected 1 to 1024"));
    EXPECT_THAT(turn_of(gangs).ask, IsEmpty());
    one.claim.wrong.clear();
    one.claim.size = 1;
    gangs.set_pod(one);
    EXPECT_EQ(turn_of(gangs).ask.size(), 2U) << "the largest size counts";
}

}  // namespace
}  // namespace aliquot::scheduling
