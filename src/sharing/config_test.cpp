// SPDX-License-Identifier: Apache-2.0
#include "sharing/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(std::string(ALIQUOT_SOURCE_DIR "/") + path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

Config read(const std::string& text) {
    auto result = read_config("f.yaml", text, Compatibility::kStrict);
    EXPECT_TRUE(result.config) << text << "\n" << result.findings.at(0).message;
    return result.config ? *std::move(result.config) : Config{};
}

TEST(Config, EveryFlagIsRead) {
    const Config config = read(
        "version: v1\n"
        "flags:\n"
        "  migStrategy: mixed\n  failOnInitError: false\n  mpsRoot: /run/mps\n"
        "  nvidiaDriverRoot: /run/driver\n  nvidiaDevRoot: /run/dev\n  gdrcopyEnabled: true\n"
        "  gdsEnabled: true\n  mofedEnabled: true\n  useNodeFeatureAPI: false\n"
        "  deviceDiscoveryStrategy: nvml\n"
        "  plugin:\n"
        "    passDeviceSpecs: true\n    deviceListStrategy: [cdi-cri, envvar, cdi-cri]\n"
        "    deviceIDStrategy: index\n    cdiAnnotationPrefix: cdi.example/\n"
        "    nvidiaCTKPath: /bin/ctk\n    containerDriverRoot: /d\n"
        "    sharedDevicesAllocationPolicy: packed\n"
        "  gfd:\n"
        "    oneshot: true\n    noTimestamp: true\n    sleepInterval: 1m30s\n"
        "    outputFile: /o\n    machineTypeFile: /m\n");
    const Flags& flags = config.flags;
    EXPECT_EQ(flags.mig_strategy, MigStrategy::kMixed);
    EXPECT_EQ(flags.fail_on_init_error, false);
    EXPECT_EQ(flags.mps_root, "/run/mps");
    EXPECT_EQ(flags.nvidia_driver_root, "/run/driver");
    EXPECT_EQ(flags.nvidia_dev_root, "/run/dev");
    EXPECT_EQ(flags.gdrcopy_enabled, true);
    EXPECT_EQ(flags.gds_enabled, true);
    EXPECT_EQ(flags.mofed_enabled, true);
    EXPECT_EQ(flags.use_node_feature_api, false);
    EXPECT_EQ(flags.device_discovery_strategy, DiscoveryStrategy::kNvml);
    EXPECT_EQ(flags.plugin.pass_device_specs, true);
    EXPECT_EQ(flags.plugin.device_list_strategy,
              (std::vector{DeviceListStrategy::kCdiCri, DeviceListStrategy::kEnvvar}));
    EXPECT_EQ(flags.plugin.device_id_strategy, DeviceIdStrategy::kIndex);
    EXPECT_EQ(flags.plugin.cdi_annotation_prefix, "cdi.example/");
    EXPECT_EQ(flags.plugin.nvidia_ctk_path, "/bin/ctk");
    EXPECT_EQ(flags.plugin.container_driver_root, "/d");
    EXPECT_EQ(flags.plugin.shared_devices_allocation_policy, AllocationPolicy::kPacked);
    EXPECT_EQ(flags.gfd.oneshot, true);
    EXPECT_EQ(flags.gfd.no_timestamp, true);
    EXPECT_EQ(flags.gfd.sleep_interval_ns, 90'000'000'000);
    EXPECT_EQ(flags.gfd.output_file, "/o");
    EXPECT_EQ(flags.gfd.machine_type_file, "/m");
}

TEST(Config, WhatIsNotInTheFileStaysEmpty) {
    const Config config = read("flags:\n  migStrategy:\n  plugin:\n");
    EXPECT_FALSE(config.flags.mig_strategy);
    EXPECT_FALSE(config.flags.fail_on_init_error);
    EXPECT_FALSE(config.flags.plugin.device_list_strategy);
    EXPECT_EQ(config.sharing.mechanism, grant::Mechanism::kNone);
}

TEST(Config, SharedResourcesAreReadWithTheirLimits) {
    const Config config = read(
        "sharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n"
        "    - {name: nvidia.com/gpu, replicas: 2, devices: [0, \"2\", GPU-1, \"0:1\", MIG-2, "
        "\"*A100*\"], memory: 3.5Gi, compute: 50, rename: small}\n"
        "    - {name: nvidia.com/gpu, replicas: 3, devices: 4}\n"
        "    - {name: nvidia.com/gpu, replicas: 4}\n");
    EXPECT_EQ(config.sharing.mechanism, grant::Mechanism::kTimeSlicing);
    EXPECT_TRUE(config.sharing.rename_by_default);
    EXPECT_FALSE(config.sharing.fail_requests_greater_than_one);
    ASSERT_EQ(config.sharing.resources.size(), 3U);
    const SharedResource& first = config.sharing.resources[0];
    EXPECT_FALSE(first.devices.all);
    EXPECT_EQ(first.devices.indices, (std::vector<unsigned>{0, 2}));
    EXPECT_EQ(first.devices.uuids, (std::vector<std::string>{"GPU-1"}));
    EXPECT_EQ(first.devices.mig, (std::vector<std::string>{"0:1", "MIG-2"}));
    EXPECT_EQ(first.devices.models, (std::vector<std::string>{"*A100*"}));
    EXPECT_EQ(first.limits.memory_bytes, 3758096384U);
    EXPECT_EQ(first.limits.compute_percent, 50U);
    EXPECT_EQ(first.rename, "nvidia.com/small");
    EXPECT_EQ(first.mark, (document::Mark{5, 7}));
    EXPECT_EQ(config.sharing.resources[1].devices.first, 4U);
    EXPECT_TRUE(config.sharing.resources[2].devices.all);
}

TEST(Config, TheGuardIsStrictAndOnlyTellsUnlessToldOtherwise) {
    const auto guard = [](const std::string& text) {
        return read_config("f", "sharing: {guard: " + text + "}", Compatibility::kStrict)
            .config->sharing.guard;
    };
    EXPECT_EQ(guard("{}"), GuardConfig{});
    const GuardConfig all = guard("{fail: open, watchdog: kill, slack: 7.5%, kernelLimit: true}");
    EXPECT_TRUE(all.fail_open && all.kill && all.kernel_limit);
    EXPECT_EQ(all.slack_percent, 7.5);
    EXPECT_EQ(guard("{slack: 256Mi}").slack_bytes, 256ULL << 20U);
    EXPECT_EQ(guard("{slack: 0}").slack_bytes, 0U);
    EXPECT_FALSE(read_config("f", "sharing: {guard: {slack: -1}}", Compatibility::kStrict).config);
}

TEST(Config, MpsRefusesMoreThanOneShareUnlessToldOtherwise) {
    const std::string entry = "resources: [{name: nvidia.com/gpu, replicas: 4}]";
    EXPECT_TRUE(read("sharing: {mps: {" + entry + "}}").sharing.fail_requests_greater_than_one);
    EXPECT_FALSE(read("sharing: {mps: {failRequestsGreaterThanOne: false, " + entry + "}}")
                     .sharing.fail_requests_greater_than_one);
}

TEST(Config, AKubernetesObjectIsNotTheConfigurationItself) {
    const auto result = read_config(
        "f", "apiVersion: v1\nkind: ConfigMap\ndata: {any: 'version: v1'}", Compatibility::kStrict);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].rule, "DPC037");
    EXPECT_FALSE(result.config);
}

