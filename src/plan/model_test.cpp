// SPDX-License-Identifier: Apache-2.0
// A model on GPUs: `aliquot plan` and `aliquot size` are one computation.
#include <gtest/gtest.h>

#include "base/units.h"
#include "catalog/models.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "sizing/card.h"

namespace aliquot::plan {
namespace {

struct Answer {
    bool fits = false;
    unsigned gpus = 0;

    bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    return out << (answer.fits ? "fits on " : "does not fit, ") << answer.gpus;
}

Answer of_size(const sizing::ModelShape& shape, const sizing::Load& load, const GpuPool& pool) {
    const auto fit =
        sizing::fit_card(shape, load, *pool.model, memory_mib(pool) / kMibPerGib, pool.count);
    EXPECT_TRUE(fit);
    return fit && fit->fits ? Answer{true, fit->count} : Answer{false, 0};
}

Answer of_plan(const sizing::ModelShape& shape, const sizing::Load& load, const GpuPool& pool) {
    Request request;
    request.pools.push_back(pool);
    Workload workload;
    workload.name = "model";
    EXPECT_TRUE(fill_memory_of_model(workload, shape, load, true));
    fill_guesses(workload);
    request.workloads.push_back(std::move(workload));
    const Plan plan = make_plan(request);
    return plan.unplaced.empty() ? Answer{true, plan.numbers.gpus_used} : Answer{false, 0};
}

TEST(Models, TakeAsManyGpusInAPlanAsSizeSays) {
    for (const catalog::KnownModel& known : catalog::known_models()) {
        const auto shape = sizing::model_by_name(known.key);
        ASSERT_TRUE(shape);
        for (const char* const gpus : {"gtx-1070", "rtx-3090", "2x rtx-3090", "4x a100-80",
                                       "8x a100-40", "8x h100", "8x h200", "3x l40s", "16x h100"}) {
            const auto pool = parse_gpu(gpus);
            ASSERT_TRUE(pool) << gpus;
            for (const auto dtype : {sizing::usual_dtype_on(*shape, *pool->model),
                                     sizing::Dtype::kInt4, sizing::Dtype::kQ4KM}) {
                sizing::Load load;
                load.dtype = dtype;
                EXPECT_EQ(of_plan(*shape, load, *pool), of_size(*shape, load, *pool))
                    << known.key << " in " << to_text(dtype) << " on " << gpus;
            }
        }
    }
}

TEST(Models, GetASliceOfMigOnlyWhereSizeSaysThatTheyFit) {
    std::size_t slices = 0;
    for (const catalog::KnownModel& known : catalog::known_models()) {
        for (const char* const gpu : {"a30", "a100-40", "a100-80", "h100", "h200", "b200"}) {
            Request request;
            request.pools.push_back(*parse_gpu(gpu));
            const auto shape = sizing::model_by_name(known.key);
            ASSERT_TRUE(shape);
            sizing::Load load;
            load.dtype = sizing::usual_dtype(*shape);
            Workload workload;
            workload.name = "model";
            workload.replicas = 2;
            workload.isolation = Isolation::kFault;
            ASSERT_TRUE(fill_memory_of_model(workload, *shape, load, true));
            fill_guesses(workload);
            request.workloads.push_back(std::move(workload));
            for (const Share& share : make_plan(request).shares) {
                if (share.mode != Mode::kMig) continue;
                ++slices;
                EXPECT_LE(share.need_mib, sizing::usable_by_a_model(share.memory_mib) * 1.000001)
                    << known.key << " on " << gpu << ' ' << share.profile;
            }
        }
    }
    EXPECT_GT(slices, 100U);
}

TEST(Models, OfSeventyBillionParametersTakeTwoGpusOfEightyGib) {
    const auto shape = sizing::model_by_name("llama-3-70b");
    ASSERT_TRUE(shape);
    EXPECT_EQ(of_plan(*shape, {}, *parse_gpu("4x a100-80")), (Answer{true, 2}));
    EXPECT_EQ(of_size(*shape, {}, *parse_gpu("4x a100-80")), (Answer{true, 2}));
}

TEST(Models, WithoutAPlaceSayInWhichFormatOneGpuHoldsThem) {
    const auto why = [](std::string_view name, sizing::Task task, const char* gpu) {
        Request request;
        request.pools.push_back(*parse_gpu(gpu));
        sizing::Load load;
        load.task = task;
        Workload workload;
        workload.name = "model";
        EXPECT_TRUE(fill_memory_of_model(workload, *sizing::model_by_name(name), load, true));
        fill_guesses(workload);
        request.workloads.push_back(std::move(workload));
        return make_plan(request).recommendation;
    };
    using enum sizing::Task;
    EXPECT_NE(why("llama-3.1-8b", kInference, "rtx-3060").find("; in int8 one holds it"),
              std::string::npos);
    EXPECT_NE(why("llama-3.3-70b", kInference, "h100").find("; in fp8 one holds it"),
              std::string::npos);
    EXPECT_NE(why("llama-3.1-8b", kTrainFull, "a100-40").find("; with LoRA one holds it"),
              std::string::npos);
    EXPECT_EQ(why("llama-3.1-405b", kInference, "h100").find("one holds it"), std::string::npos);
}

TEST(Models, ThatNeedMoreThanHalfOfAGpuShareItWhenTheRestHasNoOther) {
    Request request;
    request.pools.push_back(*parse_gpu("rtx-3090"));
    for (const double gib : {13.0, 4.0, 3.0}) {
        Workload workload;
        workload.name = "w" + std::to_string(request.workloads.size());
        workload.memory_gib = gib;
        workload.duty_percent = 20;
        workload.bursty = true;
        request.workloads.push_back(std::move(workload));
    }
    const Plan plan = make_plan(request);
    EXPECT_TRUE(plan.unplaced.empty());
    EXPECT_EQ(plan.shares.size(), 3U);
    for (const Reason& reason : plan.reasons) EXPECT_NE(reason.rule, "PLN001");
    // With a second GPU the large one has its own again.
    request.pools.push_back(*parse_gpu("rtx-3090"));
    const Plan wide = make_plan(request);
    EXPECT_EQ(wide.reasons.front().rule, "PLN001");
}

TEST(Gpus, OfOtherMakersAreRefusedByName) {
    const auto said = [](const char* gpu) {
        const auto pool = parse_gpu(gpu);
        return pool ? std::string("taken") : pool.error().message;
    };
    EXPECT_NE(said("jetson-agx-orin").find("is a Jetson module"), std::string::npos);
    EXPECT_NE(said("8x MI300X").find("'MI300X' is made by AMD"), std::string::npos);
    EXPECT_NE(said("Radeon RX 7900 XTX 24GB").find("is made by AMD"), std::string::npos);
    EXPECT_NE(said("Intel Arc A770").find("is made by Intel"), std::string::npos);
    EXPECT_EQ(said("4x a100-80"), "taken");
    EXPECT_EQ(said("rtx-6090 48GB"), "taken");
}

}  // namespace
}  // namespace aliquot::plan
