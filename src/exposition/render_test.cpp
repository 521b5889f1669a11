// SPDX-License-Identifier: Apache-2.0
#include "exposition/render.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "exposition/test_scenes.h"
#include "exposition/test_text.h"

namespace aliquot::exposition {
namespace {

constexpr unsigned kRandomScenes = 60;

std::vector<telemetry::Snapshot> all_scenes() {
    std::vector<telemetry::Snapshot> made;
    for (const NamedScene& scene : scenes()) made.push_back(scene.make());
    for (unsigned seed = 0; seed < kRandomScenes; ++seed) made.push_back(random_scene(seed));
    return made;
}

ReadText read(const telemetry::Snapshot& snapshot, const Style& style = {}, const Own& own = {}) {
    return read_text(render(snapshot, style, own), style.format == Format::kOpenMetrics);
}

/// A list of counters that names all there are.
std::shared_ptr<const CounterList> everything() {
    std::string text = "DCGM_FI_DRIVER_VERSION, label, Driver\n";
    for (const Family& family : families()) {
        if (family.group != Group::kClassic && family.group != Group::kRenamed) continue;
        text += std::string(family.name) + ", gauge, Help\n";
    }
    auto list = parse_counters("all.csv", text);
    EXPECT_TRUE(list);
    return std::make_shared<const CounterList>(*std::move(list));
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        if (end > 0) words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

/// What is wrong with the labels of a sample: they stand in the catalogue's order, and those that
/// no row lacks are there. Empty: nothing.
std::string label_problem(const Family& family, const Sample& sample, bool may_lack_version) {
    std::size_t at = 0;
    for (const std::string& word : words_of(family.labels)) {
        const bool optional = word.ends_with('?');
        const std::string name = optional ? word.substr(0, word.size() - 1) : word;
        if (at < sample.labels.size() && sample.labels[at].first == name) {
            ++at;
        } else if (!optional && !(may_lack_version && name.ends_with("DRIVER_VERSION"))) {
            return sample.name + ": no label " + name;
        }
    }
    if (at < sample.labels.size()) return sample.name + ": label " + sample.labels[at].first;
    return {};
}

TEST(Render, EveryTextIsOneThatScrapersTake) {
    for (const telemetry::Snapshot& snapshot : all_scenes()) {
        for (const Format format : {Format::kText, Format::kOpenMetrics}) {
            for (const Compat compat :
                 {Compat::kClassic, Compat::kRenamed, Compat::kBoth, Compat::kOff}) {
                Style style;
                style.format = format;
                style.compat = compat;
                const ReadText text = read(snapshot, style);
                ASSERT_TRUE(text.problems.empty()) << text.problems.front();
            }
        }
    }
}

TEST(Render, EveryFamilyIsInTheCatalogueWithItsTypeAndLabels) {
    for (const telemetry::Snapshot& snapshot : all_scenes()) {
        Style style;
        style.compat = Compat::kBoth;
        style.pod_uid = true;
        style.exported_labels = true;
        style.openshift = true;
        style.guards = Guards::kAll;
        for (const ReadFamily& family : read(snapshot, style).families) {
            const Family* known = find_family(family.name);
            ASSERT_NE(known, nullptr) << family.name;
            EXPECT_EQ(family.type, known->type == Type::kCounter ? "counter" : "gauge");
            EXPECT_EQ(family.help, known->help);
            ASSERT_FALSE(family.samples.empty()) << family.name;
            for (const Sample& sample : family.samples) {
                const std::string problem =
                    label_problem(*known, sample, snapshot.driver_version.empty());
                ASSERT_TRUE(problem.empty()) << problem;
            }
        }
    }
}

TEST(Render, EveryFamilyOfTheCatalogueComesUpSomewhere) {
    std::set<std::string> found;
    Own own = read_own();
    own.scrapes = 1;
    own.scrape_bytes = 2;
    own.scrape_ns = 3;
    for (const bool listed : {false, true}) {
        Style style;
        style.compat = Compat::kBoth;
        style.openshift = true;
        style.guards = listed ? Guards::kAll : Guards::kOwn;
        if (listed) style.counters = everything();
        for (const telemetry::Snapshot& snapshot : all_scenes()) {
            for (const ReadFamily& family : read(snapshot, style, own).families) {
                found.insert(family.name);
            }
        }
    }
    for (const Family& family : families()) {
        EXPECT_TRUE(found.contains(std::string(family.name))) << family.name;
    }
}

/// Sums by GPU, or by GPU and instance.
std::map<std::string, std::int64_t> sums(const ReadText& text, std::string_view family,
                                         unsigned digits, bool by_instance) {
    std::map<std::string, std::int64_t> made;
    for (const Sample& sample : text.samples(family)) {
        std::string key(sample.label("gpu"));
        if (by_instance) key += '/' + std::string(sample.label("gi"));
        made[key] += sample.exact(digits);
    }
    return made;
}

struct Additive {
    std::string_view total;
    std::string_view pods;
    std::string_view rest;
    unsigned digits;
};

TEST(Render, PodsAndTheRestAddUpToEachGpu) {
    const std::array<Additive, 4> families{{
        {"gpu_busy_seconds_total", "gpu_pod_busy_seconds_total",
         "gpu_unattributed_busy_seconds_total", 9},
        {"gpu_utilization_ratio", "gpu_pod_utilization_ratio", "gpu_unattributed_utilization_ratio",
         6},
        {"gpu_memory_used_bytes", "gpu_pod_memory_used_bytes", "gpu_unattributed_memory_bytes", 0},
        {"gpu_energy_joules_total", "gpu_pod_energy_joules_total",
         "gpu_unattributed_energy_joules_total", 3},
    }};
    unsigned compared = 0;
    for (const telemetry::Snapshot& snapshot : all_scenes()) {
        const ReadText text = read(snapshot);
        for (const Additive& family : families) {
            auto pods = sums(text, family.pods, family.digits, false);
            auto rest = sums(text, family.rest, family.digits, false);
            for (const auto& [gpu, total] : sums(text, family.total, family.digits, false)) {
                if (snapshot.devices[std::stoul(gpu)].parts.empty()) continue;  // nothing is said
                EXPECT_EQ(pods[gpu] + rest[gpu], total) << family.total << " of GPU " << gpu;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 150U);
}

TEST(Render, PodsAndTheRestAddUpToEachMigInstance) {
    const std::array<Additive, 3> families{{
        {"gpu_instance_busy_seconds_total", "gpu_pod_busy_seconds_total",
         "gpu_unattributed_busy_seconds_total", 9},
        {"gpu_instance_utilization_ratio", "gpu_pod_utilization_ratio",
         "gpu_unattributed_utilization_ratio", 6},
        {"gpu_instance_memory_used_bytes", "gpu_pod_memory_used_bytes",
         "gpu_unattributed_memory_bytes", 0},
    }};
    unsigned compared = 0;
    for (const telemetry::Snapshot& snapshot : all_scenes()) {
        const ReadText text = read(snapshot);
        for (const Additive& family : families) {
            auto pods = sums(text, family.pods, family.digits, true);
            auto rest = sums(text, family.rest, family.digits, true);
            for (const auto& [part, total] : sums(text, family.total, family.digits, true)) {
                EXPECT_EQ(pods[part] + rest[part], total) << family.total << " of " << part;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 50U);
}

/// The value of a whole GPU that NVIDIA's name has, in units of the row; nothing: not known.
struct Whole {
    std::string_view name;
    std::optional<std::uint64_t> telemetry::Amounts::*amount;
    std::uint64_t divide;  // amounts to a unit of the last digit
    unsigned digits;
};

TEST(Render, RowsUnderNvidiasNamesAddUpToEachGpu) {
    using telemetry::Amounts;
    const std::array<Whole, 6> families{{
        {"DCGM_FI_DEV_FB_USED", &Amounts::memory_bytes, 1U << 20U, 0},
        {"DCGM_FI_DEV_GPU_UTIL", &Amounts::utilization_ppm, 1, 4},
        {"DCGM_FI_DEV_POWER_USAGE", &Amounts::power_milliwatts, 1, 3},
        {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", &Amounts::energy_millijoules, 1, 0},
        {"nvidia_gpu_memory_used_bytes", &Amounts::memory_bytes, 1, 0},
        {"nvidia_gpu_utilization", &Amounts::utilization_ppm, 1, 4},
    }};
    unsigned compared = 0;
    for (const telemetry::Snapshot& snapshot : all_scenes()) {
        const ReadText text = read(snapshot);
        for (const Whole& family : families) {
            for (const auto& [gpu, sum] : sums(text, family.name, family.digits, false)) {
                const auto& total = snapshot.devices[std::stoul(gpu)].total.*family.amount;
                if (!total) continue;  // known of some containers only
                EXPECT_EQ(sum, static_cast<std::int64_t>(*total / family.divide))
                    << family.name << " of GPU " << gpu;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 150U);
}

TEST(Render, WhatAContainerThatLeftHasUsedDoesNotJumpIntoWhatNobodyUsed) {
    telemetry::Snapshot before = mps_two();
    telemetry::Snapshot after = before;
    telemetry::Part& part = after.devices[0].parts[0];
    const telemetry::Tenant gone = part.tenants[2];
    ASSERT_TRUE(gone.ended);
    part.tenants.pop_back();  // it is listed no longer
    part.ended_busy_ns += *gone.amounts.busy_ns;
    part.ended_energy_millijoules += *gone.amounts.energy_millijoules;
    *part.remainder.busy_ns += *gone.amounts.busy_ns;
    *part.remainder.energy_millijoules += *gone.amounts.energy_millijoules;
    for (const std::string_view name :
         {"gpu_unattributed_busy_seconds_total", "gpu_unattributed_energy_joules_total"}) {
        const auto earlier = read(before).samples(name);
        const auto later = read(after).samples(name);
        ASSERT_EQ(later.size(), 2U);
        EXPECT_EQ(earlier[0].label("reason"), "unknown");
        EXPECT_EQ(earlier[0].value, later[0].value);
        EXPECT_LT(earlier[1].exact(9), later[1].exact(9));
    }
}

TEST(Render, AContainerThatCameBackUnderItsNameStartsAnew) {
    telemetry::Snapshot snapshot = mps_two();
    telemetry::Part& part = snapshot.devices[0].parts[0];
    part.tenants[2].owner = part.tenants[1].owner;  // it ended, and is there again
    part.tenants[2].owner.pod_uid = "another";
    const auto pods = read(snapshot).samples("gpu_pod_busy_seconds_total");
    ASSERT_EQ(pods.size(), 2U);
    EXPECT_EQ(pods[1].value, "51");
    const auto rest = read(snapshot).samples("gpu_unattributed_busy_seconds_total");
    EXPECT_EQ(rest[1].label("reason"), "ended");
    EXPECT_EQ(rest[1].value, "52");
}

TEST(Render, TellsMetricsOfASilentGpuForAWhileOnly) {
    telemetry::Snapshot snapshot = exclusive_a2();
    snapshot.devices[0].problem = "no answer in time";
    snapshot.devices[0].read_at = snapshot.at - std::chrono::seconds(15);
    EXPECT_EQ(read(snapshot).samples("gpu_temperature_celsius").size(), 2U);
    snapshot.devices[0].read_at = snapshot.at - std::chrono::seconds(16);
    const ReadText text = read(snapshot);
    EXPECT_TRUE(text.samples("gpu_temperature_celsius").empty());
    EXPECT_TRUE(text.samples("DCGM_FI_DEV_GPU_TEMP").empty());
    EXPECT_EQ(text.samples("DCGM_FI_DEV_XID_ERRORS").size(), 1U);
    EXPECT_EQ(text.samples("gpu_busy_seconds_total").size(), 1U) << "a counter stays";
    EXPECT_EQ(text.samples("gpu_healthy").size(), 1U);
}

TEST(Render, LabelValuesComeBackAsTheyWere) {
    telemetry::Snapshot snapshot = exclusive_a2();
    snapshot.devices[0].parts[0].tenants[0].owner.pod = "a\"b\\c\nd";
    snapshot.devices[0].gpu.model = "bad \xFF byte";
    const ReadText text = read(snapshot);
    EXPECT_EQ(text.samples("gpu_pod_busy_seconds_total")[0].label("pod"), "a\"b\\c\nd");
    EXPECT_EQ(text.samples("gpu_info")[0].label("model"), "bad \xEF\xBF\xBD byte");
}

TEST(Render, SaysWhatItMadeFromSomethingElse) {
    Style style;
    const auto flags = read(exclusive_a2(), style).samples("aliquot_agent_approximated");
    ASSERT_EQ(flags.size(), 1U);
    EXPECT_EQ(flags[0].label("name"), "DCGM_FI_PROF_GR_ENGINE_ACTIVE");
    style.approximate_active = false;
    const ReadText text = read(exclusive_a2(), style);
    EXPECT_EQ(text.find("aliquot_agent_approximated"), nullptr);
    EXPECT_EQ(text.find("DCGM_FI_PROF_GR_ENGINE_ACTIVE"), nullptr);
    EXPECT_TRUE(read(mig_a100()).samples("DCGM_FI_PROF_GR_ENGINE_ACTIVE").empty());
}

TEST(Render, AContainerAloneOnItsGpuIsOnEveryRowOfIt) {
    const ReadText text = read(exclusive_a2());
    for (const ReadFamily& family : text.families) {
        if (!family.name.starts_with("DCGM_")) continue;
        ASSERT_EQ(family.samples.size(), 1U) << family.name;
        EXPECT_EQ(family.samples[0].label("pod"), "trainer-0") << family.name;
    }
}

TEST(Render, OnASharedGpuNothingIsCopiedToContainers) {
    Style style;
    style.shared_rows = SharedRows::kPods;
    const ReadText text = read(time_sliced_four(), style);
    EXPECT_EQ(text.samples("DCGM_FI_DEV_GPU_TEMP").size(), 1U);
    EXPECT_FALSE(text.samples("DCGM_FI_DEV_GPU_TEMP")[0].has("pod"));
    const auto free = text.samples("DCGM_FI_DEV_FB_FREE");
    ASSERT_EQ(free.size(), 2U) << "the GPU's, and the one container's that has a limit";
    EXPECT_EQ(free[1].label("pod"), "cat-watcher-1");
    EXPECT_EQ(free[1].value, "4755");
}

TEST(Render, UtilizationUnderMigIsAbsentWhereNoDriverTellsIt) {
    EXPECT_EQ(read(mig_a100()).find("DCGM_FI_DEV_GPU_UTIL"), nullptr);
    EXPECT_EQ(read(mig_a100()).find("nvidia_gpu_utilization"), nullptr);
    EXPECT_EQ(read(mig_h100()).samples("DCGM_FI_DEV_GPU_UTIL")[0].label("GPU_I_ID"), "7");
}

TEST(Render, HostNamesAreAsTheStyleSays) {
    Style style;
    style.capital_hostname = false;
    style.small_hostname = true;
    style.kubernetes_node = false;
    style.exported_labels = true;
    const Sample sample = read(exclusive_a2(), style).samples("DCGM_FI_DEV_GPU_TEMP")[0];
    EXPECT_FALSE(sample.has("Hostname"));
    EXPECT_FALSE(sample.has("kubernetes_node"));
    EXPECT_EQ(sample.label("hostname"), "gpu-node-1");
    EXPECT_EQ(sample.label("exported_pod"), "trainer-0");
    EXPECT_EQ(sample.label("exported_namespace"), "vision");
    EXPECT_EQ(sample.label("exported_container"), "main");
}

TEST(Render, ACrowdedNodeStaysBelow400Kilobytes) {
    Style style;
    EXPECT_LE(render(crowd(8, 8), style, read_own()).size(), 400U << 10U);
}

}  // namespace
}  // namespace aliquot::exposition
