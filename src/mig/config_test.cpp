// SPDX-License-Identifier: Apache-2.0
#include "mig/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::mig {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGood = R"(version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false

  all-enabled:
    - devices: all
      mig-enabled: true
      mig-devices: {}

  balanced:
    - device-filter: ["0x20B010DE", "0x20B110DE:0x134F10DE"]
      devices: all
      mig-enabled: true
      mig-devices:
        "1g.5gb": 2
        "2g.10gb": 1
        3g.20gb: 0
    - device-filter: "0x20B210DE"
      devices: [1, 2]
      mig-enabled: true
      mig-devices:
      - profile: 3g.40gb
        count: 2
      - slices: 1
        memory-at-least: 15Gi
)";

std::string first_problem(std::string_view text) {
    const auto read = read_config(text);
    return read.problems.empty() ? "none" : to_text("f", read.problems.front());
}

TEST(MigConfig, IsReadAsMigPartedReadsItAndWithMore) {
    const auto read = read_config(kGood);
    ASSERT_TRUE(read.problems.empty()) << to_text("f", read.problems.front());
    ASSERT_EQ(read.config.configs.size(), 3U);
    EXPECT_FALSE(read.config.find("all-disabled")->rules.at(0).enabled);
    EXPECT_TRUE(read.config.find("all-enabled")->rules.at(0).spec.empty());
    const NamedConfig& balanced = *read.config.find("balanced");
    EXPECT_EQ(to_text(balanced.rules.at(0).spec), "1g.5gb*2,2g.10gb");
    EXPECT_EQ(balanced.rules[0].filter.at(0), (DeviceFilter{0x20B010DE, {}}));
    EXPECT_EQ(balanced.rules[0].filter.at(1), (DeviceFilter{0x20B110DE, 0x134F10DE}));
    EXPECT_FALSE(balanced.rules[0].devices);
    EXPECT_EQ(to_text(balanced.rules.at(1).spec), "3g.40gb*2,slices=1 memory=15Gi");
    EXPECT_EQ(balanced.rules[1].devices, (std::vector<unsigned>{1, 2}));
    EXPECT_EQ(read.config.find("none"), nullptr);
}

TEST(MigConfig, IsRefusedWithThePlace) {
    const std::string head = "version: v1\nmig-configs:\n  a:\n  - devices: all\n";
    EXPECT_EQ(
        first_problem(head + "    mig-enabled: true\n    mig-device: {}\n"),
        "f:4:5: 'mig-devices' is missing although 'mig-enabled' is true; {} means no instance");
    EXPECT_EQ(
        read_config(head + "    mig-enabled: true\n    mig-device: {}\n").problems.back().message,
        "'mig-device' is not a field of a MIG configuration, did you mean 'mig-devices'?");
    EXPECT_EQ(first_problem(head + "    mig-enabled: false\n    mig-devices: {1g.5gb: 1}\n"),
              "f:6:18: 'mig-devices' has instances although 'mig-enabled' is false");
    EXPECT_EQ(first_problem(head + "    mig-enabled: false\n    mig-devices: {}\n"), "none");
    EXPECT_EQ(first_problem(head + "    mig-enabled: yes\n    mig-devices: {}\n"),
              "f:5:18: 'mig-enabled' is the text 'yes', expected true or false");
    EXPECT_EQ(first_problem(head + "    mig-enabled: true\n    mig-devices: {1g: 1}\n"),
              "f:6:19: '1g' is not a MIG profile; expected <slices>g.<memory>gb such as 3g.20gb");
    EXPECT_THAT(first_problem(head + "    mig-enabled: true\n    mig-devices: {1g.5gb: 65}\n"),
                HasSubstr("f:6:27: '1g.5gb' is the number 65, expected a number of instances"));
    EXPECT_THAT(first_problem(head + "    mig-enabled: true\n    mig-devices: {1g.5gb: -1}\n"),
                HasSubstr("expected a number of instances"));
    EXPECT_THAT(first_problem(head + "    mig-enabled: true\n    mig-devices: {1g.5gb: 0}\n"),
                HasSubstr("no count above 0"));
    EXPECT_THAT(
        first_problem(head +
                      "    mig-enabled: true\n    mig-devices: [{slices: 1, profile: 1g.5gb}]\n"),
        HasSubstr("expected either 'profile'"));
    EXPECT_THAT(first_problem(head + "    mig-enabled: true\n    mig-devices: [{count: 1}]\n"),
                HasSubstr("expected either 'profile'"));
    EXPECT_THAT(first_problem(head + "    mig-enabled: true\n    mig-devices: [{slices: 0}]\n"),
                HasSubstr("'slices' is 0"));
    EXPECT_THAT(
        first_problem(head + "    mig-enabled: true\n    mig-devices: [{memory-at-least: lots}]\n"),
        HasSubstr("expected an amount of memory"));
    EXPECT_EQ(first_problem(head + "    devices: all\n    mig-enabled: false\n"),
              "f:5:5: 'devices' stands here twice");
    EXPECT_EQ(first_problem("version: v1\nmig-configs:\n  a:\n  - devices: some\n"),
              "f:4:5: 'mig-enabled' is missing");
    EXPECT_EQ(
        first_problem("version: v2\nmig-configs: {a: [{devices: all, mig-enabled: false}]}\n"),
        "f:1:10: 'version' is the text 'v2', expected v1");
    EXPECT_EQ(first_problem("version: v1\n"), "f:1:1: 'mig-configs' is missing");
    EXPECT_THAT(first_problem("version: v1\nmig-configs: {}\n"),
                HasSubstr("expected at least one"));
    EXPECT_THAT(first_problem("version: v1\nmig-configs: {a: []}\n"),
                HasSubstr("a list of at least"));
    EXPECT_THAT(first_problem("[]"), HasSubstr("expected fields"));
    EXPECT_THAT(first_problem(""), HasSubstr("f:"));
    EXPECT_THAT(first_problem("a: b\n---\nc: d\n"), HasSubstr("expected one document"));
    EXPECT_THAT(
        first_problem("version: v1\nmig-configs: {a: [{devices: [x], mig-enabled: false}]}\n"),
        HasSubstr("expected GPU indices"));
    EXPECT_THAT(first_problem("version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false, "
                              "device-filter: 0x20B010DE}]}\n"),
                HasSubstr("PCI ids in quotes"));
}

