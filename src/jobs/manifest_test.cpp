// SPDX-License-Identifier: Apache-2.0
#include "jobs/manifest.h"

#include <gtest/gtest.h>

#include <set>

#include "catalog/gpu_models.h"
#include "document/json.h"
#include "document/path.h"
#include "document/write.h"
#include "document/yaml.h"
#include "jobs/read.h"
#include "k8s/taint.h"
#include "tests/case_files.h"

namespace aliquot::jobs {
namespace {

using document::Value;

Value job_of(const Request& request) {
    auto made = job_manifest(request);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : Value{};
}

const Value* pod_spec_of(const Value& job) {
    return document::at_path(job, {"spec", "template", "spec"});
}

const Value& container_of(const Value& job) {
    return document::items_at(pod_spec_of(job), {"containers"}).at(0);
}

std::string variable(const Value& job, const std::string& name) {
    std::string found;
    for (const Value& one : document::items_at(container_of(job), {"env"})) {
        if (document::text_at(one, {"name"}) == name) found = document::text_at(one, {"value"});
    }
    return found;
}

/// The first path at which `part` has something that `whole` has not; empty: there is none.
std::string missing(const Value& part, const Value& whole, const std::string& path) {
    if (part.is_mapping()) {
        for (const auto& entry : part.entries) {
            const Value* const found = whole.find(entry.first.scalar);
            const std::string below = path + "." + entry.first.scalar;
            if (found == nullptr) return below;
            if (auto gap = missing(entry.second, *found, below); !gap.empty()) return gap;
        }
        return "";
    }
    if (part.is_sequence()) {
        if (part.items.size() != whole.items.size()) return path + " has another length";
        for (std::size_t i = 0; i < part.items.size(); ++i) {
            auto gap = missing(part.items[i], whole.items[i], path + "[" + std::to_string(i) + "]");
            if (!gap.empty()) return gap;
        }
        return "";
    }
    return part.scalar == whole.scalar ? "" : path + ": " + part.scalar + " is " + whole.scalar;
}

/// Every path of `whole` that `part` has not.
void collect_extra(const Value& whole, const Value* part, const std::string& path,
                   std::set<std::string>& extra) {
    if (part == nullptr) {
        extra.insert(path);
        return;
    }
    for (const auto& entry : whole.entries) {
        collect_extra(entry.second, part->find(entry.first.scalar), path + "." + entry.first.scalar,
                      extra);
    }
    for (std::size_t i = 0; i < whole.items.size(); ++i) {
        collect_extra(whole.items[i], i < part->items.size() ? &part->items[i] : nullptr,
                      path + "[]", extra);
    }
}

class Cases : public testing::TestWithParam<std::filesystem::path> {};

// R1, R2, R3, R8, R9, R11, R12, R14, R18, R25, R26, R30.
TEST_P(Cases, BecomesTheJobOfItsFile) {
    const auto request = read(cases::read(GetParam()));
    ASSERT_TRUE(request) << request.error().message;
    const std::string text = document::to_yaml(job_of(*request));
    auto file = GetParam();
    file.replace_extension(".yaml");
    if (cases::rewrites(file, text)) return;
    EXPECT_EQ(text, cases::read(file));
    EXPECT_EQ(document::to_json_line(document::parse_yaml(text).documents.at(0)),
              document::to_json_line(job_of(*request)));
}

INSTANTIATE_TEST_SUITE_P(Jobs, Cases,
                         testing::ValuesIn(cases::files({"src/jobs/cases"}, ".request")),
                         [](const auto& one) { return cases::name(one.param); });

// R10, R11, R14.
TEST(JobManifest, HasEveryFieldOfTheCompleteExampleAndOnlyKnownOnesBesides) {
    const std::filesystem::path folder = ALIQUOT_SOURCE_DIR "/src/jobs/cases";
    const auto request = read(cases::read(folder / "complete.request"));
    ASSERT_TRUE(request);
    const auto example = document::parse_yaml(cases::read(folder / "complete.expected"));
    ASSERT_TRUE(example.errors.empty());
    const Value job = job_of(*request);
    EXPECT_EQ(missing(example.documents[0], job, ""), "");
    std::set<std::string> extra;
    collect_extra(job, example.documents.data(), "", extra);
    EXPECT_EQ(extra,
              (std::set<std::string>{".metadata.annotations", ".metadata.labels",
                                     ".spec.activeDeadlineSeconds", ".spec.template.metadata"}));
}

// R15, R16, R17, R21.
TEST(JobManifest, AlwaysHasLimitsADeadlineATimeToLiveAndARestartPolicy) {
    for (const catalog::GpuModel& model : catalog::gpu_models()) {
        const Value job = job_of({.name = "j", .image = "i", .gpu_type = std::string(model.key)});
        const Value* const limits = document::at_path(container_of(job), {"resources", "limits"});
        ASSERT_NE(limits, nullptr) << model.key;
        for (const char* key : {"cpu", "memory", "nvidia.com/gpu"}) {
            EXPECT_NE(limits->find(key), nullptr) << model.key << " " << key;
        }
        EXPECT_EQ(document::text_at(container_of(job), {"resources", "requests", "nvidia.com/gpu"}),
                  document::text_of(limits->find("nvidia.com/gpu")));
        EXPECT_EQ(document::text_at(job, {"spec", "activeDeadlineSeconds"}), "86400");
        EXPECT_EQ(document::text_at(job, {"spec", "ttlSecondsAfterFinished"}), "3600");
        EXPECT_EQ(document::text_at(pod_spec_of(job), {"restartPolicy"}), "OnFailure");
    }
}

// R6.
TEST(JobManifest, ShowsAProgramAsManyDevicesAsItHas) {
    for (const auto& [count, list] : {std::pair<std::uint32_t, const char*>{1, "0"},
                                      {2, "0,1"},
                                      {4, "0,1,2,3"},
                                      {8, "0,1,2,3,4,5,6,7"}}) {
        const Value job = job_of({.name = "j", .image = "i", .gpu_count = count});
        EXPECT_EQ(variable(job, "CUDA_VISIBLE_DEVICES"), list);
    }
    EXPECT_EQ(variable(job_of({.name = "j", .image = "i", .gpu_resource = "nvidia.com/mig-1g.5gb"}),
                       "CUDA_VISIBLE_DEVICES"),
              "0");
}

// R13, R26.
TEST(JobManifest, TakesTheLastValueOfAVariableAndWritesEachNameOnce) {
    const Value job = job_of({.task_id = "t",
                              .image = "i",
                              .env = {{"A", "1"}, {"TASK_ID", "mine"}, {"A", "2"}, {"B", "3"}}});
    std::vector<std::string> names;
    for (const Value& one : document::items_at(container_of(job), {"env"})) {
        names.push_back(document::text_at(one, {"name"}));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"WORKER_TYPE", "TASK_ID", "CUDA_VISIBLE_DEVICES",
                                               "A", "B"}));
    EXPECT_EQ(variable(job, "A"), "2");
    EXPECT_EQ(variable(job, "TASK_ID"), "mine");
    EXPECT_EQ(variable(job, "WORKER_TYPE"), "gpu");
}

