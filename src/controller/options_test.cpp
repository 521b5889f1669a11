// SPDX-License-Identifier: Apache-2.0
#include "controller/options.h"

#include <gmock/gmock.h>

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::variant<Options, EarlyExit> read(std::vector<const char*> words,
                                      const std::map<std::string, std::string>& environment = {}) {
    words.insert(words.begin(), "aliquot-controller");
    return read_options(static_cast<int>(words.size()), words.data(), environment);
}

TEST(ControllerOptions, HaveDefaultsForAPod) {
    const auto read_back = read({}, {{"POD_NAMESPACE", "gpu"}});
    ASSERT_TRUE(std::holds_alternative<Options>(read_back));
    const auto& options = std::get<Options>(read_back);
    EXPECT_EQ(options.namespace_name, "gpu");
    EXPECT_EQ(options.lifetimes.authority, 8760h);
    EXPECT_EQ(options.lifetimes.certificate, 2160h);
    EXPECT_THAT(options.all_names(), ElementsAre("DNS:aliquot-webhook.gpu.svc",
                                                 "DNS:aliquot-webhook.gpu.svc.cluster.local"));
}

TEST(ControllerOptions, AFlagWinsOverTheEnvironment) {
    const auto options = std::get<Options>(
        read({"--namespace", "x", "--certificate-names", "IP:127.0.0.1,DNS:h", "--drain", "0s",
              "--authority-lifetime", "60s", "--certificate-lifetime", "10s", "--trust-delay", "2s",
              "--log-format", "json"},
             {{"POD_NAMESPACE", "gpu"}}));
    EXPECT_EQ(options.namespace_name, "x");
    EXPECT_EQ(options.all_names().size(), 4U);
    EXPECT_EQ(options.drain, 0s);
    EXPECT_EQ(options.lifetimes.trust_delay, 2s);
    EXPECT_EQ(options.log_format, log::Format::kJson);
}

TEST(ControllerOptions, WhatDoesNotFitIsSaidInOneLine) {
    const auto why = [](std::vector<const char*> words) {
        const auto answer = read(std::move(words));
        if (!std::holds_alternative<EarlyExit>(answer)) return std::string("taken");
        EXPECT_EQ(std::get<EarlyExit>(answer).exit_code, 2);
        EXPECT_TRUE(std::get<EarlyExit>(answer).to_stderr);
        return std::get<EarlyExit>(answer).text;
    };
    EXPECT_THAT(why({"--drain", "soon"}), HasSubstr("'soon' is not a duration"));
    EXPECT_THAT(why({"--authority-lifetime", "1s"}), HasSubstr("is below 5s"));
    EXPECT_THAT(why({"--authority-lifetime", "9m"}), HasSubstr("third of --authority-lifetime"));
    EXPECT_THAT(why({"--certificate-names", "host"}), HasSubstr("neither DNS:host nor IP"));
    EXPECT_THAT(why({"--webhook-listen", "nowhere"}), HasSubstr("'nowhere' is not an address"));
    EXPECT_THAT(why({"--health-listen", "127.0.0.1"}), HasSubstr("expected HOST:PORT"));
    EXPECT_THAT(why({"--unknown"}), HasSubstr("see aliquot-controller --help"));
}

TEST(ControllerOptions, PlacementIsAskedForAndHasItsBounds) {
    EXPECT_FALSE(std::get<Options>(read({})).placement.enabled);
    const auto asked = std::get<Options>(read({"--placement", "--placement-targets", "5",
                                               "--placement-unfit-patience", "2m",
                                               "--placement-release-after", "10m"}))
                           .placement;
    EXPECT_TRUE(asked.enabled);
    EXPECT_EQ(asked.targets, 5U);
    EXPECT_EQ(asked.unfit_patience, 120s);
    EXPECT_EQ(asked.release_after, 600s);
    for (const std::vector<const char*>& wrong :
         std::vector<std::vector<const char*>>{{"--placement-targets", "0"},
                                               {"--placement-targets", "65"},
                                               {"--placement-unfit-patience", "0s"},
                                               {"--placement-release-after", "soon"}}) {
        const auto answer = read(wrong);
        ASSERT_TRUE(std::holds_alternative<EarlyExit>(answer)) << wrong[0];
        EXPECT_EQ(std::get<EarlyExit>(answer).exit_code, 2) << wrong[0];
        EXPECT_THAT(std::get<EarlyExit>(answer).text, HasSubstr(wrong[0]));
    }
}

