// SPDX-License-Identifier: Apache-2.0
//
// GPU jobs of a cluster: what `aliquot job` does to its Jobs, and aliquot-controller --jobs beside a queue that is played
// here as Kueue plays it (Workloads with quota, admission checks, gates).
#include <gmock/gmock.h>

#include <cctype>

#include "cluster_jobs/cluster_jobs.h"
#include "cluster_jobs/queue_file.h"
#include "cluster_jobs/workload.h"
#include "document/json.h"
#include "document/path.h"
#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

using cluster_jobs::ClusterJobs;
using jobs::State;
using testing::HasSubstr;

const kube_client::Resource kDefinitions{.group = "apiextensions.k8s.io",
                                         .version = "v1",
                                         .plural = "customresourcedefinitions",
                                         .kind = "CustomResourceDefinition",
                                         .namespaced = false};

Json definition_of(const kube_client::Resource& of) {
    const Json anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    // As Kueue's: checks are a list by name, conditions one by type.
    const auto by = [&](const char* key) {
        return Json{{"type", "array"},
                    {"items",
                     {{"type", "object"},
                      {"x-kubernetes-preserve-unknown-fields", true},
                      {"required", Json::array({key})},
                      {"properties", {{key, {{"type", "string"}}}}}}},
                    {"x-kubernetes-list-type", "map"},
                    {"x-kubernetes-list-map-keys", Json::array({key})}};
    };
    const Json status{
        {"type", "object"},
        {"x-kubernetes-preserve-unknown-fields", true},
        {"properties", {{"admissionChecks", by("name")}, {"conditions", by("type")}}}};
    const Json schema{
        {"openAPIV3Schema",
         {{"type", "object"}, {"properties", {{"spec", anything}, {"status", status}}}}}};
    std::string singular = of.kind;
    for (char& c : singular) c = static_cast<char>(std::tolower(c));
    return {{"metadata", {{"name", of.plural + "." + of.group}}},
            {"spec",
             {{"group", of.group},
              {"scope", of.namespaced ? "Namespaced" : "Cluster"},
              {"names", {{"plural", of.plural}, {"kind", of.kind}, {"singular", singular}}},
              {"versions", Json::array({{{"name", of.version},
                                         {"served", true},
                                         {"storage", true},
                                         {"schema", schema},
                                         {"subresources", {{"status", Json::object()}}}}})}}}};
}