// R19.
TEST(JobManifest, IsToleratedByNodesWithTheTaintOfGpus) {
    const auto tolerations = [](const Value& job) {
        return k8s::read_tolerations(document::at_path(pod_spec_of(job), {"tolerations"}));
    };
    const k8s::Taint usual{.key = "nvidia.com/gpu", .value = "true", .effect = "NoSchedule"};
    const k8s::Taint named{.key = "nvidia.com/gpu", .value = "t4", .effect = "NoSchedule"};
    const auto equal = tolerations(job_of({.name = "j", .image = "i"}));
    const auto exists = tolerations(job_of({.name = "j", .image = "i", .toleration = "Exists"}));
    EXPECT_TRUE(k8s::tolerates(equal, usual));
    EXPECT_FALSE(k8s::tolerates(equal, named));
    EXPECT_TRUE(k8s::tolerates(exists, usual));
    EXPECT_TRUE(k8s::tolerates(exists, named));
}

// R28.
TEST(JobManifest, IsSuspendedWhereAQueueDecidesWhenItStarts) {
    const auto suspended = [](const Request& request) {
        return document::is_true(document::at_path(job_of(request), {"spec", "suspend"}));
    };
    EXPECT_FALSE(suspended({.name = "j", .image = "i"}));
    EXPECT_TRUE(suspended({.name = "j", .image = "i", .queue = "research"}));
    EXPECT_FALSE(suspended({.name = "j", .image = "i", .queue = "research", .no_queue = true}));
}

