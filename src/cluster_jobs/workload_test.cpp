// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/workload.h"

#include <gtest/gtest.h>

#include "base/time_text.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::cluster_jobs {
namespace {

using document::text_at;
using document::Value;
using queue::Time;

constexpr Time kMinute = 60'000;

Value parsed(const std::string& text) {
    auto value = document::parse_json(text);
    EXPECT_TRUE(value) << text;
    return value ? *std::move(value) : Value{};
}

std::string workload_text(const std::string& status, const std::string& annotations = "") {
    return R"({"metadata":{"name":"job-train-1","namespace":"lab","uid":"w1",)"
           R"("creationTimestamp":"2026-01-01T10:00:00Z","annotations":{)" +
           annotations +
           R"(},"ownerReferences":[{"kind":"Job","name":"train-7","uid":"j1"}]},)"
           R"("spec":{"queueName":"vision","priority":5,"maximumExecutionTimeSeconds":60,)"
           R"("podSets":[{"name":"main","count":2,"template":{"metadata":{"labels":{"a":"b"}},)"
           R"("spec":{"nodeSelector":{"zone":"x"},"containers":[{"name":"c","resources":{"limits":)"
           R"({"nvidia.com/gpu":"4"}}}]}}}]},"status":{)" +
           status + "}}";
}

constexpr char kReserved[] =
    R"("conditions":[{"type":"QuotaReserved","status":"True"}],"admission":{"clusterQueue":"cq",)"
    R"("podSetAssignments":[{"name":"main","count":2,"flavors":{"cpu":"a100","nvidia.com/gpu":"a100"}}]},)"
    R"("admissionChecks":[{"name":"place","state":"Pending"},{"name":"other","state":"Pending"}])";

TEST(Workload, HasPodsWithTheLabelsOfTheFlavorsItsQuotaIsOf) {
    const std::map<std::string, Value> flavors{
        {"a100", parsed(R"({"spec":{"nodeLabels":{"accelerator":"nvidia-tesla-a100","zone":"y"},)"
                        R"("tolerations":[{"key":"gpu","operator":"Exists"}]}})")}};
    const auto pods = pods_of(parsed(workload_text(kReserved)), flavors);
    ASSERT_EQ(pods.size(), 2U);
    const Value pod = parsed(pods[1]);
    EXPECT_EQ(text_at(pod, {"metadata", "uid"}), "w1/main/1");
    EXPECT_EQ(text_at(pod, {"metadata", "labels", "a"}), "b");
    EXPECT_EQ(text_at(pod, {"spec", "nodeSelector", "accelerator"}), "nvidia-tesla-a100");
    EXPECT_EQ(text_at(pod, {"spec", "nodeSelector", "zone"}), "x");          // its own wins
    EXPECT_EQ(document::items_at(pod, {"spec", "tolerations"}).size(), 1U);  // once
}

TEST(Workload, HasAnAnswerToOursAloneAndOnlyWhileQuotaIsReserved) {
    const Value reserved = parsed(workload_text(kReserved));
    EXPECT_EQ(checks_to_answer(reserved, {"place"}), std::vector<std::string>{"place"});
    EXPECT_TRUE(checks_to_answer(reserved, {"elsewhere"}).empty());
    EXPECT_TRUE(checks_to_answer(parsed(workload_text("")), {"place"}).empty());
    const auto now = *parse_rfc3339("2026-01-01T10:00:05Z");
    const Value ready = check_patch(reserved, "place", {.message = "room on n1"}, now);
    EXPECT_EQ(text_at(ready, {"metadata", "uid"}), "w1");
    EXPECT_EQ(text_at(ready, "status.admissionChecks.0.state"), "Ready");
    EXPECT_EQ(text_at(ready, "status.admissionChecks.0.requeueAfterSeconds"), "");
    const Value retry = check_patch(reserved, "place",
                                    {.state = CheckAnswer::State::kRetry,
                                     .message = "no",
                                     .again_after = std::chrono::seconds(90)},
                                    now);
    EXPECT_EQ(text_at(retry, "status.admissionChecks.0.requeueAfterSeconds"), "90");
}

TEST(Workload, IsAnsweredAheadOnlyWhileItWaitsForQuota) {
    const std::vector<std::string> ours{"place", "too"};
    const auto checks = [&](const char* conditions, const char* states) {
        return checks_ahead(parsed(workload_text((std::string(R"("conditions":[)") + conditions +
                                                  R"(],"admissionChecks":[)" + states + "]")
                                                     .c_str())),
                            ours);
    };
    constexpr char kPending[] =
        R"({"name":"place","state":"Pending"},{"name":"other","state":"Pending"})";
    constexpr char kHalf[] = R"({"name":"place","state":"Ready"},{"name":"too","state":"Pending"})";
    EXPECT_EQ(checks("", kPending).names, std::vector<std::string>{"place"});
    EXPECT_FALSE(checks("", kPending).are_ready);
    EXPECT_EQ(checks("", kHalf).names.size(), 2U);
    EXPECT_FALSE(checks("", kHalf).are_ready);
    EXPECT_TRUE(checks("", R"({"name":"place","state":"Ready"})").are_ready);
    for (const char* const ended : {"QuotaReserved", "Finished", "Evicted"}) {
        const std::string condition = std::string(R"({"type":")") + ended + R"(","status":"True"})";
        EXPECT_TRUE(checks(condition.c_str(), kPending).names.empty()) << ended;
    }
    const Value pending =
        check_patch(parsed(workload_text(kReserved)), "place",
                    {.state = CheckAnswer::State::kPending, .message = "no room"}, {});
    EXPECT_EQ(text_at(pending, "status.admissionChecks.0.state"), "Pending");
}

TEST(Workload, OfAQueueWithOneFlavorEachHasItsLabelsBeforeItHasQuota) {
    const auto queue = [](const char* flavors) {
        return only_flavors(
            parsed(std::string(R"({"spec":{"resourceGroups":[{"flavors":[)") + flavors + "]}]}}"));
    };
    EXPECT_EQ(queue(R"({"name":"a100"})"), std::vector<std::string>{"a100"});
    EXPECT_EQ(queue(R"({"name":"a100"},{"name":"t4"})"), std::nullopt);
    const std::map<std::string, Value> flavors{
        {"a100", parsed(R"({"spec":{"nodeLabels":{"accelerator":"nvidia-tesla-a100"}}})")}};
    const auto pods = pods_of(parsed(workload_text("")), flavors, {"a100"});
    ASSERT_FALSE(pods.empty());
    EXPECT_EQ(text_at(parsed(pods[0]), {"spec", "nodeSelector", "accelerator"}),
              "nvidia-tesla-a100");
}

TEST(Workload, IsPlannedByItsGpusItsQueueAndItsGates) {
    const auto task =
        task_of(parsed(workload_text(
                    "", R"("kueue.x-k8s.io/admission-gated-by":"x/y, aliquot.dev/planner")")),
                "cq");
    ASSERT_TRUE(task);
    EXPECT_EQ(task->pods, 2U);
    EXPECT_EQ(task->gpus, 4U);
    EXPECT_EQ(task->priority, 5);
    EXPECT_EQ(task->limit, 60'000);
    EXPECT_EQ(task->name, "train");
    EXPECT_TRUE(task->is_gated);
    EXPECT_FALSE(task->runs_since);
    EXPECT_EQ(without_gate("x/y, aliquot.dev/planner", kPlannerGate), "x/y");
    EXPECT_EQ(without_gate("aliquot.dev/planner", kPlannerGate), "");
    EXPECT_FALSE(without_gate("x/y", kPlannerGate));
    EXPECT_FALSE(task_of(
        parsed(workload_text(R"("conditions":[{"type":"Finished","status":"True"}])")), "cq"));
}

TEST(Workload, SaysThatACheckIsActiveOnce) {
    const auto now = *parse_rfc3339("2026-01-01T10:00:00Z");
    const auto first = active_patch(parsed(R"({"metadata":{"name":"place","generation":3}})"), now);
    ASSERT_TRUE(first);
    EXPECT_EQ(text_at(*first, "status.conditions.0.observedGeneration"), "3");
    EXPECT_FALSE(
        active_patch(parsed(R"({"metadata":{"name":"place","generation":3},"status":{"conditions":)"
                            R"([{"type":"Active","status":"True","observedGeneration":3}]}})"),
                     now));
}

TEST(QueueOffer, AddsUpTheGpusOfAllFlavors) {
    const QueueOffer offer = offer_of(parsed(
        R"({"metadata":{"name":"cq"},"spec":{"cohortName":"lab","resourceGroups":[{"flavors":[)"
        R"({"name":"a","resources":[{"name":"cpu","nominalQuota":"9"},{"name":"nvidia.com/gpu","nominalQuota":"8","borrowingLimit":"2"}]},)"
        R"({"name":"b","resources":[{"name":"nvidia.com/gpu","nominalQuota":"4","borrowingLimit":"1"}]}]}]}})"));
    EXPECT_EQ(offer.quota, 12U);
    EXPECT_EQ(offer.borrow, 3U);
    EXPECT_EQ(offer.cohort, "lab");
}

Task task(const std::string& uid, std::uint32_t gpus, Time created) {
    return {.uid = uid,
            .queue = "cq",
            .user = "lab",
            .name = uid,
            .gpus = gpus,
            .created = created,
            .limit = 60 * kMinute};
}

const Foreseen& of(const std::vector<Foreseen>& all, const std::string& uid) {
    for (const Foreseen& one : all)
        if (one.uid == uid) return one;
    ADD_FAILURE() << "nothing is foreseen of " << uid;
    return all.front();
}

TEST(Foresight, TellsWhenAJobStartsThatWaitsForOneThatRuns) {
    Foresight foresight;
    foresight.set_nodes({{"n1", 8}});
    foresight.set_queues({{.name = "cq"}});
    const Time now = 1'000 * kMinute;
    Task runs = task("runs", 8, now);
    runs.runs_since = now;
    const auto all = foresight.look({runs, task("waits", 8, now)}, {}, now);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].position, 1U);
    ASSERT_TRUE(all[0].p50 && all[0].p90);
    EXPECT_GE(*all[0].p50, now + 50 * kMinute);
    EXPECT_GE(*all[0].p90, *all[0].p50);
    EXPECT_EQ(all[0].why, "too few GPUs are free");
}

TEST(Foresight, LetsAGatedJobGoThatDelaysNobodyAndHoldsOneThatWould) {
    Foresight foresight;
    foresight.set_nodes({{"n1", 8}});
    foresight.set_queues({{.name = "cq"}});
    const Time now = 1'000 * kMinute;
    Task runs = task("runs", 6, now);
    runs.runs_since = now;
    Task large = task("large", 8, now);
    Task brief = task("brief", 2, now + 1);
    brief.limit = 10 * kMinute;
    Task lengthy = task("lengthy", 2, now + 2);
    lengthy.limit = 500 * kMinute;
    for (Task* const one : {&large, &brief, &lengthy}) one->is_gated = true;
    const auto all = foresight.look({runs, large, lengthy, brief}, {}, now + 3);
    EXPECT_TRUE(of(all, "brief").is_let_go);
    EXPECT_FALSE(of(all, "large").is_let_go);
    EXPECT_FALSE(of(all, "lengthy").is_let_go);
    // What runs has gone (and taught nothing of how long such jobs run): the large one has its turn.
    brief.runs_since = now + 4;
    const auto later = foresight.look({brief, large, lengthy}, {}, now + kMinute);
    EXPECT_FALSE(of(later, "large").is_let_go);
    const auto last = foresight.look({large, lengthy}, {}, now + 2 * kMinute);
    EXPECT_TRUE(of(last, "large").is_let_go);
}

TEST(Foresight, HoldsNothingForEverThatDoesNotMove) {
    Foresight foresight;
    foresight.set_nodes({{"n1", 1}});
    foresight.set_queues({{.name = "cq"}});
    const Time now = 1'000 * kMinute;
    Task never = task("never", 8, now);
    never.is_gated = true;
    EXPECT_FALSE(of(foresight.look({never}, {}, now), "never").is_let_go);
    EXPECT_TRUE(
        of(foresight.look({never}, {}, now + Foresight::kLongestHold + 1), "never").is_let_go);
}

TEST(Foresight, QueuesAgainWhatWasLetGoAndDidNotStart) {
    Foresight foresight;
    foresight.set_nodes({{"n1", 8}});
    foresight.set_queues({{.name = "cq"}});
    const Time now = 1'000 * kMinute;
    const auto waits = [&] {
        Task one = task("one", 8, now);
        one.is_gated = false;
        return one;
    };
    EXPECT_EQ(of(foresight.look({waits()}, {}, now), "one").why, "it is next");
    Task two = task("two", 8, now + 1);
    EXPECT_NE(of(foresight.look({waits(), two}, {}, now + 1), "two").why, "it is next");
    // Both wait again two minutes later, and the books are free.
    const auto all = foresight.look({waits(), two}, {}, now + 2 * kMinute);
    EXPECT_EQ(of(all, "one").why, "it is next");
}

}  // namespace
}  // namespace aliquot::cluster_jobs
