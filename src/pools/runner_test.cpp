// SPDX-License-Identifier: Apache-2.0
#include "pools/runner.h"

#include <gtest/gtest.h>

#include <set>

#include "document/path.h"
#include "document/yaml.h"
#include "pools/read.h"

namespace aliquot::pools {
namespace {

using document::text_at;

Pool pool(const std::string& type) {
    const auto read = read_pools(
        "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: ci}\nspec: {max: 10, "
        "instances: [" +
        type + "], node: {taints: [\"nvidia.com/gpu=true:NoSchedule\"]}}\n");
    return read.pools.at(0);
}
RunnerOptions options() {
    RunnerOptions made;
    made.config_url = "https://github.com/pytorch/pytorch";
    made.cache_claim = "ccache";
    return made;
}
document::Value job_template(const RunnerFiles& files) {
    return document::parse_yaml(
               document::text_of(files.objects.at(0).find("data")->find("job.yaml")))
        .documents.at(0);
}

// R96.
TEST(RunnerValues, GiveTheGpuToTheJobsPodAndNoneToTheRunner) {
    const auto files = runner_files(pool("g4dn.2xlarge"), options());
    ASSERT_TRUE(files) << files.error().message;
    const auto& runner = *document::at_path(files->values, "template.spec.containers.0");
    EXPECT_EQ(text_at(runner, "name"), "runner");
    EXPECT_EQ(document::at_path(runner, "resources.limits[nvidia.com/gpu]"), nullptr);
    EXPECT_EQ(text_at(runner, "resources.requests.cpu"), "200m");
    EXPECT_EQ(text_at(runner, "resources.requests.memory"), "512Mi");
    EXPECT_EQ(text_at(files->values, "containerMode.type"), "kubernetes-novolume");
    const auto job = job_template(*files);
    EXPECT_EQ(text_at(job, "spec.containers.0.name"), "$job");
    EXPECT_EQ(text_at(job, "spec.containers.0.resources.limits[nvidia.com/gpu]"), "1");
    EXPECT_EQ(text_at(job, "spec.nodeSelector[aliquot.dev/pool]"), "ci");
}

// R91.
TEST(RunnerValues, HaveTheSizesAndTheTolerationOfAJob) {
    const auto files = runner_files(pool("g4dn.2xlarge"), options());
    const auto job = job_template(*files);
    const auto& resources = *document::at_path(job, "spec.containers.0.resources");
    EXPECT_EQ(text_at(resources, "limits.cpu"), "8");
    EXPECT_EQ(text_at(resources, "limits.memory"), "32Gi");
    EXPECT_EQ(text_at(resources, "requests.cpu"), "4");
    EXPECT_EQ(text_at(resources, "requests.memory"), "16Gi");
    EXPECT_EQ(text_at(job, "spec.tolerations.0.key"), "nvidia.com/gpu");
    EXPECT_EQ(text_at(job, "spec.tolerations.0.operator"), "Equal");
    EXPECT_EQ(text_at(job, "spec.tolerations.0.value"), "true");
    EXPECT_TRUE(files->warnings.empty());
    // A g4dn.xlarge keeps 80 thousandths of its four CPUs for itself.
    const auto small = runner_files(pool("g4dn.xlarge"), options());
    ASSERT_FALSE(small->warnings.empty());
    EXPECT_NE(small->warnings[0].find("a job requests 4 of cpu"), std::string::npos);
}

// R89, R92.
TEST(RunnerValues, HaveFromZeroToTenRunners) {
    const auto files = runner_files(pool("g4dn.2xlarge"), options());
    EXPECT_EQ(text_at(files->values, "minRunners"), "0");
    EXPECT_EQ(text_at(files->values, "maxRunners"), "10");
    auto wrong = options();
    wrong.min_runners = 11;
    EXPECT_FALSE(runner_files(pool("g4dn.2xlarge"), wrong));
    wrong = options();
    wrong.name = std::string(46, 'a');
    EXPECT_FALSE(runner_files(pool("g4dn.2xlarge"), wrong));
    wrong = options();
    wrong.config_url = "git@github.com:a/b";
    EXPECT_FALSE(runner_files(pool("g4dn.2xlarge"), wrong));
}

// R95.
TEST(RunnerValues, KeepCompilersResultsOnAVolume) {
    const auto files = runner_files(pool("g4dn.2xlarge"), options());
    const auto job = job_template(*files);
    EXPECT_EQ(text_at(job, "spec.containers.0.env.0.name"), "CCACHE_DIR");
    EXPECT_EQ(text_at(job, "spec.containers.0.env.1.value"), "10G");
    EXPECT_EQ(text_at(job, "spec.containers.0.env.3.name"), "GIT_CACHE_DIR");
    EXPECT_EQ(text_at(job, "spec.volumes.0.persistentVolumeClaim.claimName"), "ccache");
    EXPECT_EQ(text_at(files->objects.at(1), "spec.resources.requests.storage"), "10Gi");
}

// R98.
TEST(RunnerValues, LetNobodyDisruptAJob) {
    const auto job = job_template(*runner_files(pool("g4dn.2xlarge"), options()));
    EXPECT_EQ(text_at(job, "metadata.annotations[karpenter.sh/do-not-disrupt]"), "true");
    EXPECT_EQ(text_at(job, "metadata.annotations[cluster-autoscaler.kubernetes.io/safe-to-evict]"),
              "false");
}

// The container hooks make fs-init an init container of the pod of a job, and a template's list would take its place.
TEST(RunnerValues, PutNoInitContainersIntoThePodOfAJob) {
    const auto job = job_template(*runner_files(pool("g4dn.2xlarge"), options()));
    EXPECT_EQ(document::at_path(job, "spec.initContainers"), nullptr);
    auto gated = options();
    gated.gate_image = "ghcr.io/aliquot/aliquot:0.1.0";
    const auto no = runner_files(pool("g4dn.2xlarge"), gated);
    ASSERT_FALSE(no);
    EXPECT_NE(no.error().message.find("aliquot gate watch"), std::string::npos);
}

TEST(RunnerValues, OfARunnerThatHoldsTheGpuCheckItBeforeTheRunnerRegisters) {
    auto holding = options();
    holding.runner_holds_gpu = true;
    holding.gate_image = "ghcr.io/aliquot/aliquot:0.1.0";
    const auto files = runner_files(pool("g4dn.2xlarge"), holding);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(document::at_path(files->values, "containerMode"), nullptr);
    const auto& spec = *document::at_path(files->values, "template.spec");
    EXPECT_EQ(text_at(spec, "containers.0.name"), "runner");
    EXPECT_EQ(text_at(spec, "containers.0.resources.limits[nvidia.com/gpu]"), "1");
    EXPECT_EQ(text_at(spec, "initContainers.0.command.2"), "before");
    EXPECT_EQ(text_at(spec, "initContainers.0.resources.limits[nvidia.com/gpu]"), "1");
    EXPECT_EQ(text_at(spec, "tolerations.0.key"), "nvidia.com/gpu");
    EXPECT_TRUE(files->warnings.empty());
    holding.min_runners = 2;
    EXPECT_NE(runner_files(pool("g4dn.2xlarge"), holding)->warnings.at(0).find("2 GPUs without"),
              std::string::npos);
}

// Helm passes over a key that a chart does not know, and nobody is told.
// source   the chart gha-runner-scale-set 0.14.2: values.yaml, and what its templates read besides
TEST(RunnerValues, HaveOnlyKeysThatTheChartReads) {
    const std::set<std::string> known{
        "githubConfigUrl", "githubConfigSecret", "scaleSetLabels", "proxy",
        "maxRunners",      "minRunners",         "runnerGroup",    "runnerScaleSetName",
        "containerMode",   "listenerTemplate",   "template",       "listenerMetrics"};
    auto holding = options();
    holding.runner_holds_gpu = true;
    for (const RunnerOptions& some : {options(), holding}) {
        const auto files = runner_files(pool("g4dn.2xlarge"), some);
        ASSERT_TRUE(files) << files.error().message;
        for (const auto& [key, value] : files->values.entries) {
            EXPECT_TRUE(known.contains(key.scalar)) << key.scalar;
        }
        for (const auto& [key, value] : document::at_path(files->values, "template")->entries) {
            EXPECT_TRUE(key.scalar == "spec" || key.scalar == "metadata") << key.scalar;
        }
    }
}

// R90.
TEST(RunnerOptions, HaveTheLabelsOfAGpuRunner) {
    EXPECT_EQ(RunnerOptions{}.labels,
              (std::vector<std::string>{"self-hosted", "linux", "x64", "gpu", "cuda"}));
}

// R97.
TEST(RunnerWorkflow, ShowsDriverCompilerDeviceAndAProductOfMatrices) {
    const std::string text =
        test_workflow({"self-hosted", "gpu"}, "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel");
    const auto read = document::parse_yaml(text);
    ASSERT_TRUE(read.errors.empty());
    for (const char* const part : {"nvidia-smi", "nvcc --version", "get_device_name(0)",
                                   "get_device_capability(0)", "randn(1000, 1000"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(text_at(read.documents.at(0), "jobs.gpu.runs-on.1"), "gpu");
}

TEST(RunnerExplain, NamesTheFirstCause) {
    RunnerFigures now{.assigned = 3, .running = 3, .max_runners = 10};
    EXPECT_EQ(explain_waiting(now).at(0), "no job waits for a runner");
    now.running = 1;
    now.listens = false;
    EXPECT_EQ(explain_waiting(now).at(0).find("no listener runs"), 0U);
    now.listens = true;
    now.pods_pending = 2;
    now.pending_reason = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu";
    now.nodes = now.nodes_at_most = 3;
    EXPECT_EQ(
        explain_waiting(now),
        (std::vector<std::string>{
            "2 job pods without a node: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu",
            "the pool has its 3 nodes: max is reached"}));
    now.nodes_starting = 1;
    EXPECT_EQ(explain_waiting(now).at(1), "1 node of the pool starts");
}

}  // namespace
}  // namespace aliquot::pools