TEST(JobManifest, TellsValuesOfVariablesInTheContainerAlone) {
    const Value job = job_of({.name = "j", .image = "i", .env = {{"TOKEN", "s3cret"}}});
    EXPECT_EQ(variable(job, "TOKEN"), "s3cret");
    EXPECT_EQ(document::to_json(*job.find("metadata")).find("s3cret"), std::string::npos);
}

// R27.
TEST(JobManifest, IsNotMadeOfAWrongRequest) {
    const auto made = job_manifest({.name = "j", .gpu_count = 3});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(made.error().message.find("image: "), std::string::npos) << made.error().message;
    EXPECT_NE(made.error().message.find("gpu_count: 3"), std::string::npos);
}

TEST(JobManifest, OfAShareByItsSizeSaysItOnThePodAndAsksForNoResource) {
    const Value job = job_of(
        {.name = "j", .image = "i", .gpu_type = "a100", .gpu_memory = "8Gi", .gpu_compute = 50});
    const auto said = [&](const char* name) {
        return document::text_at(job, {"spec", "template", "metadata", "annotations", name});
    };
    EXPECT_EQ(said("aliquot.dev/gpu-memory"), "8Gi");
    EXPECT_EQ(said("aliquot.dev/gpu-compute"), "50");
    EXPECT_EQ(said("aliquot.dev/gpu-type"), "a100");
    EXPECT_EQ(document::text_at(container_of(job), {"resources", "limits", "nvidia.com/gpu"}), "");
    EXPECT_NE(document::text_at(container_of(job), {"resources", "limits", "memory"}), "");
}

TEST(JobManifest, OfAGangIsIndexedAndTellsItsMembersApart) {
    const Value job = job_of({.name = "j", .image = "i", .gang = 4});
    EXPECT_EQ(document::text_at(job, {"spec", "completionMode"}), "Indexed");
    EXPECT_EQ(document::text_at(job, {"spec", "completions"}), "4");
    EXPECT_EQ(document::text_at(job, {"spec", "parallelism"}), "4");
    EXPECT_EQ(variable(job, "WORLD_SIZE"), "4");
    EXPECT_EQ(variable(job, "MASTER_ADDR"), "j-0.j");
    EXPECT_EQ(document::text_at(pod_spec_of(job), {"subdomain"}), "j");
    // An array's pods start when they can: placement is told that they are no gang.
    const Value array = job_of({.name = "j", .image = "i", .queue = "q", .array = 4});
    EXPECT_EQ(
        document::text_at(array, {"spec", "template", "metadata", "labels", "aliquot.dev/gang"}),
        "none");
    EXPECT_EQ(
        document::text_at(array, {"metadata", "annotations", "kueue.x-k8s.io/job-min-parallelism"}),
        "1");
}

TEST(JobManifest, OfAJobAfterOthersWaitsForThem) {
    const Value alone = job_of({.name = "j", .image = "i", .after = {"a", "b"}});
    EXPECT_EQ(document::text_at(alone, {"spec", "suspend"}), "true");
    EXPECT_EQ(document::text_at(alone, {"metadata", "annotations", "aliquot.dev/after"}), "a,b");
    const Value queued = job_of({.name = "j", .image = "i", .queue = "q", .after = {"a"}});
    EXPECT_EQ(
        document::text_at(queued, {"metadata", "annotations", "kueue.x-k8s.io/admission-gated-by"}),
        "aliquot.dev/jobs");
}

}  // namespace
}  // namespace aliquot::jobs