std::vector<Board> node() {
    return {{.gpu = {"GPU-0"}, .index = 0, .pci_device_id = 0x20B010DE, .mig_capable = true},
            {.gpu = {"GPU-1"}, .index = 1, .pci_device_id = 0x20B210DE, .mig_capable = true},
            {.gpu = {"GPU-2"}, .index = 2, .pci_device_id = 0x25B610DE}};
}

std::string targets(std::string_view text, const std::vector<Board>& boards) {
    const auto read = read_config(text);
    if (!read.problems.empty()) return to_text("f", read.problems.front());
    const auto found = targets_of(read.config.configs.front(), boards);
    if (!found) return found.error().message;
    std::string result;
    for (const Target& target : *found) {
        result += std::to_string(target.board.index) + (target.enabled ? "+" : "-") +
                  to_text(target.spec) + ' ';
    }
    return result;
}

TEST(MigConfig, TakesTheLastRuleThatMatchesAGpu) {
    EXPECT_EQ(targets("version: v1\nmig-configs:\n  a:\n"
                      "  - {devices: all, mig-enabled: false}\n"
                      "  - {devices: all, device-filter: ['0x20B010DE'], mig-enabled: true, "
                      "mig-devices: {1g.5gb: 7}}\n",
                      node()),
              "0+1g.5gb*7 1-none ");
    EXPECT_EQ(targets("version: v1\nmig-configs:\n  a:\n"
                      "  - {devices: [1], mig-enabled: true, mig-devices: {}}\n",
                      node()),
              "1+none ");
    EXPECT_EQ(targets("version: v1\nmig-configs:\n  a:\n"
                      "  - {devices: all, device-filter: '0x20B010DE:0x1', mig-enabled: true, "
                      "mig-devices: {}}\n",
                      node()),
              "");
}

TEST(MigConfig, SaysWhatThisNodeDoesNotHave) {
    EXPECT_EQ(targets("version: v1\nmig-configs:\n  a:\n"
                      "  - {devices: [5], mig-enabled: false}\n",
                      node()),
              "configuration a, line 4: there is no GPU 5; this node has 3");
    EXPECT_EQ(targets("version: v1\nmig-configs:\n  a:\n"
                      "  - {devices: [2], mig-enabled: true, mig-devices: {}}\n",
                      node()),
              "configuration a, line 4: GPU 2 has no MIG");
    EXPECT_EQ(targets("version: v1\nmig-configs:\n  a:\n"
                      "  - {devices: all, mig-enabled: true, mig-devices: {}}\n",
                      node()),
              "0+none 1+none ");
}

TEST(MigExport, PutsGpusThatAreAlikeTogether) {
    std::vector<CurrentCut> gpus{{.index = 0,
                                  .pci_device_id = 0x20B010DE,
                                  .enabled = true,
                                  .profiles = {"1g.5gb", "1g.5gb"}},
                                 {.index = 1,
                                  .pci_device_id = 0x20B010DE,
                                  .enabled = true,
                                  .profiles = {"1g.5gb", "1g.5gb"}}};
    EXPECT_EQ(export_config(gpus, "current", ExportFormat::kYaml),
              "version: v1\nmig-configs:\n  current:\n  - devices: all\n    mig-enabled: true\n"
              "    mig-devices:\n      1g.5gb: 2\n");
    gpus[1].profiles = {"3g.20gb", "1c.3g.20gb"};
    EXPECT_EQ(export_config(gpus, "current", ExportFormat::kYaml),
              "version: v1\nmig-configs:\n  current:\n"
              "  - devices: [0]\n    mig-enabled: true\n    mig-devices:\n      1g.5gb: 2\n"
              "  - devices: [1]\n    mig-enabled: true\n    mig-devices:\n      1c.3g.20gb: 1\n"
              "      3g.20gb: 1\n");
    gpus.push_back({.index = 2, .pci_device_id = 0x25B610DE});
    const std::string yaml = export_config(gpus, "now", ExportFormat::kYaml);
    EXPECT_THAT(yaml, HasSubstr("  now:\n  - device-filter: \"0x20B010DE\"\n    devices: [0]\n"));
    EXPECT_THAT(yaml, HasSubstr("  - device-filter: \"0x25B610DE\"\n    devices: all\n"
                                "    mig-enabled: false\n    mig-devices: {}\n"));
    const auto read = read_config(yaml);
    EXPECT_TRUE(read.problems.empty());
    EXPECT_EQ(read_config(export_config(gpus, "now", ExportFormat::kJson)).config.configs.size(),
              1U);
    EXPECT_EQ(read.config.find("now")->rules.size(), 3U);
}

}  // namespace
}  // namespace aliquot::mig
