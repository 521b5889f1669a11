// SPDX-License-Identifier: Apache-2.0
#include "plan/workload.h"

#include <gtest/gtest.h>

namespace aliquot::plan {
namespace {

std::string error(std::string_view text) {
    const auto workloads = read_workloads("w.yaml", text);
    return workloads ? std::string() : workloads.error().message;
}

TEST(Workloads, AreReadWithEveryKey) {
    const auto workloads = read_workloads("w.yaml", R"(workloads:
- name: tts
  kind: inference
  replicas: 2
  memory: 2Gi
  rps: 2
  ms: 100
  latency_ms: 500
  bursty: true
  tenant: home
  isolation: memory
  features: [graphs]
  cpu: 500m
  host_memory: 4Gi
  cpu_seconds: 4
  gpu_seconds: 0.8
- {name: llm, model: llama-3-8b, quant: int4, ctx: 8192, batch: 4}
- {name: stt, image: fedirz/faster-whisper-server:latest-cuda}
- {name: probe, memory: 1.5, measured: true, duty: 30%}
)");
    ASSERT_TRUE(workloads) << workloads.error().message;
    const Workload& tts = (*workloads)[0];
    EXPECT_EQ(tts.memory_gib, 2);
    EXPECT_EQ(tts.duty_percent, 20);
    EXPECT_EQ(tts.memory_certainty, Certainty::kDeclared);
    EXPECT_EQ(tts.cpu, 0.5);
    EXPECT_EQ(tts.host_memory_mib, 4096);
    EXPECT_TRUE(tts.uses("graphs"));
    EXPECT_NEAR((*workloads)[1].memory_gib, 11.41, 0.05);
    EXPECT_EQ((*workloads)[2].memory_gib, 4);
    EXPECT_EQ((*workloads)[2].memory_certainty, Certainty::kGuessed);
    EXPECT_EQ((*workloads)[3].memory_certainty, Certainty::kMeasured);
    EXPECT_EQ((*workloads)[3].duty_percent, 30);
}

TEST(Workloads, WithMistakesAreRefusedWithTheirPlace) {
    EXPECT_EQ(error("- name: a\n  memroy: 2Gi\n"),
              "w.yaml:2:3: 'memroy' is not a key of a workload, did you mean 'memory'?");
    EXPECT_EQ(error("- memory: 2Gi\n"), "w.yaml:1:3: a workload needs a 'name'");
    EXPECT_EQ(error("- {name: a, replicas: 0}\n"),
              "w.yaml:1:23: 'replicas': a number of 1 to 1000 is expected, the number 0 found");
    EXPECT_NE(error("- {name: a, kind: trainning}\n").find("did you mean 'training'?"),
              std::string::npos);
    EXPECT_NE(error("- {name: a, memory: 2Q}\n").find("an amount such as 2Gi"), std::string::npos);
    EXPECT_NE(error("- {name: a}\n- {name: a}\n").find("w.yaml:2:3: the name 'a' stands twice"),
              std::string::npos);
    EXPECT_NE(error("- {name: a, name: b}\n").find("stands twice"), std::string::npos);
    EXPECT_NE(error("- {name: a, model: lama-3}\n").find("w.yaml:1:20: model 'lama-3'"),
              std::string::npos);
    EXPECT_NE(error("- {name: a, model: llama-3-8b, quant: int3}\n").find("'quant'"),
              std::string::npos);
    EXPECT_NE(error("").find("a list of workloads is expected"), std::string::npos);
    EXPECT_NE(error("jobs: []\n").find("only 'workloads' is expected"), std::string::npos);
    EXPECT_NE(error("- [a\n").find("w.yaml:"), std::string::npos);
    EXPECT_NE(error("- name: a\n  duty: 120\n").find("0 to 100"), std::string::npos);
}

TEST(Workloads, AreFoundInManifests) {
    const auto workloads = workloads_of_manifests("m.yaml", R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: kokoro}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: kokoro
        image: ghcr.io/remsky/kokoro-fastapi-gpu:v0.2.2
        resources:
          requests: {cpu: "1", memory: 4Gi}
          limits: {nvidia.com/gpu: 1}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      containers:
      - name: train
        image: example.org/own:1
        resources: {limits: {nvidia.com/gpu: 4}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: photos}
spec: {template: {spec: {containers: [{name: ml, image: "ghcr.io/immich-app/immich-machine-learning:v1"}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: "nginx:1"}]}}}
)");
    ASSERT_TRUE(workloads) << workloads.error().message;
    ASSERT_EQ(workloads->size(), 3U);
    EXPECT_EQ((*workloads)[0].name, "kokoro");
    EXPECT_EQ((*workloads)[0].replicas, 2U);
    EXPECT_EQ((*workloads)[0].memory_gib, 2);
    EXPECT_EQ((*workloads)[0].cpu, 1);
    EXPECT_TRUE((*workloads)[0].bursty);
    EXPECT_EQ((*workloads)[1].gpus, 4U);
    EXPECT_EQ((*workloads)[1].kind, Kind::kTraining);
    EXPECT_EQ((*workloads)[2].kind,
              Kind::kBatch);  // a word of the table that no copy of its reader knew
    EXPECT_FALSE(workloads_of_manifests("m.yaml", "a: [\n"));
}

