// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include "install/rendered.h"

namespace aliquot::install {
namespace {

TEST(RenderClaims, ClaimsAreTwoWebhooksForNamespacesThatAskForThem) {
    EXPECT_FALSE(check({.claims = true})) << "nobody would serve them";
    EXPECT_FALSE(check({.dra = "auto", .webhook = false, .claims = true}));
    EXPECT_FALSE(check({.dra = "auto", .claims_preemption = true}));
    const Values values{.dra = "auto", .claims = true};
    const Value configuration = object(values, "MutatingWebhookConfiguration", "aliquot");
    ASSERT_EQ(at(configuration, "webhooks")->items.size(), 3U);
    for (const auto& [entry, policy, label] :
         std::vector<std::tuple<std::string, std::string, std::string>>{
             {"webhooks.1.", "Ignore", "enabled"}, {"webhooks.2.", "Fail", "required"}}) {
        EXPECT_EQ(text_at(configuration, entry + "clientConfig.service.path"), "/claim/pods");
        EXPECT_EQ(text_at(configuration, entry + "failurePolicy"), policy);
        EXPECT_EQ(text_at(configuration, entry + "namespaceSelector.matchExpressions.1.values.0"),
                  label);
    }
    const auto all = render(values);
    for (const char* const name : {"aliquot-pinned-claims", "aliquot-controller-claims"}) {
        EXPECT_NE(find(all, "ValidatingAdmissionPolicy", name), nullptr);
        EXPECT_NE(find(all, "ValidatingAdmissionPolicyBinding", name), nullptr);
    }
    EXPECT_TRUE(to_json(*find(all, "Deployment", "aliquot-controller")).contains("--claims"));
    EXPECT_FALSE(to_json(*find(all, "ClusterRole", "aliquot-controller")).contains("eviction"));
}

TEST(RenderClaims, NodesThatAreToChooseNeedAnAgentThatCanAndPodsTheClasses) {
    const auto by_label = render({.dra = "by-label"});
    EXPECT_NE(find(by_label, "DeviceClass", "gpu.aliquot.dev"), nullptr);
    EXPECT_NE(find(by_label, "ClusterRole", "aliquot-agent-claims"), nullptr);
    EXPECT_TRUE(to_json(*find(by_label, "DaemonSet", "aliquot-agent")).contains("--dra=by-label"));
}

}  // namespace
}  // namespace aliquot::install