class JobsContract : public PlacementContract {
protected:
    void SetUp() override {
        PlacementContract::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        resource_ = "nvidia.com/gpu";
    }
    void install_kueue() {
        for (const auto& kind : {cluster_jobs::workloads(), cluster_jobs::cluster_queues(),
                                 cluster_jobs::local_queues(), cluster_jobs::resource_flavors(),
                                 cluster_jobs::admission_checks()}) {
            make(kDefinitions, definition_of(kind).dump());
            ASSERT_TRUE(becomes_true([&] { return static_cast<bool>(api().list(kind)); }));
        }
    }
    void apply_queues(const std::string& text) {
        const auto objects = cluster_jobs::read_queue_file(text);
        ASSERT_TRUE(objects) << objects.error().message;
        for (const auto& object : *objects) {
            const std::string kind = document::text_at(object, {"kind"});
            const auto resource = api().find_resource("kueue.x-k8s.io/v1beta2", kind);
            ASSERT_TRUE(resource);
            const auto done = api().apply(*resource,
                                          {document::text_at(object, {"metadata", "namespace"}),
                                           document::text_at(object, {"metadata", "name"})},
                                          document::to_json_line(object), true);
            ASSERT_TRUE(done) << done.failure().message;
        }
    }
    jobs::Request request(const std::string& name, unsigned gpus = 1) {
        jobs::Request made;
        made.name = name;
        made.image = "none.invalid/c:1";
        made.command = {"true"};
        made.gpu_count = gpus;
        made.gpu_type = "any";
        made.user = "ada";
        return made;
    }
    /// What Kueue makes of a Job of a queue.
    void take_into_queue(const std::string& name, unsigned gpus) {
        const auto job = api().get(resources::jobs(), key(name));
        ASSERT_TRUE(job);
        const Json whole = Json::parse(job->json);
        Json spec = whole["spec"]["template"]["spec"];
        spec["containers"][0]["resources"]["limits"] = {{resource_, std::to_string(gpus)}};
        // A node that nobody heartbeats is tainted; that is not what is tested.
        spec["tolerations"] = Json::array({{{"operator", "Exists"}}});
        Json metadata{{"name", "job-" + name},
                      {"labels", {{"kueue.x-k8s.io/job-uid", job->uid}}},
                      {"ownerReferences", Json::array({{{"apiVersion", "batch/v1"},
                                                        {"kind", "Job"},
                                                        {"name", name},
                                                        {"uid", job->uid},
                                                        {"controller", true}}})}};
        const auto annotations = whole["metadata"].value("annotations", Json::object());
        if (annotations.contains(cluster_jobs::kGatedBy))
            metadata["annotations"] = {
                {cluster_jobs::kGatedBy, annotations[cluster_jobs::kGatedBy]}};
        make(
            cluster_jobs::workloads(),
            Json{
                {"metadata", metadata},
                {"spec",
                 {{"active", true},
                  {"queueName", "vision"},
                  {"podSets",
                   Json::array({{{"name", "main"},
                                 {"count", 1},
                                 {"template", {{"metadata", Json::object()}, {"spec", spec}}}}})}}}}
                .dump());
    }
    void say_of(const std::string& name, const Json& status) {
        const auto done =
            api().patch(cluster_jobs::workloads(), key("job-" + name),
                        Json{{"status", status}}.dump(), {.write = {.subresource = "status"}});
        ASSERT_TRUE(done) << done.failure().message;
    }
    void reserve_quota(const std::string& name) {
        say_of(
            name,
            {{"conditions", Json::array({{{"type", "QuotaReserved"}, {"status", "True"}}})},
             {"admission",
              {{"clusterQueue", "vision"},
               {"podSetAssignments",
                Json::array(
                    {{{"name", "main"}, {"count", 1}, {"flavors", {{resource_, "any"}}}}})}}},
             {"admissionChecks", Json::array({{{"name", "aliquot-placement"}, {"state", "Pending"}},
                                              {{"name", "other"}, {"state", "Pending"}}})}});
    }
    Json check_of(const std::string& name, const std::string& check) {
        const auto found = api().get(cluster_jobs::workloads(), key("job-" + name));
        const Json whole = found ? Json::parse(found->json) : Json::object();
        for (const Json& one : whole.value("/status/admissionChecks"_json_pointer, Json::array()))
            if (one["name"] == check) return one;
        return Json::object();
    }
    std::string state_of(const std::string& name, const std::string& check = "aliquot-placement") {
        return check_of(name, check).value("state", std::string());
    }
    std::string annotation(const std::string& name, const char* which) {
        const auto job = api().get(resources::jobs(), key(name));
        if (!job) return {};
        return Json::parse(job->json)["metadata"]
            .value("annotations", Json::object())
            .value(which, std::string());
    }
    void set_job_status(const std::string& name, const char* condition) {
        const Json status{{"conditions", Json::array({{{"type", condition}, {"status", "True"}}})}};
        const auto done = api().patch(resources::jobs(), key(name), Json{{"status", status}}.dump(),
                                      {.write = {.subresource = "status"}});
        ASSERT_TRUE(done) << done.failure().message;
    }
    bool is_suspended(const std::string& name) {
        const auto job = api().get(resources::jobs(), key(name));
        return job && kube_client::bool_at(job->json, "/spec/suspend").value_or(false);
    }
    std::unique_ptr<ControllerProcess> start_jobs(std::vector<std::string> more = {}) {
        more.insert(more.begin(), "--jobs");
        return std::make_unique<ControllerProcess>(world_->kubeconfig(), space_, space_, more);
    }
    static constexpr char kQueues[] =
        "queues: [{name: vision, namespaces: [@], gpus: {any: 8}, "
        "check-placement: true}]";
    std::string queues() const {
        std::string text = kQueues;
        return text.replace(text.find('@'), 1, space_);
    }
};