TEST(ControllerOptions, IdleJobsAreLookedForWhenAskedAndNeedAgents) {
    EXPECT_EQ(std::get<Options>(read({})).idle.after, 0s);
    const auto asked =
        std::get<Options>(read({"--jobs", "--jobs-idle-after", "30m", "--jobs-idle-action", "end",
                                "--page-agents", "a:9400"}))
            .idle;
    EXPECT_EQ(asked.after, 1'800s);
    EXPECT_TRUE(asked.ends);
    EXPECT_EQ(asked.grace, 600s);
    for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
             {"--jobs-idle-after", "30m", "--page-agents", "a:9400"},
             {"--jobs-idle-after", "30m", "--jobs"},
             {"--jobs-idle-action", "kill"},
             {"--jobs-idle-after", "5s", "--jobs", "--page-agents", "a:9400"}}) {
        const auto answer = read(wrong);
        ASSERT_TRUE(std::holds_alternative<EarlyExit>(answer)) << wrong[0];
        EXPECT_THAT(std::get<EarlyExit>(answer).text, HasSubstr(wrong[0]));
    }
}

TEST(ControllerOptions, StrictAndExtenderAreOffAndNeedWhatTheyNeed) {
    const auto plain = std::get<Options>(read({"--placement"})).placement;
    EXPECT_FALSE(plain.strict);
    EXPECT_FALSE(plain.extender.is_on());
    const auto asked =
        std::get<Options>(read({"--placement", "--placement-strict", "--placement-extender",
                                ":8444", "--placement-extender-client-ca", "/ca.crt"},
                               {{"POD_NAMESPACE", "gpu"}, {"POD_NAME", "controller-1"}}))
            .placement;
    EXPECT_TRUE(asked.strict);
    EXPECT_TRUE(asked.extender.is_on());
    EXPECT_EQ(asked.extender.client_names, std::vector<std::string>{"system:kube-scheduler"});
    EXPECT_EQ(asked.name_space + "/" + asked.pod_name, "gpu/controller-1");
    const auto named = std::get<Options>(
        read({"--placement", "--placement-extender", ":8444", "--placement-extender-client-ca",
              "/ca.crt", "--placement-extender-client-names", "a,b"}));
    EXPECT_EQ(named.placement.extender.client_names, (std::vector<std::string>{"a", "b"}));
    for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
             {"--placement-strict"},
             {"--placement-extender", ":8444"},
             {"--placement-extender", ":8444", "--placement"},
             {"--placement-extender", "nowhere", "--placement"},
             {"--placement-extender-client-ca", "/ca.crt", "--placement"}}) {
        const auto answer = read(wrong);
        ASSERT_TRUE(std::holds_alternative<EarlyExit>(answer)) << wrong[0];
        EXPECT_EQ(std::get<EarlyExit>(answer).exit_code, 2) << wrong[0];
        EXPECT_THAT(std::get<EarlyExit>(answer).text, HasSubstr(wrong[0]));
    }
}

TEST(ControllerOptions, HelpHasAnExample) {
    const auto answer = std::get<EarlyExit>(read({"--help"}));
    EXPECT_EQ(answer.exit_code, 0);
    EXPECT_THAT(answer.text, HasSubstr("Examples:\n  aliquot-controller"));
    EXPECT_THAT(answer.text, HasSubstr("--webhook-listen"));
}

TEST(Duration, IsAWholeNumberWithAUnit) {
    EXPECT_EQ(*parse_duration("90s"), 90s);
    EXPECT_EQ(*parse_duration("30d"), 720h);
    for (const char* const text :
         {"", "5", "s", "-5s", "5 s", "5y", "99999999999999999999s", "100000d"}) {
        EXPECT_FALSE(parse_duration(text)) << text;
    }
}

}  // namespace
}  // namespace aliquot::controller