TEST(Workloads, AreReadInTheUnitsThatPeopleWrite) {
    const auto gib = [](std::string_view memory) {
        const auto list = read_workloads("w", "- {name: a, memory: " + std::string(memory) + "}\n");
        return list ? list->front().memory_gib : -1.0;
    };
    EXPECT_DOUBLE_EQ(gib("2Gi"), 2);
    EXPECT_DOUBLE_EQ(gib("2GiB"), 2);
    EXPECT_DOUBLE_EQ(gib("2 GiB"), 2);
    EXPECT_DOUBLE_EQ(gib("512MiB"), 0.5);
    EXPECT_NEAR(gib("2GB"), 1.8626, 0.001);
    EXPECT_DOUBLE_EQ(gib("2.5"), 2.5);
    EXPECT_DOUBLE_EQ(gib("2048"), -1) << "no GPU has 2048 GiB: MiB were meant";
    EXPECT_DOUBLE_EQ(gib("0"), -1);
    const auto duty = [](std::string_view text) {
        const auto list =
            read_workloads("w", "- {name: a, memory: 1, duty: " + std::string(text) + "}\n");
        return list ? list->front().duty_percent.value_or(-2) : -1.0;
    };
    EXPECT_DOUBLE_EQ(duty("15"), 15);
    EXPECT_DOUBLE_EQ(duty("15%"), 15);
    EXPECT_DOUBLE_EQ(duty("0.5%"), 0.5);
    EXPECT_DOUBLE_EQ(duty("0.15"), -1) << "15 % or 0.15 %? It must be said.";
}

TEST(Workloads, HaveNamesThatMeanNothingToAShell) {
    EXPECT_EQ(object_name("Kokoro TTS"), "kokoro-tts");
    EXPECT_EQ(object_name("x; rm -rf /"), "x-rm-rf");
    EXPECT_EQ(object_name("llama-3.1_8b"), "llama-3-1-8b");
    EXPECT_EQ(object_name("$(a)'b'"), "a-b");
    EXPECT_EQ(object_name(std::string(300, 'a')).size(), 63U);
    EXPECT_FALSE(read_workloads("w", "- {name: \"a\\nb\"}\n"));
    EXPECT_FALSE(read_workloads("w", "- {name: ';;'}\n"));
}

TEST(Workloads, OfAModelOnSeveralGpusNeedTheirPartOfEach) {
    const auto list = read_workloads("w",
                                     "- {name: a, model: llama-3-70b, quant: fp8}\n"
                                     "- {name: b, model: llama-3-70b, quant: fp8, gpus: 2}\n");
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_LT((*list)[1].memory_gib, (*list)[0].memory_gib * 0.6);
}

}  // namespace
}  // namespace aliquot::plan
