// SPDX-License-Identifier: Apache-2.0
// Every row of what NVIDIA's parser (k8s-device-plugin v0.20) was seen to do, in its mode and ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sharing/config.h"

namespace aliquot::sharing {
namespace {

enum class Outcome { kGood, kWarns, kFails };

struct Row {
    const char* name;
    const char* text;
    Outcome nvidia;
    Outcome strict;
    const char* rule;  // of the finding in NVIDIA's mode; "" when it is good there
};

// The list is as short as the behaviour allows; GPU is the usual entry.
#define GPU "resources: [{name: nvidia.com/gpu, replicas: 4}]"  // NOLINT: joins literals
using enum Outcome;
const Row kRows[] = {
    {"unknown key at the top", "mig-configs: {}", kWarns, kFails, "DPC012"},
    {"unknown nested key",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, memoryGB: 2}]}}",
     kWarns, kFails, "DPC012"},
    {"section in another case", "sharing: {TimeSlicing: {" GPU "}}", kWarns, kFails, "DPC024"},
    {"flag in another case", "flags: {MIGSTRATEGY: none}", kWarns, kFails, "DPC024"},
    {"replicas in another case",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, Replicas: 4}]}}", kFails, kFails,
     "DPC005"},
    {"renameByDefault in another case", "sharing: {timeSlicing: {RenameByDefault: true, " GPU "}}",
     kWarns, kFails, "DPC024"},
    {"timeSlicing empty", "sharing: {timeSlicing: {}}", kFails, kFails, "DPC002"},
    {"timeSlicing null", "sharing: {timeSlicing: null}", kFails, kFails, "DPC002"},
    {"timeSlicing without value", "sharing:\n  timeSlicing:\n", kFails, kFails, "DPC002"},
    {"timeSlicing without resources", "sharing: {timeSlicing: {renameByDefault: true}}", kFails,
     kFails, "DPC002"},
    {"resources empty", "sharing: {timeSlicing: {resources: []}}", kFails, kFails, "DPC002"},
    {"replicas 1", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}",
     kFails, kFails, "DPC005"},
    {"replicas 0", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 0}]}}",
     kFails, kFails, "DPC005"},
    {"replicas a text",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: \"4\"}]}}", kFails,
     kFails, "DPC005"},
    {"no name", "sharing: {timeSlicing: {resources: [{replicas: 4}]}}", kFails, kFails, "DPC036"},
    {"no replicas", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu}]}}", kFails, kFails,
     "DPC005"},
    {"another vendor",
     "sharing: {timeSlicing: {resources: [{name: example.com/gpu, replicas: 4}]}}", kFails, kFails,
     "DPC027"},
    {"bare name", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}", kGood, kWarns,
     ""},
    {"devices some",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, devices: some}]}}",
     kFails, kFails, "DPC028"},
    {"devices all",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, devices: all}]}}",
     kGood, kGood, ""},
    {"devices listed",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, devices: [0]}]}}",
     kWarns, kGood, "DPC007"},
    {"rename",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, rename: small}]}}",
     kWarns, kGood, "DPC007"},
    {"duplicate key", "version: v0\nversion: v1\n", kWarns, kFails, "DPC021"},
    {"same resource twice",
     "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}, {name: "
     "nvidia.com/gpu, replicas: 2}]}}",
     kWarns, kWarns, "DPC035"},
    {"several documents", "version: v1\n---\nversion: v2\n", kWarns, kFails, "DPC022"},
    {"broken second document", "version: v1\n---\n\tx: [\n", kWarns, kFails, "DPC020"},
    {"empty file", "", kGood, kGood, ""},
    {"resources at the top, a list", "resources: [{name: nvidia.com/gpu}]", kFails, kFails,
     "DPC006"},
    {"resources at the top, patterns", "resources: {gpus: [{pattern: '*', name: gpu}]}", kWarns,
     kFails, "DPC006"},
    {"mps and timeSlicing",
     "flags: {mpsRoot: /m}\nsharing: {timeSlicing: {" GPU "}, mps: {" GPU "}}", kWarns, kFails,
     "DPC008"},
    {"mps null", "sharing: {mps: null}", kGood, kFails, ""},
    {"tab", "flags:\n\tmigStrategy: none\n", kFails, kFails, "DPC020"},
    {"version 1", "version: 1", kFails, kFails, "DPC001"},
    {"no version", "flags: {}", kGood, kGood, ""},
    {"bool of YAML 1.1", "flags: {failOnInitError: yes}", kGood, kFails, ""},
    {"duration without unit", "flags: {gfd: {sleepInterval: 60}}", kWarns, kWarns, "DPC031"},
    {"name of 64 characters",
     "sharing: {timeSlicing: {resources: [{name: "
     "nvidia.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, replicas: 4}]}}",
     kFails, kFails, "DPC027"},
    {"imex channel 1", "imex: {channelIDs: [1]}", kFails, kFails, "DPC032"},
};
#undef GPU

