// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/environment.h"

#include <gmock/gmock.h>

namespace aliquot::sim::cluster {
namespace {

TEST(Environment, ExpandsReferencesAsKubernetesDoes) {
    const Environment variables{{"A", "1"}, {"B", "$(A)"}, {"EMPTY", ""}};
    struct Case {
        const char* text;
        const char* expanded;
    };
    for (const Case& each :
         {Case{"x$(A)y", "x1y"}, Case{"$(B)", "$(A)"}, Case{"$(EMPTY)|", "|"},
          Case{"$(NONE)", "$(NONE)"}, Case{"$$(A)", "$(A)"}, Case{"$$$(A)", "$1"},
          Case{"$A ${A} $", "$A ${A} $"}, Case{"$(A", "$(A"}, Case{"$()", "$()"}, Case{"", ""}}) {
        EXPECT_EQ(expand(each.text, variables), each.expanded) << each.text;
    }
}

TEST(Environment, PutsTheManifestAfterWhatThePluginGave) {
    const PodIdentity pod{.name = "kokoro",
                          .pod_namespace = "ai",
                          .uid = "u",
                          .node = "n",
                          .labels = {{"app", "tts"}}};
    using Source = Variable::Source;
    const Environment environment = container_environment(
        {{"NVIDIA_VISIBLE_DEVICES", "GPU-a"}, {"KEPT", "1"}},
        {{.name = "KEPT", .text = "2"},
         {.name = "GPU", .text = "on $(NVIDIA_VISIBLE_DEVICES) in $(LATER)"},
         {.name = "LATER", .text = "x"},
         {.name = "ME", .source = Source::kField, .text = "metadata.name"},
         {.name = "APP", .source = Source::kField, .text = "metadata.labels['app']"},
         {.name = "NODE", .source = Source::kField, .text = "spec.nodeName"},
         {.name = "NOTHING", .source = Source::kField, .text = "spec.nothing"}},
        pod);
    EXPECT_EQ(environment, (Environment{{"NVIDIA_VISIBLE_DEVICES", "GPU-a"},
                                        {"KEPT", "2"},
                                        {"GPU", "on GPU-a in $(LATER)"},
                                        {"LATER", "x"},
                                        {"ME", "kokoro"},
                                        {"APP", "tts"},
                                        {"NODE", "n"}}));
}

TEST(Environment, MakesNoCommandOfArgumentsAlone) {
    Container container{.name = "c", .args = {"--port", "$(PORT)"}};
    EXPECT_THAT(container_argv(container, {{"PORT", "80"}}), testing::IsEmpty());
    container.command = {"serve"};
    EXPECT_THAT(container_argv(container, {{"PORT", "80"}}),
                testing::ElementsAre("serve", "--port", "80"));
}

}  // namespace
}  // namespace aliquot::sim::cluster
