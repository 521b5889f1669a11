// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cluster_jobs/cluster_jobs.h"
#include "cluster_jobs/sight.h"
#include "document/json.h"
#include "document/path.h"
#include "jobs/manifest.h"

namespace aliquot::cluster_jobs {
namespace {

using document::text_at;
using document::Value;
using jobs::Cause;
using jobs::State;

Value parsed(const std::string& text) {
    auto value = document::parse_json(text);
    EXPECT_TRUE(value) << text;
    return value ? *std::move(value) : Value{};
}

std::string job_text(const std::string& spec, const std::string& status,
                     const std::string& annotations = "",
                     const std::string& labels = R"("aliquot.dev/user":"ada")") {
    return R"({"metadata":{"name":"train","namespace":"lab","uid":"u1","annotations":{)" +
           annotations + R"(},"labels":{)" + labels +
           R"(},"creationTimestamp":"2026-01-01T10:00:00Z"},"spec":{)" + spec +
           R"(,"template":{"spec":{"containers":[{"name":"worker","resources":{"limits":)"
           R"({"nvidia.com/gpu":"2"}}}]}}},"status":{)" +
           status + "}}";
}

constexpr char kQueued[] = R"("kueue.x-k8s.io/queue-name":"vision")";

struct Case {
    const char* what;
    std::string job;
    std::string workload;
    std::string pod;
    State state;
    const char* reason;
};

// R76.
TEST(ClusterJob, StandsWhereItsJobItsWorkloadAndItsPodsSay) {
    const auto condition = [](const std::string& type, const std::string& status,
                              const std::string& message) {
        return R"({"type":")" + type + R"(","status":")" + status + R"(","message":")" + message +
               R"("})";
    };
    const auto workload = [&](const std::string& conditions, const std::string& more = "") {
        return R"({"metadata":{"name":"w"},"spec":{"active":true},"status":{"conditions":[)" +
               conditions + "]" + more + "}}";
    };
    const std::string suspended = job_text(R"("suspend":true)", "", "", kQueued);
    const std::string runs = job_text(R"("suspend":false)", R"("active":1)");
    const std::string gated =
        R"({"type":"QuotaReserved","status":"False","reason":"AdmissionGated","message":"gated by x"})";
    const auto gated_job = [&](const std::string& gate, const std::string& more = "") {
        return job_text(R"("suspend":true)", "",
                        R"("kueue.x-k8s.io/admission-gated-by":"aliquot.dev/)" + gate + "\"" + more,
                        kQueued);
    };
    const Case cases[] = {
        {"after another", gated_job("jobs", R"(,"aliquot.dev/after":"prepare")"), workload(gated),
         "", State::kQueued, "waits for prepare"},
        {"held by the planner", gated_job("planner"), workload(gated), "", State::kQueued,
         "waits until it delays none of the jobs ahead"},
        {"held by the planner, which says why",
         gated_job("planner", R"(,"aliquot.dev/eta":"{\"why\":\"too few GPUs are free\"}")"),
         workload(gated), "", State::kQueued, "too few GPUs are free"},
        {"held by others", suspended, workload(gated), "", State::kQueued, "gated by x"},
        {"Kueue has not seen it", suspended, "", "", State::kQueued,
         "waits for Kueue to take it into queue vision"},
        {"no quota", suspended, workload(condition("QuotaReserved", "False", "insufficient quota")),
         "", State::kQueued, "insufficient quota"},
        {"quota, and a check that waits", suspended,
         workload(condition("QuotaReserved", "True", ""),
                  R"(,"admissionChecks":[{"name":"place","state":"Pending","message":"no room"}])"),
         "", State::kReserving, "place: no room"},
        {"evicted", suspended,
         workload(condition("QuotaReserved", "False", "") + "," +
                  condition("Evicted", "True", "preempted by w2")),
         "", State::kRequeued, "preempted by w2"},
        {"no pod yet", runs, "", "", State::kStarting, ""},
        {"gated", runs, "",
         R"({"spec":{"schedulingGates":[{"name":"g"}]},"status":{"phase":"Pending"}})",
         State::kQueued, "waits for room on a GPU"},
        {"no node", runs, "",
         R"({"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",)"
         R"("reason":"Unschedulable","message":"0/3 nodes"}]}})",
         State::kProvisioning, "0/3 nodes"},
        {"on a node", runs, "",
         R"({"spec":{"nodeName":"n1"},"status":{"phase":"Pending","containerStatuses":)"
         R"([{"state":{"waiting":{"reason":"ErrImagePull"}}}]}})",
         State::kStarting, "ErrImagePull"},
        {"runs", runs, "", R"({"spec":{"nodeName":"n1"},"status":{"phase":"Running"}})",
         State::kRunning, ""},
        {"runs idle",
         job_text(R"("suspend":false)", R"("active":1)",
                  R"("aliquot.dev/idle":"{\"since\":\"t\",\"told\":\"u\"}")"),
         "", R"({"spec":{"nodeName":"n1"},"status":{"phase":"Running"}})", State::kRunning,
         "its GPUs are idle since t"},
        {"ended idle",
         job_text(R"("suspend":true)", "",
                  R"("aliquot.dev/cancelled":"t","aliquot.dev/ended-idle":"idle for 40m")"),
         "", "", State::kCancelled, "idle for 40m"},
        {"suspended, pods there", job_text(R"("suspend":true)", R"("active":1)"), "", "",
         State::kSuspending, "is being stopped"},
        {"suspended", job_text(R"("suspend":true)", "", R"("aliquot.dev/suspended":"t")"), "", "",
         State::kSuspended, "is suspended: aliquot job resume train"},
        {"cancelled", job_text(R"("suspend":true)", "", R"("aliquot.dev/cancelled":"t")"), "", "",
         State::kCancelled, "was cancelled"},
        {"comes after", job_text(R"("suspend":true)", "", R"("aliquot.dev/after":"prepare")"), "",
         "", State::kQueued, "waits for prepare"},
        {"done",
         job_text(R"("suspend":false)", R"("conditions":[{"type":"Complete","status":"True"}])"),
         "", "", State::kSucceeded, ""},
        {"too long",
         job_text(R"("suspend":false)", R"("conditions":[{"type":"Failed","status":"True",)"
                                        R"("reason":"DeadlineExceeded","message":"too long"}])"),
         "", "", State::kExpired, "too long"},
    };
    for (const Case& one : cases) {
        const Value job = parsed(one.job);
        const Value of_kueue = one.workload.empty() ? Value{} : parsed(one.workload);
        const Value pod = one.pod.empty() ? Value{} : parsed(one.pod);
        const JobSight sight =
            read_job(job, one.workload.empty() ? nullptr : &of_kueue,
                     one.pod.empty() ? std::vector<const Value*>{} : std::vector{&pod});
        EXPECT_EQ(jobs::word(sight.state), jobs::word(one.state)) << one.what;
        EXPECT_EQ(sight.reason, one.reason) << one.what;
        EXPECT_EQ(sight.gpus, 2U) << one.what;
    }
}

TEST(ClusterJob, TellsWhyItFailedByItsPods) {
    const Value job = parsed(job_text(
        R"("suspend":false)",
        R"("conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}])"));
    const Value pod =
        parsed(R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":)"
               R"({"exitCode":137,"reason":"OOMKilled"}}}]}})");
    const JobSight sight = read_job(job, nullptr, {&pod});
    EXPECT_EQ(sight.state, State::kFailed);
    EXPECT_EQ(sight.cause, Cause::kOutOfMemory);
    EXPECT_EQ(sight.exit_code, 137);
    EXPECT_EQ(text_at(to_document(sight), {"cause"}), "out-of-memory");
}

