// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::agent {
namespace {

using sharing::DeviceListStrategy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<Options, EarlyExit> read(std::vector<const char*> words,
                                      const std::map<std::string, std::string>& environment = {}) {
    words.insert(words.begin(), "aliquot-agent");
    return read_options(static_cast<int>(words.size()), words.data(), environment);
}

Options good(const std::vector<const char*>& words,
             const std::map<std::string, std::string>& environment = {}) {
    auto result = read(words, environment);
    if (const auto* answer = std::get_if<EarlyExit>(&result)) {
        ADD_FAILURE() << answer->text;
        return {};
    }
    return std::get<Options>(result);
}

TEST(Options, TakesNvidiasFlagsAndVariables) {
    const Options options = good(
        {"--mig-strategy", "single", "--driver-root=/run/nvidia/driver", "--config-file", "/c"},
        {{"DEVICE_LIST_STRATEGY", "envvar,cdi-cri"},
         {"PASS_DEVICE_SPECS", "true"},
         {"KUBELET_SOCKET", "/k/kubelet.sock"},
         {"DP_DISABLE_HEALTHCHECKS", "xids"}});
    EXPECT_EQ(options.flags.mig_strategy, sharing::MigStrategy::kSingle);
    EXPECT_EQ(options.flags.nvidia_driver_root, "/run/nvidia/driver");
    EXPECT_EQ(options.config_file, "/c");
    EXPECT_THAT(*options.flags.plugin.device_list_strategy,
                ElementsAre(DeviceListStrategy::kEnvvar, DeviceListStrategy::kCdiCri));
    EXPECT_EQ(options.flags.plugin.pass_device_specs, true);
    EXPECT_EQ(options.kubelet.kubelet_socket, "/k/kubelet.sock");
    EXPECT_EQ(options.disabled_health_checks, "xids");
    EXPECT_FALSE(options.flags.fail_on_init_error);
}

TEST(Options, AFlagWinsOverItsVariable) {
    const Options options =
        good({"--device-id-strategy", "index"}, {{"DEVICE_ID_STRATEGY", "uuid"}});
    EXPECT_EQ(options.flags.plugin.device_id_strategy, sharing::DeviceIdStrategy::kIndex);
}

TEST(Options, BooleansMayStandAloneOrSayWhat) {
    EXPECT_EQ(good({"--pass-device-specs"}).flags.plugin.pass_device_specs, true);
    EXPECT_EQ(good({"--pass-device-specs=false"}).flags.plugin.pass_device_specs, false);
    EXPECT_EQ(good({"--fail-on-init-error=false"}).flags.fail_on_init_error, false);
    EXPECT_TRUE(good({"--keep-capabilities", "--log-format=json"}).keep_capabilities);
}

TEST(Options, AStrategyFlagMayBeRepeated) {
    const Options options =
        good({"--device-list-strategy", "envvar", "--device-list-strategy", "cdi-cri"});
    EXPECT_EQ(options.flags.plugin.device_list_strategy->size(), 2U);
}

TEST(Options, WrongWordsGetOneLineAndExitTwo) {
    const std::vector<std::vector<const char*>> cases{{"--mig-strategy", "double"},
                                                      {"--device-list-strategy", "env"},
                                                      {"--no-such-flag"},
                                                      {"--pass-device-specs=maybe"},
                                                      {"--imex-channel-ids", "7"},
                                                      {"--probe-interval-ms", "0"},
                                                      {"stray"}};
    for (const auto& words : cases) {
        const auto result = read(words);
        const auto* answer = std::get_if<EarlyExit>(&result);
        ASSERT_NE(answer, nullptr) << words.front();
        EXPECT_EQ(answer->exit_code, 2);
        EXPECT_TRUE(answer->to_stderr);
        EXPECT_EQ(std::count(answer->text.begin(), answer->text.end(), '\n'), 1) << answer->text;
    }
}

TEST(Options, AWrongVariableIsNamed) {
    const auto result = read({}, {{"MIG_STRATEGY", "x"}});
    const auto* answer = std::get_if<EarlyExit>(&result);
    ASSERT_NE(answer, nullptr);
    EXPECT_THAT(answer->text, HasSubstr("MIG_STRATEGY: 'x' is not one of none, single, mixed"));
}

TEST(Options, HelpAndVersionEndWell) {
    for (const auto* word : {"--help", "--version"}) {
        const auto result = read({word});
        const auto* answer = std::get_if<EarlyExit>(&result);
        ASSERT_NE(answer, nullptr);
        EXPECT_EQ(answer->exit_code, 0);
        EXPECT_FALSE(answer->to_stderr);
    }
}

}  // namespace
}  // namespace aliquot::agent
