// SPDX-License-Identifier: Apache-2.0
//
// aliquot-controller --jobs beside a queue: admission checks, gates, estimates.
#include "tests/contract/jobs_world.h"

namespace aliquot::contract {
namespace {

class JobsKueueContract : public JobsContract {};

TEST_P(JobsKueueContract, AnAdmissionCheckIsAnsweredByTheBooksOfTheGpus) {
    install_kueue();
    apply_queues(queues());
    const std::string node = add_node("a", 2, 1, false);
    const auto controller = start_jobs({"--placement"});
    ClusterJobs jobs(api(), space_);
    for (const auto& [name, gpus] : {std::pair("fits", 2U), std::pair("large", 4U)}) {
        auto asked = request(name, gpus);
        asked.queue = "vision";
        const auto made = jobs.submit(asked, "");
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->job.state, State::kQueued);
        take_into_queue(name, gpus);
        reserve_quota(name);
    }
    ASSERT_TRUE(becomes_true([&] { return state_of("fits") == "Ready"; })) << controller->said();
    EXPECT_THAT(check_of("fits", "aliquot-placement").value("message", ""), HasSubstr(node));
    ASSERT_TRUE(becomes_true([&] { return state_of("large") == "Retry"; })) << controller->said();
    EXPECT_GE(check_of("large", "aliquot-placement").value("requeueAfterSeconds", 0), 15);
    EXPECT_EQ(state_of("fits", "other"), "Pending");  // somebody else's
    const auto check = api().get(cluster_jobs::admission_checks(), {"", "aliquot-placement"});
    ASSERT_TRUE(check);
    EXPECT_THAT(check->json, HasSubstr("\"Active\""));
    const auto shown = jobs.find("large");
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->state, State::kReserving);
    EXPECT_THAT(shown->reason, HasSubstr("aliquot-placement"));
}

TEST_P(JobsKueueContract, RoomThatIsPromisedGoesToTheOneItWasPromisedTo) {
    install_kueue();
    apply_queues(queues());
    const std::string node = add_node("a", 2, 1, false);
    const auto controller = start_jobs({"--placement"});
    ClusterJobs jobs(api(), space_);
    for (const auto& [name, gpus] :
         {std::pair("first", 1U), std::pair("beside", 1U), std::pair("late", 1U)}) {
        auto asked = request(name, gpus);
        asked.queue = "vision";
        ASSERT_TRUE(jobs.submit(asked, ""));
        take_into_queue(name, gpus);
    }
    reserve_quota("first");
    ASSERT_TRUE(becomes_true([&] { return state_of("first") == "Ready"; })) << controller->said();
    // Its pod is there and runs: it is counted once.
    Json running = pod_of("first-x", 1, false);
    running["spec"]["nodeName"] = node;
    create(running);
    const auto done =
        api().patch(resources::jobs(), key("first"), R"({"status":{"active":1,"ready":1}})",
                    {.write = {.subresource = "status"}});
    ASSERT_TRUE(done) << done.failure().message;
    std::this_thread::sleep_for(2s);
    reserve_quota("beside");
    EXPECT_TRUE(becomes_true([&] { return state_of("beside") == "Ready"; }, 6s))
        << controller->said();
    // Of this one no pod is there yet: its place is taken all the same.
    reserve_quota("late");
    ASSERT_TRUE(becomes_true([&] {
        return !state_of("late").empty() && state_of("late") != "Pending";
    })) << controller->said();
    EXPECT_EQ(state_of("late"), "Retry") << check_of("late", "aliquot-placement");
    EXPECT_THAT(check_of("late", "aliquot-placement").value("message", ""),
                HasSubstr("admitted just before"));
}

TEST_P(JobsKueueContract, JobsThatWaitForQuotaAreAnsweredAheadAsLongAsThereIsRoom) {
    install_kueue();
    apply_queues(queues());
    const std::string node = add_node("a", 3, 1, false);
    const auto controller = start_jobs({"--placement"});
    ClusterJobs jobs(api(), space_);
    const auto say = [&](const std::string& name, const char* quota, const char* check) {
        say_of(name, {{"conditions", Json::array({{{"type", "QuotaReserved"}, {"status", quota}}})},
                      {"admissionChecks",
                       Json::array({{{"name", "aliquot-placement"}, {"state", check}}})}});
    };
    for (const char* const name : {"first", "second", "third"}) {
        auto asked = request(name, 1);
        asked.queue = "vision";
        ASSERT_TRUE(jobs.submit(asked, ""));
        take_into_queue(name, 1);
        say(name, "False", "Pending");
        ASSERT_TRUE(becomes_true([&] { return state_of(name) == "Ready"; })) << controller->said();
    }
    EXPECT_THAT(check_of("first", "aliquot-placement").value("message", ""), HasSubstr(node));
    // Kueue admits the first at once; it keeps its place, and who waits has no more room beside a stranger.
    say("first", "True", "Ready");
    Json stranger = pod_of("stranger", 2, false);
    stranger["spec"]["nodeName"] = node;
    create(stranger);
    EXPECT_TRUE(becomes_true([&] {
        return state_of("second") == "Pending" && state_of("third") == "Pending";
    })) << controller->said();
    EXPECT_EQ(state_of("first"), "Ready");
}