TEST(Config, GoDurations) {
    const std::pair<const char*, std::int64_t> good[] = {{"60s", 60'000'000'000},
                                                         {"1m30s", 90'000'000'000},
                                                         {"1.5h", 5'400'000'000'000},
                                                         {"10ms", 10'000'000},
                                                         {"5us", 5000},
                                                         {"5\xc2\xb5s", 5000},
                                                         {"7ns", 7},
                                                         {"0", 0},
                                                         {"-2s", -2'000'000'000},
                                                         {".5s", 500'000'000}};
    for (const auto& [text, nanoseconds] : good) {
        EXPECT_EQ(parse_go_duration(text), nanoseconds) << text;
    }
    for (const auto* text : {"", "s", "60", "1d", "1 s", "--1s", "1s2", "9999999999999h", ".s"}) {
        EXPECT_FALSE(parse_go_duration(text)) << text;
    }
}

TEST(Config, NoInputIsTooMuch) {
    std::string keys = "flags:\n";
    for (int i = 0; i < 10'000; ++i) keys += "  k" + std::to_string(i) + ": 1\n";
    for (const auto mode : {Compatibility::kStrict, Compatibility::kNvidia}) {
        const auto result = read_config("f", keys, mode);
        EXPECT_LE(result.findings.size(), 501U);
        EXPECT_EQ(result.config.has_value(), !findings::has_errors(result.findings));
    }
    EXPECT_FALSE(read_config("f", std::string(2U << 20U, '#'), Compatibility::kStrict).config);
    const auto long_value =
        read_config("f", "version: " + std::string(100'000, 'v'), Compatibility::kStrict);
    EXPECT_LT(long_value.findings.at(0).message.size(), 600U);
}

TEST(Config, MoreValuesThanTheAgentHasMemoryForAreRefused) {
    const auto with_entries = [](unsigned count) {
        std::string text = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n";
        for (unsigned i = 0; i < count; ++i) {
            text +=
                "    - {name: nvidia.com/gpu, replicas: 2, devices: [" + std::to_string(i) + "]}\n";
        }
        return text;
    };
    const auto read = [](const std::string& text) {
        return read_config("c.yaml", text, Compatibility::kStrict);
    };
    EXPECT_TRUE(read(with_entries(500)).config);
    const auto refused = read(with_entries(5'000));
    EXPECT_FALSE(refused.config);
    ASSERT_FALSE(refused.findings.empty());
    EXPECT_EQ(refused.findings.back().message,
              "more than 10000 values (aliases count as what they name)");
}

TEST(ConfigRules, HaveIdsOnceAndStandInTheGuide) {
    const std::string guide = read_file("docs/guide/config.md");
    std::set<std::string_view> ids;
    for (const Rule& one : config_rules()) {
        EXPECT_TRUE(ids.insert(one.id).second) << one.id;
        const std::string row = "| " + std::string(one.id) + " | " + std::string(one.meaning);
        EXPECT_NE(guide.find(row), std::string::npos) << "docs/guide/config.md lacks: " << row;
    }
}

TEST(ConfigExamples, TheCommentedSchemaReadsWithoutFindings) {
    const auto result =
        read_config("sharing.yaml", read_file("api/config/sharing.yaml"), Compatibility::kStrict);
    ASSERT_TRUE(result.config) << result.findings.at(0).message;
    EXPECT_TRUE(result.findings.empty()) << result.findings.at(0).message;
    const std::string text = read_file("api/config/sharing.yaml");
    for (const Section& one : sections()) {
        if (one.path.substr(0, 9) == "resources") continue;  // without effect, so not shown
        for (const std::string_view key : one.keys) {
            if (one.path.empty() && key == "resources") continue;
            EXPECT_NE(text.find(std::string(key) + ":"), std::string::npos) << key;
        }
    }
}

/// The fenced blocks of a Markdown text that are marked with one word.
std::vector<std::string> blocks_of(const std::string& text, const std::string& word) {
    std::vector<std::string> blocks;
    const std::string fence = "\n```" + word + "\n";
    for (auto at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
        const auto start = at + fence.size();
        blocks.push_back(text.substr(start, text.find("\n```", start) + 1 - start));
    }
    return blocks;
}

TEST(ConfigExamples, EveryYamlBlockOfTheGuideIsRight) {
    const auto blocks = blocks_of(read_file("docs/guide/config.md"), "yaml");
    EXPECT_GE(blocks.size(), 7U);
    for (const std::string& block : blocks) {
        for (const auto& finding : check_config_text("block", block, Compatibility::kStrict)) {
            EXPECT_EQ(finding.severity, findings::Severity::kInfo) << finding.message << " in\n"
                                                                   << block;
        }
    }
}

}  // namespace
}  // namespace aliquot::sharing
