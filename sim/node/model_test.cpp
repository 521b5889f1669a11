// SPDX-License-Identifier: Apache-2.0
#include "sim/node/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "catalog/gpu_models.h"
#include "sim/node/fault.h"
#include "sim/node/identity.h"
#include "sim/node/load.h"
#include "sim/node/topology.h"

namespace aliquot::sim {
namespace {

TEST(Models, AreTwentyTwoWithPlausibleFacts) {
    EXPECT_EQ(models().size(), 22U);
    std::set<std::string_view> names;
    for (const Model& model : models()) {
        EXPECT_TRUE(names.insert(model.name).second) << model.name;
        EXPECT_EQ(model.cores % model.multiprocessors, 0U) << model.name;
        EXPECT_LT(model.power_idle_watts, model.power_default_watts) << model.name;
        EXPECT_LE(model.power_min_watts, model.power_default_watts) << model.name;
        EXPECT_LE(model.power_default_watts, model.power_max_watts) << model.name;
        EXPECT_LE(model.base_mhz, model.graphics_mhz) << model.name;
        EXPECT_LT(model.idle_graphics_mhz, model.graphics_mhz) << model.name;
        EXPECT_LT(model.max_celsius, model.slowdown_celsius) << model.name;
        EXPECT_LT(model.slowdown_celsius, model.shutdown_celsius) << model.name;
        EXPECT_EQ(model.links == 0, model.link_version == 0) << model.name;
        EXPECT_EQ(model.links == 0, model.fabric == Fabric::kNone) << model.name;
        EXPECT_EQ(model.geforce(), model.fans > 0) << model.name;
    }
}

TEST(GpuRequest, IsAModelAndACount) {
    EXPECT_EQ(parse_gpu_request("a2")->count, 1U);
    EXPECT_EQ(parse_gpu_request("h100-80:8")->count, 8U);
    for (const auto* text : {"A2", "NVIDIA A2", "nvidia a2"}) {
        const auto request = parse_gpu_request(text);
        ASSERT_TRUE(request) << text;
        EXPECT_EQ(request->model, "a2") << text;
    }
    EXPECT_EQ(parse_gpu_request("Tesla T4:2")->model, "t4");
}

TEST(GpuRequest, SaysWhatIsNear) {
    const struct {
        const char* text;
        const char* near;
    } cases[] = {{"h100", "h100-80"},
                 {"gtx1070", "gtx-1070"},
                 {"a100", "a100-40"},
                 {"rtx-4900", "rtx-4090"},
                 {"v100", "v100-16"}};
    for (const auto& one : cases) {
        const auto request = parse_gpu_request(one.text);
        ASSERT_FALSE(request) << one.text;
        EXPECT_EQ(request.error().code, ErrorCode::kInvalidInput);
        EXPECT_TRUE(request.error().message.contains("did you mean " + std::string(one.near) + "?"))
            << request.error().message;
    }
    EXPECT_FALSE(parse_gpu_request("mi300x").error().message.contains("did you mean"));
    EXPECT_TRUE(parse_gpu_request("mi300x").error().message.contains("a100-40"));
}

TEST(GpuRequest, RefusesCountsThatCannotBe) {
    for (const auto* text :
         {"a2:", "a2:0", "a2:17", "a2:-1", "a2:x", "a2:1x", "a2:99999999999", ":", ""}) {
        EXPECT_FALSE(parse_gpu_request(text)) << text;
    }
}

TEST(Load, DrivesTheSensors) {
    const Model& a2 = *find_model("a2");
    GpuState gpu{};
    gpu.power_limit_milliwatts = 60000;
    const auto idle = figures_of(a2, gpu, {});
    const auto half = figures_of(a2, gpu, {.memory_bytes = 1, .processes = 1, .sm_percent = 50});
    const auto full = figures_of(a2, gpu, {.memory_bytes = 1, .processes = 2, .sm_percent = 100});
    EXPECT_EQ(idle.power_milliwatts, 6000U);
    EXPECT_LT(idle.power_milliwatts, half.power_milliwatts);
    EXPECT_LT(half.power_milliwatts, full.power_milliwatts);
    EXPECT_LE(full.power_milliwatts, 60000U);
    EXPECT_LT(idle.celsius, full.celsius);
    EXPECT_LT(full.celsius, a2.max_celsius);
    EXPECT_EQ(idle.performance_state, 8U);
    EXPECT_EQ(full.performance_state, 0U);
    EXPECT_EQ(idle.clock_reasons, kReasonIdle);
    EXPECT_EQ(full.clock_reasons, 0U);
    EXPECT_EQ(full.graphics_mhz, 1770U);

    gpu.power_limit_milliwatts = 40000;
    const auto capped = figures_of(a2, gpu, {.processes = 1, .sm_percent = 100});
    EXPECT_EQ(capped.power_milliwatts, 40000U);
    EXPECT_EQ(capped.clock_reasons, kReasonPowerCap);
    gpu.fault.temperature = 95;
    const auto hot = figures_of(a2, gpu, {.processes = 1, .sm_percent = 100});
    EXPECT_NE(hot.clock_reasons & kReasonHardwareThermal, 0U);
    EXPECT_LT(hot.graphics_mhz, full.graphics_mhz);
}

unsigned links_of(const State& state, unsigned gpu) {
    unsigned sum = 0;
    for (unsigned other = 0; other < state.gpu_count; ++other)
        sum += links_between(state, gpu, other);
    return sum;
}

TEST(Topology, IsThatOfADgx1) {
    const auto state = state_for({.gpus = {{.model = "v100-16", .count = 8}}});
    ASSERT_TRUE(state);
    for (unsigned a = 0; a < 8; ++a) {
        EXPECT_EQ(links_of(**state, a), 6U) << a;
        for (unsigned b = 0; b < 8; ++b) {
            EXPECT_EQ(links_between(**state, a, b), links_between(**state, b, a));
        }
    }
    EXPECT_EQ(links_between(**state, 0, 4), 2U);
    EXPECT_EQ(links_between(**state, 0, 5), 0U);
    EXPECT_EQ(distance_between(**state, 0, 1), 20U);
    EXPECT_EQ(distance_between(**state, 0, 2), 40U);
    EXPECT_EQ(distance_between(**state, 0, 7), 50U);
}

TEST(Topology, HasSwitchesInADgxH100) {
    const Model& h100 = *find_model("h100-80");
    for (unsigned link = 0; link < 18; ++link) {
        EXPECT_EQ(link_of(h100, 3, 8, link).kind, Link::Kind::kSwitch);
    }
    EXPECT_EQ(link_of(h100, 3, 8, 18).kind, Link::Kind::kInactive);
    const auto state = state_for({.gpus = {{.model = "h100-80", .count = 8}}});
    EXPECT_EQ(links_between(**state, 0, 7), 18U);
    EXPECT_EQ((*state)->gpus[0].numa_node, 0);
    EXPECT_EQ((*state)->gpus[7].numa_node, 1);
}

TEST(Topology, JoinsFourA100sWithoutSwitches) {
    const auto state = state_for({.gpus = {{.model = "a100-40", .count = 4}}});
    for (unsigned gpu = 0; gpu < 4; ++gpu) EXPECT_EQ(links_of(**state, gpu), 12U);
    EXPECT_EQ(links_between(**state, 0, 3), 4U);
}

TEST(Topology, HasNoLinksWhereThereAreNone) {
    const auto state =
        state_for({.gpus = {{.model = "l40s", .count = 4}, {.model = "a40", .count = 2}}});
    for (unsigned gpu = 0; gpu < 6; ++gpu) EXPECT_EQ(links_of(**state, gpu), 0U);
    EXPECT_EQ(distance_between(**state, 0, 1), 10U);
}

TEST(Topology, GivesEveryGpuAnAddressOfItsOwnInRisingOrder) {
    for (const Model& model : models()) {
        for (unsigned count = 1; count <= 16; ++count) {
            const auto places = places_of(model, 0, count);
            for (unsigned i = 1; i < count; ++i) {
                EXPECT_LT(places[i - 1].bus, places[i].bus) << model.name << " " << count;
                EXPECT_LT(places[i].bus, switch_bus(0));
            }
        }
    }
}

TEST(Fault, KnowsWhatTheDriverAdvises) {
    EXPECT_EQ(recovery_action_of(31), 0U);
    EXPECT_EQ(recovery_action_of(48), 1U);
    EXPECT_EQ(recovery_action_of(79), 2U);
}

// What the product's table knows of a model is not told another way here; the rest (clocks, fans,
// links) only a body has.
TEST(Models, AreThoseOfTheCatalogue) {
    for (const Model& model : models()) {
        const catalog::GpuModel* const known = catalog::find_gpu_model(model.name);
        ASSERT_NE(known, nullptr) << model.name;
        EXPECT_EQ(catalog::find_gpu_model(model.product, model.memory_mib), known) << model.product;
        char id[8];
        std::snprintf(id, sizeof id, "%04x", model.pci_device);
        EXPECT_NE(std::ranges::find(known->pci_ids, std::string_view(id)), known->pci_ids.end())
            << model.name << ": " << id;
        EXPECT_EQ(known->compute.major(), model.compute_major) << model.name;
        EXPECT_EQ(known->compute.minor(), model.compute_minor) << model.name;
        const auto agree = [&](unsigned told, unsigned here) { return told == 0 || told == here; };
        EXPECT_TRUE(agree(known->memory_mib, model.memory_mib))
            << model.name << ": " << known->memory_mib << " and " << model.memory_mib << " MiB";
        EXPECT_TRUE(agree(known->cuda_cores, model.cores)) << model.name;
        // The limit that a driver has by default is the data sheet's, to a watt (GTX 1070: 151).
        EXPECT_TRUE(known->tdp_watts == 0 || model.power_default_watts - known->tdp_watts + 1 <= 2)
            << model.name << ": " << known->tdp_watts << " and " << model.power_default_watts;
        EXPECT_EQ(known->has_mig(), model.mig_devices != 0) << model.name;
    }
}

}  // namespace
}  // namespace aliquot::sim
