// SPDX-License-Identifier: Apache-2.0
#include "install/values.h"

#include <gtest/gtest.h>

namespace aliquot::install {
namespace {

std::string problem(const Values& values) {
    const auto done = check(values);
    if (done) return "";
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidInput);
    return done.error().message;
}

TEST(Values, TheDefaultsAreRight) {
    EXPECT_EQ(problem({}), "");
    for (const std::string& name : profile_names()) {
        const auto profile = profile_of(name);
        ASSERT_TRUE(profile) << name;
        EXPECT_EQ(profile_facts(*profile).name, name);
        EXPECT_EQ(problem({.profile = *profile}), "");
    }
    EXPECT_FALSE(profile_of("gke"));
}

TEST(Values, AFlagThatNeedsAnotherNamesIt) {
    EXPECT_EQ(
        problem({.claims = true}),
        "--claims needs --dra as well: auto, whole, fixed, consumable, dynamic-mig or by-label");
    EXPECT_EQ(problem({.dra = "auto", .claims_preemption = true}),
              "--claims-preemption needs --claims as well");
    EXPECT_EQ(problem({.placement_strict = true}), "--placement-strict needs --placement as well");
    EXPECT_EQ(problem({.webhook = false, .placement = true}),
              "--placement needs the webhook: leave out --no-webhook");
}

TEST(Values, NothingThatCouldLeaveItsPlaceInTheYamlIsTaken) {
    for (const char* const image : {"", "a b", "x\"", "x\n- y", "-x", "a'b", "{{ x }}"}) {
        EXPECT_NE(problem({.image = image}), "") << image;
    }
    for (const char* const path : {"var/lib", "/a/../b", "/a b", "/a\"", "/a:b", "C:\\x"}) {
        EXPECT_NE(problem({.kubelet_root = path}), "") << path;
        EXPECT_NE(problem({.driver_root = path}), "") << path;
    }
    for (const char* const flag : {"x", "-x", "--x\n- y", "--x=\"", "--x\ty"}) {
        EXPECT_NE(problem({.agent_args = {flag}}), "") << flag;
    }
    EXPECT_NE(problem({.node_selector = {{"a b", "c"}}}), "");
    EXPECT_NE(problem({.node_selector = {{"a", "c d"}}}), "");
    EXPECT_NE(problem({.runtime_class = "nvi dia"}), "");
    EXPECT_NE(problem({.device_list_strategy = "cdi-cri,csi"}), "");
    EXPECT_NE(problem({.metrics_namespace = ""}), "");
}

TEST(Values, ConfigurationsAreThoseThatTheAgentWouldTake) {
    const std::string good =
        "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n"
        "      replicas: 2\n";
    EXPECT_EQ(problem({.config = {{"default", good}}}), "");
    EXPECT_EQ(problem({.config = {{"default", "version: v2\n"}}}).find("configuration default:1:"),
              0U);
    EXPECT_NE(problem({.config = {{"a b", good}}}), "");
    EXPECT_NE(problem({.config = {{"..", good}}}), "");
    const std::string wrapped =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: gpu-operator}\ndata:\n  "
        "any: "
        "|\n    version: v1\n";
    EXPECT_NE(problem({.config = {{"default", wrapped}}}).find("expected the configuration itself"),
              std::string::npos);
    EXPECT_NE(problem({.default_config = "a3", .config = {{"a2", good}}}), "");
    EXPECT_EQ(problem({.default_config = "a2", .config = {{"a2", good}}}), "");
}

TEST(Values, AConfigurationThatSharesByMpsNeedsIt) {
    const std::string mps =
        "version: v1\nflags:\n  mpsRoot: /run/nvidia/mps\nsharing:\n  mps:\n    resources:\n    - "
        "name: "
        "nvidia.com/gpu\n      replicas: 2\n";
    Values values{.config = {{"default", mps}}};
    EXPECT_NE(problem(values).find("--mps"), std::string::npos) << problem(values);
    values.mps = true;
    EXPECT_EQ(problem(values), "");
}

TEST(Values, MigConfigurationsAreRead) {
    EXPECT_EQ(problem({.mig_config = "version: v1\nmig-configs:\n  off:\n  - devices: all\n    "
                                     "mig-enabled: false\n"}),
              "");
    EXPECT_NE(problem({.mig_config = "version: v1\nmig-config: {}\n"}), "");
}

TEST(Values, TolerationsAreWrittenAsTaints) {
    EXPECT_EQ(*parse_toleration("gpu"), (Toleration{"gpu", "", ""}));
    EXPECT_EQ(*parse_toleration("nvidia.com/gpu=true:NoSchedule"),
              (Toleration{"nvidia.com/gpu", "true", "NoSchedule"}));
    EXPECT_EQ(*parse_toleration("a:NoExecute"), (Toleration{"a", "", "NoExecute"}));
    for (const char* const text : {"", ":NoSchedule", "a:Never", "a b", "a=b c", "/a", "a="}) {
        if (std::string_view(text) == "a=") {
            EXPECT_TRUE(parse_toleration(text));
        } else {
            EXPECT_FALSE(parse_toleration(text)) << text;
        }
    }
    EXPECT_NE(problem({.node_taint = "gpu"}), "");
    EXPECT_EQ(problem({.node_taint = "gpu=1:NoExecute"}), "");
}

}  // namespace
}  // namespace aliquot::install