TEST(ClusterJob, IsExplainedWithWhatThePlannerForesees) {
    const Value job =
        parsed(job_text(R"("suspend":true)", "",
                        R"("aliquot.dev/eta":"{\"position\":3,\"p50\":\"2026-01-01T11:00:00Z\",)"
                        R"(\"p90\":\"2026-01-01T12:00:00Z\",\"smaller\":\"--gpu 1\"}")",
                        kQueued));
    const Value other = parsed(job_text(R"("suspend":false)", R"("active":1)"));
    JobSight holder = read_job(other, nullptr, {});
    holder.uid = "u2";
    holder.name = "holder";
    holder.state = State::kRunning;
    const Value why = to_explanation(read_job(job, nullptr, {}), {holder});
    EXPECT_EQ(text_at(why, {"position"}), "3");
    EXPECT_EQ(text_at(why, {"likelyStart"}), "2026-01-01T11:00:00Z");
    EXPECT_EQ(text_at(why, {"latestStart"}), "2026-01-01T12:00:00Z");
    EXPECT_EQ(text_at(why, {"smaller"}), "--gpu 1");
    EXPECT_EQ(text_at(why, "holders.0.id"), "holder");
}

TEST(ClusterJob, IsMadeAnewWithoutWhatOthersWroteOnIt) {
    jobs::Request request;
    request.name = "train";
    request.image = "trainer:1";
    request.queue = "vision";
    auto job = jobs::job_manifest(request);
    ASSERT_TRUE(job) << job.error().message;
    std::string text = document::to_json_line(*job);
    const std::string labels = R"("labels":{)";
    for (auto at = text.find(labels); at != std::string::npos; at = text.find(labels, at + 1))
        text.insert(at + labels.size(), R"("batch.kubernetes.io/controller-uid":"x",)");
    const Value again = as_submitted(parsed(text), 2);
    const std::string made = document::to_json_line(again);
    EXPECT_FALSE(made.contains("controller-uid")) << made;
    EXPECT_EQ(text_at(again, {"metadata", "annotations", kAttemptAnnotation}), "2");
    EXPECT_EQ(text_at(again, {"spec", "suspend"}), "true");
    EXPECT_EQ(text_at(again, {"metadata", "labels", kQueueLabel}), "vision");
}

}  // namespace
}  // namespace aliquot::cluster_jobs
