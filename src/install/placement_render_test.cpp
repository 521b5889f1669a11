// SPDX-License-Identifier: Apache-2.0
// What is rendered for strict placement and for the extender.
#include <gtest/gtest.h>

#include "install/render.h"
#include "install/rendered.h"

namespace aliquot::install {
namespace {

TEST(RenderPlacement, StrictPlacementAsksTheLeaderForAnAnswerInASecond) {
    const Values strict{.placement = true, .placement_strict = true};
    const Value configuration = object(strict, "MutatingWebhookConfiguration", "aliquot");
    ASSERT_EQ(at(configuration, "webhooks")->items.size(), 3U);
    const std::string hook = "webhooks.2.";
    EXPECT_EQ(text_at(configuration, hook + "clientConfig.service.name"), "aliquot-placement");
    EXPECT_EQ(text_at(configuration, hook + "clientConfig.service.path"), "/bind/pods");
    EXPECT_EQ(text_at(configuration, hook + "rules.0.resources.0"), "pods/binding");
    EXPECT_EQ(text_at(configuration, hook + "failurePolicy"), "Ignore");
    EXPECT_EQ(text_at(configuration, hook + "timeoutSeconds"), "1");
    EXPECT_EQ(text_at(configuration, hook + "sideEffects"), "NoneOnDryRun");
    EXPECT_EQ(text_at(configuration, hook + "namespaceSelector.matchExpressions.1.key"),
              "aliquot.dev/placement-strict");
    const auto all = render(strict);
    const std::string service = to_json(*find(all, "Service", "aliquot-placement"));
    EXPECT_TRUE(service.contains("aliquot.dev/leads")) << service;
    const std::string deployment = to_json(*find(all, "Deployment", "aliquot-controller"));
    EXPECT_TRUE(deployment.contains("--placement-strict")) << deployment;
    EXPECT_TRUE(deployment.contains("DNS:aliquot-placement.aliquot-system.svc")) << deployment;
    EXPECT_FALSE(deployment.contains("extender")) << deployment;
    EXPECT_FALSE(check({.placement_strict = true}));
    // Only then may a Binding carry a plan that somebody else put there.
    const auto guards_bindings = [](const Values& some) {
        const auto rendered = render(some);
        return to_json(*find(rendered, "ValidatingAdmissionPolicy", "aliquot-plan"))
            .contains("pods/binding");
    };
    EXPECT_TRUE(guards_bindings({.placement = true}));
    EXPECT_FALSE(guards_bindings(strict));
}

TEST(RenderPlacement, TheExtenderHasAPortOfItsOwnAndAnAuthority) {
    const Values values{.placement = true, .placement_extender_ca = "clients"};
    const auto all = render(values);
    const std::string deployment = to_json(*find(all, "Deployment", "aliquot-controller"));
    for (const char* const part :
         {"--placement-extender=:8444", "--placement-extender-client-ca=/etc/aliquot/extender-ca",
          "8444", "clients"}) {
        EXPECT_TRUE(deployment.contains(part)) << part << " in " << deployment;
    }
    EXPECT_TRUE(to_json(*find(all, "Service", "aliquot-placement")).contains("8444"));
    EXPECT_TRUE(to_json(*find(all, "NetworkPolicy", "aliquot-controller")).contains("8444"));
    EXPECT_EQ(find(render({.placement = true}), "Service", "aliquot-placement"), nullptr);
    EXPECT_FALSE(check({.placement_extender_ca = "clients"}));
}

}  // namespace
}  // namespace aliquot::install
