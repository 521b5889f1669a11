// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "document/json.h"
#include "document/yaml.h"
#include "plan/test_request.h"
#include "sharing/config_file.h"

namespace aliquot::plan {
namespace {

bool rejected(const Plan& plan, std::string_view rule) {
    return std::ranges::any_of(plan.rejected,
                               [rule](const Rejected& one) { return one.rule == rule; });
}

bool reasoned(const Plan& plan, std::string_view rule) {
    return std::ranges::any_of(plan.reasons,
                               [rule](const Reason& one) { return one.rule == rule; });
}

/// Every plan keeps these, whatever it decides.
void expect_sound(const Request& asked, const Plan& plan) {
    EXPECT_FALSE(plan.recommendation.empty());
    for (const std::string& objection : plan.objections) ADD_FAILURE() << objection;
    for (const File& file : plan.files) {
        const auto yaml = document::parse_yaml(file.text);
        EXPECT_TRUE(yaml.errors.empty()) << file.name << file.text;
        const bool mig = file.name.starts_with("mig-");
        if (mig || file.name.starts_with("nvidia-values")) continue;
        const bool theirs = file.name.starts_with("nvidia");
        const auto checked = sharing::check_config_file(
            file.name, file.text,
            theirs ? sharing::Compatibility::kNvidia : sharing::Compatibility::kStrict);
        for (const auto& finding : checked.findings) {
            EXPECT_EQ(finding.severity, findings::Severity::kInfo) << finding.message << '\n'
                                                                   << file.text;
        }
        EXPECT_EQ(checked.configs.size(), 1U) << file.text;
    }
    for (const GpuUse& use : plan.gpus) {
        const bool limits = use.mode == Mode::kFraction || use.mode == Mode::kMps;
        double sum = 0;
        for (const std::size_t index : use.shares) {
            const Share& share = plan.shares[index];
            if (limits) sum += share.memory_mib;
            if (share.need_mib > 0 && !asked.workloads.empty()) {
                EXPECT_LE(share.need_mib, share.memory_mib) << share.workload;
            }
        }
        EXPECT_LE(sum, use.memory_mib) << use.gpu;
    }
    for (const Step& step : plan.migration) {
        EXPECT_FALSE(step.check.empty()) << step.title;
        EXPECT_FALSE(step.rollback.empty()) << step.title;
    }
    EXPECT_TRUE(document::parse_yaml(document::to_json(to_node(plan, asked))).errors.empty());
    EXPECT_FALSE(to_text(plan, asked).empty());
}

struct Row {
    std::string_view gpu;
    unsigned services;
    std::string_view technique;
    unsigned replicas;
    double per_pod;
};

TEST(CardPlan, ReproducesTheKnownTable) {
    for (const Row& row :
         {Row{"gtx-1070", 0, "time-slicing", 2, 3.5}, Row{"gtx-1070", 2, "time-slicing", 2, 3.5},
          Row{"gtx-1660", 0, "time-slicing", 2, 2.5}, Row{"rtx-3060", 0, "time-slicing", 4, 2.5},
          Row{"rtx-3090", 0, "mps", 8, 2.5}, Row{"rtx-4090", 0, "mps", 8, 2.5},
          Row{"a2", 2, "time-slicing", 2, 7.5}, Row{"a2", 0, "time-slicing", 4, 3.5}}) {
        Request asked = request({row.gpu});
        asked.services = row.services;
        const Plan plan = make_plan(asked);
        EXPECT_EQ(plan.technique, row.technique) << row.gpu;
        EXPECT_EQ(plan.replicas, row.replicas) << row.gpu;
        EXPECT_EQ(plan.per_pod_gib, row.per_pod) << row.gpu;
        EXPECT_EQ(plan.reserve_gib, 1) << row.gpu;
        EXPECT_TRUE(rejected(plan, "PLN011")) << row.gpu;
        expect_sound(asked, plan);
    }
}

TEST(CardPlan, ShowsItsArithmetic) {
    EXPECT_EQ(
        make_plan(request({"gtx-1070"})).formula,
        "usable = 8 - 1 = 7 GiB; replicas = floor_pow2(7 / 2.5) = floor_pow2(2.8) = 2; memory "
        "of each = floor to 0.5 of 7 / 2 = 3.5 GiB; technique = time-slicing, since 2 < 8 "
        "replicas");
    EXPECT_TRUE(rejected(make_plan(request({"gtx-1070"})), "PLN031"));
}

TEST(CardPlan, IsAcceptedByTheAgentOnEveryModelForAnyNumberOfServices) {
    for (const catalog::GpuModel& model : catalog::gpu_models()) {
        for (const unsigned services : {0U, 1U, 2U, 3U, 5U, 7U, 8U, 9U, 20U, 48U}) {
            Request asked = request({model.key});
            asked.services = services;
            const Plan plan = make_plan(asked);
            EXPECT_TRUE(plan.objections.empty())
                << model.key << ' ' << services << ": " << plan.objections.front();
        }
    }
}

TEST(Model, ThatOneGpuDoesNotHoldIsPartedOverSeveral) {
    const std::string_view llama = "- {name: l, model: llama-3-70b, quant: bf16}\n";
    const Plan four = make_plan(request({"4x a100-80"}, llama));
    EXPECT_TRUE(four.unplaced.empty());
    EXPECT_GE(four.gpus.size(), 2U);
    const Plan pair =
        make_plan(request({"2x rtx-3090"}, "- {name: l, model: llama-3-70b, quant: int4}\n"));
    EXPECT_TRUE(pair.unplaced.empty());
    EXPECT_EQ(pair.gpus.size(), 2U);
    EXPECT_FALSE(make_plan(request({"a100-80"}, llama)).unplaced.empty());
}

TEST(Shares, AreAsManyAsMemoryAndTimeAllow) {
    const Plan ten = make_plan(
        request({"a100-80"}, "- {name: n, kind: notebook, memory: 4Gi, replicas: 10, duty: 5}\n"));
    EXPECT_TRUE(ten.unplaced.empty());
    const Plan sixty = make_plan(
        request({"a100-80"}, "- {name: s, memory: 256Mi, replicas: 60, duty: 1, bursty: true}\n"));
    EXPECT_TRUE(sixty.unplaced.empty());
    EXPECT_TRUE(sixty.objections.empty());
}

TEST(Mig, SlicesHaveTheComputeThatWasTold) {
    for (const std::string_view text :
         {"- {name: a, memory: 4Gi, replicas: 4, duty: 22}\n",
          "- {name: a, memory: 4Gi, replicas: 3, duty: 40}\n",
          "- {name: a, memory: 4Gi, replicas: 3, duty: 40, isolation: fault}\n"}) {
        const Request asked = request({"a100"}, text);
        const Plan plan = make_plan(asked);
        for (const Share& share : plan.shares) {
            if (share.mode != Mode::kMig) continue;
            EXPECT_GE(share.compute_percent + 1, *asked.workloads[0].duty_percent) << text;
        }
        const double duty =
            static_cast<double>(plan.shares.size()) * *asked.workloads[0].duty_percent;
        EXPECT_LE(duty, 100) << text;
    }
}

TEST(CardPlan, OfEveryKnownModelIsSound) {
    for (const catalog::GpuModel& model : catalog::gpu_models()) {
        const Request asked = request({model.key});
        expect_sound(asked, make_plan(asked));
    }
}

TEST(UsePlan, OfAnA2ForSpeechBothWays) {
    const Request asked = request({"a2"}, R"(
- {name: kokoro, memory: 2Gi, bursty: true, duty: 15}
- {name: faster-whisper, memory: 5Gi, bursty: true, duty: 20}
)");
    const Plan plan = make_plan(asked);
    EXPECT_EQ(plan.mode, Mode::kFraction);
    EXPECT_EQ(plan.technique, "time-slicing");
    EXPECT_EQ(plan.replicas, 2U);
    EXPECT_TRUE(rejected(plan, "PLN011"));  // no MIG
    EXPECT_TRUE(rejected(plan, "PLN035"));  // MPS is the second choice
    EXPECT_EQ(plan.numbers.gpus_saved, 1);
    ASSERT_EQ(plan.speed.size(), 2U);
    EXPECT_DOUBLE_EQ(plan.speed[0].alone, 5);
    EXPECT_DOUBLE_EQ(plan.speed[0].all_busy, 2.5);
    EXPECT_NEAR(plan.numbers.kwh_per_month, 43.8, 0.01);
    expect_sound(asked, plan);
}

TEST(UsePlan, OfHomeLabCards) {
    const Request old =
        request({"gtx-1070"}, "- {name: cat-watcher, replicas: 2, memory: 3.5Gi}\n");
    const Plan on_old = make_plan(old);
    EXPECT_EQ(on_old.mode, Mode::kFraction);
    EXPECT_TRUE(rejected(on_old, "PLN031"));
    EXPECT_EQ(on_old.replicas, 2U);
    expect_sound(old, on_old);
    const Request four =
        request({"rtx-3060"}, "- {name: cat-watcher, replicas: 4, memory: 2.5Gi, bursty: true}\n");
    EXPECT_EQ(make_plan(four).replicas, 4U);
    const Request eight =
        request({"rtx-4090"}, "- {name: cat-watcher, replicas: 8, memory: 2.5Gi, duty: 10}\n");
    const Plan on_new = make_plan(eight);
    EXPECT_EQ(on_new.mode, Mode::kMps);
    EXPECT_EQ(on_new.replicas, 8U);
    EXPECT_TRUE(on_new.unplaced.empty());
    expect_sound(eight, on_new);
}

TEST(UsePlan, OfAnA100ForVisionIsCutByTheHardware) {
    const Request asked = request({"a100-80"}, R"(
- {name: yolo, replicas: 4, memory: 8Gi, duty: 10}
- {name: yolo-large, replicas: 1, memory: 18Gi, duty: 25}
)");
    const Plan plan = make_plan(asked);
    EXPECT_EQ(plan.mode, Mode::kMig);
    EXPECT_TRUE(plan.unplaced.empty());
    ASSERT_EQ(plan.shares.size(), 5U);
    EXPECT_EQ(std::ranges::count(plan.shares, "1g.10gb", &Share::profile), 4);
    EXPECT_EQ(std::ranges::count(plan.shares, "2g.20gb", &Share::profile), 1);
    const auto parted = std::ranges::find(plan.files, "mig-parted.yaml", &File::name);
    ASSERT_NE(parted, plan.files.end());
    EXPECT_EQ(parted->text,
              "version: v1\nmig-configs:\n  all-disabled:\n  - devices: all\n    mig-enabled: "
              "false\n  aliquot:\n  - devices: all\n    mig-enabled: true\n"
              "    mig-devices:\n      \"1g.10gb\": 4\n      \"2g.20gb\": 1\n");
    expect_sound(asked, plan);
}

TEST(UsePlan, OfTrainingJobsIsExclusiveWithAQueue) {
    const Request asked = request({"2x v100"}, "- {name: ml-task, kind: training, replicas: 3}\n");
    const Plan plan = make_plan(asked);
    EXPECT_TRUE(plan.unplaced.empty());
    EXPECT_TRUE(reasoned(plan, "PLN006"));
    EXPECT_TRUE(reasoned(plan, "PLN051"));
    EXPECT_EQ(std::ranges::count(plan.shares, Mode::kSerial, &Share::mode), 1);
    expect_sound(asked, plan);
}

TEST(UsePlan, OfCiOnAT4SharesAndNeverExceedsTheMachine) {
    Request asked = request({},
                            "- {name: ci, kind: ci, replicas: 3, memory: 4Gi, cpu: 4, "
                            "host_memory: 16Gi}\n");
    asked.pools.push_back(*parse_node_type("g4dn.xlarge"));
    const Plan plan = make_plan(asked);
    EXPECT_EQ(plan.mode, Mode::kFraction);
    EXPECT_EQ(plan.replicas, 3U);
    EXPECT_TRUE(rejected(plan, "PLN090"));
    EXPECT_TRUE(rejected(plan, "PLN032"));
    ASSERT_TRUE(plan.numbers.usd_per_month_after);
    EXPECT_NEAR(*plan.numbers.usd_per_month_after, 0.526 * 730, 0.01);
    EXPECT_NEAR(*plan.numbers.usd_per_month_before, 3 * 0.526 * 730, 0.01);
    expect_sound(asked, plan);
}

TEST(Plan, KeepsOnTheCpuWhatIsFastEnoughThere) {
    const Request asked = request({"a2"},
                                  "- {name: tts, memory: 2Gi, cpu_seconds: 4, "
                                  "enough_seconds: 10}\n");
    const Plan plan = make_plan(asked);
    EXPECT_EQ(plan.mode, Mode::kCpu);
    EXPECT_TRUE(reasoned(plan, "PLN070"));
    EXPECT_TRUE(plan.files.empty());
    EXPECT_EQ(plan.numbers.gpus_used, 0U);
    expect_sound(asked, plan);
}

TEST(Plan, NeverLetsTenantsShareWithoutMig) {
    const std::string_view two =
        "- {name: a, tenant: x, memory: 2Gi}\n"
        "- {name: b, tenant: y, memory: 2Gi}\n";
    const Request t4 = request({"2x t4"}, two);
    const Plan apart = make_plan(t4);
    EXPECT_TRUE(rejected(apart, "PLN020"));
    ASSERT_EQ(apart.shares.size(), 2U);
    EXPECT_NE(apart.shares[0].gpu, apart.shares[1].gpu);
    const Request one = request({"t4"}, two);
    const Plan waiting = make_plan(one);
    for (const Share& share : waiting.shares) {
        EXPECT_TRUE(share.mode == Mode::kExclusive || share.mode == Mode::kSerial);
    }
    const Request a100 = request({"a100-40"}, two);
    EXPECT_EQ(make_plan(a100).mode, Mode::kMig);
    expect_sound(t4, apart);
    expect_sound(one, waiting);
}

TEST(Plan, GivesAWholeGpuToWhatNeedsOne) {
    const Request asked = request({"4x l4"}, R"(
- {name: llm, model: llama-3-8b, quant: bf16}
- {name: nccl, gpus: 2, memory: 20Gi}
- {name: tts, memory: 2Gi, bursty: true}
- {name: stt, memory: 4Gi, bursty: true}
)");
    const Plan plan = make_plan(asked);
    EXPECT_TRUE(reasoned(plan, "PLN001"));
    EXPECT_TRUE(reasoned(plan, "PLN002"));
    EXPECT_TRUE(plan.unplaced.empty());
    EXPECT_EQ(plan.numbers.gpus_used, 4U);
    // Whole and shared GPUs on one node need different names.
    for (const Share& share : plan.shares) {
        EXPECT_EQ(share.resource,
                  share.mode == Mode::kFraction ? "nvidia.com/gpu.shared" : "nvidia.com/gpu");
    }
    expect_sound(asked, plan);
}

TEST(Plan, RunsOneAfterTheOtherWhatNeverWorksTogether) {
    const Request asked = request({"a2"},
                                  "- {name: a, memory: 7Gi, never_together: true}\n"
                                  "- {name: b, memory: 7Gi, never_together: true}\n"
                                  "- {name: c, memory: 7Gi, never_together: true}\n");
    const Plan plan = make_plan(asked);
    EXPECT_EQ(plan.mode, Mode::kSerial);
    EXPECT_TRUE(reasoned(plan, "PLN050"));
    EXPECT_TRUE(plan.unplaced.empty());
    expect_sound(asked, plan);
}

TEST(Plan, ObeysWhatWasAskedOfIt) {
    Request asked = request({"a100-40"}, "- {name: yolo, replicas: 4, memory: 4Gi, duty: 10}\n");
    asked.no_reboot = true;
    const Plan mps = make_plan(asked);
    EXPECT_EQ(mps.mode, Mode::kMps);
    EXPECT_TRUE(rejected(mps, "PLN014"));
    Request bursty = request({"a2"}, "- {name: a, replicas: 2, memory: 3Gi, bursty: true}\n");
    bursty.guard = false;
    const Plan turns = make_plan(bursty);
    EXPECT_EQ(turns.mode, Mode::kTimeSlicing);
    EXPECT_TRUE(rejected(turns, "PLN041"));
    EXPECT_NE(turns.numbers.worst_case[0].find("nothing limits"), std::string::npos);
    bursty.pools[0].wsl = true;
    EXPECT_TRUE(reasoned(make_plan(bursty), "PLN060"));
}

TEST(Plan, SaysHowManyGpusAreMissing) {
    const Request asked =
        request({"a2"}, "- {name: a, replicas: 5, memory: 6Gi, bursty: true, duty: 10}\n");
    const Plan plan = make_plan(asked);
    EXPECT_EQ(plan.unplaced.size(), 3U);
    EXPECT_EQ(plan.gpus_missing, 2U);
    EXPECT_EQ(plan.unplaced[0], "a-2");
    expect_sound(asked, plan);
    const Request huge = request({"a2"}, "- {name: a, memory: 100Gi}\n");
    EXPECT_TRUE(rejected(make_plan(huge), "PLN052"));
}

}  // namespace
}  // namespace aliquot::plan