Outcome outcome_of(const ReadConfig& read) {
    if (!read.config) return kFails;
    const bool warns = std::any_of(read.findings.begin(), read.findings.end(), [](const auto& one) {
        return one.severity == findings::Severity::kWarning;
    });
    return warns ? kWarns : kGood;
}

TEST(ConfigNvidia, EveryRowOfItsBehaviourIsReproduced) {
    for (const Row& row : kRows) {
        const auto read = read_config("f", row.text, Compatibility::kNvidia);
        EXPECT_EQ(outcome_of(read), row.nvidia) << row.name;
        EXPECT_EQ(read.config.has_value(), !findings::has_errors(read.findings)) << row.name;
        const auto has_rule = [&row](const auto& one) { return one.rule == row.rule; };
        EXPECT_EQ(std::any_of(read.findings.begin(), read.findings.end(), has_rule),
                  *row.rule != '\0')
            << row.name;
    }
}

TEST(ConfigNvidia, StrictModeRefusesWhatItPassesOver) {
    for (const Row& row : kRows) {
        const auto read = read_config("f", row.text, Compatibility::kStrict);
        EXPECT_EQ(outcome_of(read), row.strict) << row.name;
    }
}

TEST(ConfigNvidia, ErrorsQuoteWhatItsPluginSays) {
    const std::pair<const char*, const char*> cases[] = {
        {"sharing: {timeSlicing: {}}", "no resources specified"},
        {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}",
         "number of replicas must be >= 2"},
        {"version: 1", "unknown version: 1"},
        {"resources: []", "cannot unmarshal array"}};
    for (const auto& [text, words] : cases) {
        const auto read = read_config("f", text, Compatibility::kNvidia);
        ASSERT_EQ(read.findings.size(), 1U) << text;
        EXPECT_THAT(read.findings[0].message, testing::HasSubstr(words));
    }
}

const Config& config_of(const ReadConfig& read) {
    EXPECT_TRUE(read.config) << (read.findings.empty() ? "" : read.findings[0].message);
    static const Config kNothing;
    return read.config ? *read.config : kNothing;
}

TEST(ConfigNvidia, TheLastDuplicateTheFirstDocumentAndMpsWin) {
    const auto duplicate = read_config(
        "f", "flags: {migStrategy: single}\nflags: {migStrategy: mixed}\n", Compatibility::kNvidia);
    EXPECT_EQ(config_of(duplicate).flags.mig_strategy, MigStrategy::kMixed);

    const auto documents =
        read_config("f", "flags: {migStrategy: single}\n---\nflags: {migStrategy: mixed}\n",
                    Compatibility::kNvidia);
    EXPECT_EQ(config_of(documents).flags.mig_strategy, MigStrategy::kSingle);

    const auto both = read_config(
        "f",
        "sharing: {mps: {resources: [{name: gpu, replicas: 3}]}, timeSlicing: {resources: "
        "[{name: gpu, replicas: 5}]}}",
        Compatibility::kNvidia);
    EXPECT_EQ(config_of(both).sharing.mechanism, grant::Mechanism::kMps);
    ASSERT_EQ(config_of(both).sharing.resources.size(), 1U);
    EXPECT_EQ(config_of(both).sharing.resources[0].replicas, 3U);
}

TEST(ConfigNvidia, OneResourceTwiceHasTheMostReplicas) {
    const auto read = read_config("f",
                                  "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 7}, "
                                  "{name: nvidia.com/gpu, replicas: 2}]}}",
                                  Compatibility::kNvidia);
    ASSERT_EQ(config_of(read).sharing.resources.size(), 1U);
    EXPECT_EQ(config_of(read).sharing.resources[0].replicas, 7U);
}

TEST(ConfigNvidia, DevicesRenameMemoryAndComputeAreDiscarded) {
    const auto read =
        read_config("f",
                    "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: [1], "
                    "rename: nvidia.com/small, memory: 1Gi, compute: 50}]}}",
                    Compatibility::kNvidia);
    ASSERT_EQ(config_of(read).sharing.resources.size(), 1U);
    const SharedResource& resource = config_of(read).sharing.resources[0];
    EXPECT_TRUE(resource.devices.all);
    EXPECT_FALSE(resource.rename);
    EXPECT_FALSE(resource.limits.memory_bytes);
    EXPECT_FALSE(resource.limits.compute_percent);
    EXPECT_EQ(read.findings.size(), 4U);
}

TEST(ConfigNvidia, MergeKeysBringInWhatIsMissing) {
    const auto read = read_config(
        "f",
        "sharing: {timeSlicing: {resources: [&a {name: gpu, replicas: 2}, {<<: *a, replicas: 4}]}}",
        Compatibility::kNvidia);
    ASSERT_EQ(config_of(read).sharing.resources.size(), 1U);
    EXPECT_EQ(config_of(read).sharing.resources[0].replicas, 4U);
}

}  // namespace
}  // namespace aliquot::sharing