TEST_P(JobsKueueContract, AJobThatIsCancelledBeforeKueueSawItIsNotStarted) {
    install_kueue();
    ClusterJobs jobs(api(), space_);
    auto asked = request("hasty");
    asked.queue = "vision";
    ASSERT_TRUE(jobs.submit(asked, ""));
    std::jthread kueue([&] {
        std::this_thread::sleep_for(500ms);
        take_into_queue("hasty", 1);
    });
    const auto cancelled = jobs.cancel("hasty");
    kueue.join();
    ASSERT_TRUE(cancelled) << cancelled.error().message;
    EXPECT_EQ(cancelled->state, State::kCancelled);
    const auto workload = api().get(cluster_jobs::workloads(), key("job-hasty"));
    ASSERT_TRUE(workload);
    EXPECT_EQ(kube_client::bool_at(workload->json, "/spec/active"), false);
}

TEST_P(JobsKueueContract, AUserWhoMayNotChangeWorkloadsStopsAndResumesAJobByTheController) {
    install_kueue();
    RefusingApi refusing(api());
    refusing.refuses = [](const kube_client::Request& one) {
        return one.method == "PATCH" && one.path.contains("/workloads/");
    };
    ClusterJobs jobs(refusing, space_);
    auto asked = request("mine");
    asked.queue = "vision";
    ASSERT_TRUE(jobs.submit(asked, ""));
    take_into_queue("mine", 1);
    const auto is_active = [&] {
        const auto workload = api().get(cluster_jobs::workloads(), key("job-mine"));
        return workload && kube_client::bool_at(workload->json, "/spec/active").value_or(true);
    };
    // Nobody does it: it is refused, and nothing says that it is stopped.
    const auto refused = jobs.suspend("mine");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
    EXPECT_THAT(refused.error().message, HasSubstr("aliquot-controller --jobs"));
    EXPECT_EQ(jobs.find("mine")->state, State::kQueued);
    const auto controller = start_jobs();
    const auto suspended = jobs.suspend("mine");
    ASSERT_TRUE(suspended) << suspended.error().message << controller->said();
    EXPECT_EQ(suspended->state, State::kSuspended);
    EXPECT_FALSE(is_active());
    const auto resumed = jobs.resume("mine");
    ASSERT_TRUE(resumed) << resumed.error().message << controller->said();
    EXPECT_TRUE(is_active());
    EXPECT_EQ(resumed->state, State::kQueued);
    // What Kueue or an administrator made inactive stays so.
    ASSERT_TRUE(
        api().patch(cluster_jobs::workloads(), key("job-mine"), R"({"spec":{"active":false}})"));
    std::this_thread::sleep_for(4s);
    EXPECT_FALSE(is_active()) << controller->said();
}

TEST_P(JobsKueueContract, ACheckIsAnsweredWithYesWhereNobodyKeepsBooks) {
    install_kueue();
    apply_queues(queues());
    const auto controller = start_jobs();
    ClusterJobs jobs(api(), space_);
    auto asked = request("open", 8);
    asked.queue = "vision";
    ASSERT_TRUE(jobs.submit(asked, ""));
    take_into_queue("open", 8);
    reserve_quota("open");
    ASSERT_TRUE(becomes_true([&] { return state_of("open") == "Ready"; })) << controller->said();
    EXPECT_THAT(check_of("open", "aliquot-placement").value("message", ""),
                HasSubstr("could not be checked"));
}

TEST_P(JobsKueueContract, AGateIsOpenedForAJobThatDelaysNobodyAndTheOthersAreToldWhen) {
    install_kueue();
    apply_queues(queues());
    add_node("a", 2, 1, false);
    ClusterJobs jobs(api(), space_);
    for (const auto& [name, gpus] : {std::pair("first", 2U), std::pair("second", 2U)}) {
        auto asked = request(name, gpus);
        asked.queue = "vision";
        ASSERT_TRUE(jobs.submit(asked, ""));
        const Json gate{
            {"metadata",
             {{"annotations", {{cluster_jobs::kGatedBy, cluster_jobs::kPlannerGate}}}}}};
        ASSERT_TRUE(api().patch(resources::jobs(), key(name), gate.dump()));
        take_into_queue(name, gpus);
    }
    const auto controller = start_jobs();
    ASSERT_TRUE(becomes_true([&] {
        return annotation("first", cluster_jobs::kGatedBy).empty() ||
               annotation("second", cluster_jobs::kGatedBy).empty();
    })) << controller->said();
    const bool is_first = annotation("first", cluster_jobs::kGatedBy).empty();
    const std::string waits = is_first ? "second" : "first";
    ASSERT_TRUE(becomes_true([&] {
        return annotation(waits, cluster_jobs::kEtaAnnotation).contains("p50");
    })) << controller->said();
    EXPECT_EQ(annotation(waits, cluster_jobs::kGatedBy), cluster_jobs::kPlannerGate);
    const auto why = jobs.explain(waits);
    ASSERT_TRUE(why) << why.error().message;
    EXPECT_EQ(document::text_at(*why, {"position"}), "1");
    EXPECT_FALSE(document::text_at(*why, {"likelyStart"}).empty());
    const auto pending = jobs.pending("vision");
    ASSERT_TRUE(pending);
    EXPECT_EQ(document::items_at(*pending, {"pending"}).size(), 2U);
    const auto queues = jobs.queues();
    ASSERT_TRUE(queues) << queues.error().message;
    EXPECT_EQ(document::text_at(*queues, "queues.0.gpus.0.quota"), "8");
}

INSTANTIATE_TEST_SUITE_P(Api, JobsKueueContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