TEST_P(JobsContract, AJobIsSubmittedStoppedAndMadeAnewUnderItsName) {
    ClusterJobs jobs(api(), space_);
    const auto made = jobs.submit(request("train"), "");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->is_new);
    EXPECT_EQ(made->job.user, "ada");
    EXPECT_EQ(made->job.gpus, 1U);
    const auto again = jobs.submit(request("train"), "");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->is_new);
    const auto other = jobs.submit(request("train", 2), "");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    EXPECT_THAT(other.error().message, HasSubstr("gpu_count"));
    EXPECT_EQ(jobs.submit(request("wrong", 3), "").error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(jobs.find("none").error().code, ErrorCode::kNotFound);

    const auto stopped = jobs.suspend("train");
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_EQ(stopped->state, State::kSuspended);
    EXPECT_TRUE(is_suspended("train"));
    const auto resumed = jobs.resume("train");
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_FALSE(is_suspended("train"));
    EXPECT_EQ(jobs.resume("train").error().code, ErrorCode::kConflict);

    EXPECT_EQ(jobs.remove("train").error().code, ErrorCode::kConflict);
    const auto cancelled = jobs.cancel("train");
    ASSERT_TRUE(cancelled) << cancelled.error().message;
    EXPECT_EQ(cancelled->state, State::kCancelled);
    EXPECT_EQ(jobs.cancel("train").error().code, ErrorCode::kConflict);
    const auto listed = jobs.list({.space = space_, .living = false});
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 1U);
    const std::string uid = listed->at(0).uid;
    const auto retried = jobs.retry("train");
    ASSERT_TRUE(retried) << retried.error().message;
    EXPECT_EQ(retried->attempt, 2U);
    EXPECT_NE(retried->uid, uid);
    EXPECT_EQ(retried->state, State::kStarting);
    EXPECT_EQ(jobs.submit(request("train"), "")->is_new, false);
    ASSERT_TRUE(jobs.cancel("train"));
    ASSERT_TRUE(jobs.remove("train"));
    EXPECT_TRUE(becomes_true([&] { return !jobs.find("train"); }));
}

TEST_P(JobsContract, AnAdmissionCheckIsAnsweredByTheBooksOfTheGpus) {
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

TEST_P(JobsContract, ACheckIsAnsweredWithYesWhereNobodyKeepsBooks) {
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

TEST_P(JobsContract, AGateIsOpenedForAJobThatDelaysNobodyAndTheOthersAreToldWhen) {
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

TEST_P(JobsContract, AJobThatComesAfterAnotherStartsWhenThatHasSucceeded) {
    ClusterJobs jobs(api(), space_);
    ASSERT_TRUE(jobs.submit(request("prepare"), ""));
    ASSERT_TRUE(jobs.submit(request("fails"), ""));
    for (const auto& [name, before] :
         {std::pair("train", "prepare"), std::pair("never", "fails")}) {
        auto asked = request(name);
        asked.after = {before};
        const auto made = jobs.submit(asked, "");
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->job.reason, std::string("waits for ") + before);
    }
    const auto controller = start_jobs();
    set_job_status("fails", "Failed");
    ASSERT_TRUE(becomes_true([&] { return jobs.find("never")->state == State::kCancelled; }))
        << controller->said();
    EXPECT_TRUE(is_suspended("train"));
    set_job_status("prepare", "Complete");
    EXPECT_TRUE(becomes_true([&] { return !is_suspended("train"); })) << controller->said();
    EXPECT_TRUE(is_suspended("never"));
}

INSTANTIATE_TEST_SUITE_P(Api, JobsContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
