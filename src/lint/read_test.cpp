// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lint/set.h"

namespace aliquot::lint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> texts(const Command& command) {
    std::vector<std::string> result;
    for (const Word& word : command.words) result.push_back(word.text);
    return result;
}

constexpr const char* kPod =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n"
    "    image: nvidia/cuda:12.4.1-base-ubuntu22.04\n    resources:\n      limits:\n        "
    "nvidia.com/gpu: 1\n";

TEST(ReadFile, FindsThePodOfAnObjectWithPlaces) {
    const auto file = read_file("pod.yaml", kPod);
    ASSERT_THAT(file->pods, SizeIs(1));
    const PodSpec& pod = file->pods.front();
    EXPECT_TRUE(pod.whole);
    EXPECT_EQ(pod.path, "spec");
    ASSERT_THAT(pod.containers, SizeIs(1));
    const ResourceValue* gpu = pod.containers.front().gpu();
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->value->mark, (Mark{11, 25}));
    ASSERT_THAT(file->images, SizeIs(1));
    EXPECT_EQ(file->images.front().repository, "nvidia/cuda");
    EXPECT_EQ(file->images.front().mark, (Mark{8, 12}));
}

TEST(ReadFile, GivesAnObjectWithoutAKeyAPlaceInTheFile) {
    const auto file = read_file("odd.yaml", "# text\n?\n# more\n");
    ASSERT_THAT(file->objects, SizeIs(1));
    EXPECT_EQ(file->objects.front().mark().line, 2U);
}

TEST(ReadFile, GivesPlacesOfTheFileInsideAnIndentedFence) {
    std::string text = "# Title\n\n1. Step\n   ```yaml\n";
    std::string pod = kPod;
    for (std::size_t at = 0; (at = pod.find('\n', at)) != std::string::npos && at + 1 < pod.size();
         at += 4) {
        pod.insert(at + 1, "   ");
    }
    text += "   " + pod + "   ```\n";
    const auto file = read_file("a.md", text);
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_EQ(file->pods.front().containers.front().gpu()->value->mark, (Mark{15, 28}));
    ASSERT_THAT(file->blocks, SizeIs(1));
    EXPECT_EQ(file->blocks.front().fence_line, 4U);
    EXPECT_EQ(file->heading_path(file->blocks.front().heading), "title");
}

TEST(ReadFile, CountsLinesTheSameWithCarriageReturns) {
    std::string text = kPod;
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
        text.insert(at, "\r");
    const auto file = read_file("pod.yaml", text);
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_EQ(file->pods.front().containers.front().gpu()->value->mark.line, 11U);
    EXPECT_EQ(file->pods.front().containers.front().gpu()->text, "1");
}

TEST(ReadFile, ABrokenDocumentDoesNotHideTheOthers) {
    const auto file =
        read_file("a.yaml", "a: b: c: d\n  x\n---\n" + std::string(kPod) + "---\n\tkey: [\n");
    EXPECT_THAT(file->pods, SizeIs(1));
    EXPECT_THAT(file->unreadable, SizeIs(2));
}

TEST(ReadFile, ABrokenLineDoesNotHideItsDocument) {
    std::string text = kPod;
    text += "    env: - name: x\n";
    const auto file = read_file("a.yaml", text);
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_NE(file->pods.front().containers.front().gpu(), nullptr);
    EXPECT_FALSE(file->pods.front().whole);
    EXPECT_TRUE(file->objects.front().broken);
}

TEST(ReadFile, KnowsAServiceOfSystemdByItsNameOrItsHead) {
    constexpr const char* kUnit = "[Unit]\nAfter=a.service\n[Service]\nExecStart=/usr/bin/x\n";
    for (const char* const name : {"x.service", "<stdin>", "etc/unit.txt"}) {
        const auto file = read_file(name, kUnit);
        EXPECT_EQ(file->kind, FileKind::kUnit) << name;
        ASSERT_THAT(file->blocks, SizeIs(1));
        EXPECT_EQ(file->blocks.front().language, Language::kText);
    }
}

TEST(ReadFile, TemplatesAreNoErrors) {
    const auto file = read_file(
        "templates/pod.yaml",
        "{{- if .Values.enabled }}\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ include \"x\" "
        ". }}\n"
        "  labels:\n    {{- include \"labels\" . | nindent 4 }}\nspec:\n  containers:\n  - name: "
        "c\n"
        "    image: \"{{ .Values.image }}:{{ .Values.tag | default \"x\" }}\"\n{{- end }}\n");
    EXPECT_THAT(file->unreadable, IsEmpty());
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_TRUE(file->objects.front().templated);
    EXPECT_TRUE(is_placeholder(file->objects.front().name));
    EXPECT_TRUE(is_placeholder(file->pods.front().containers.front().image));
}

TEST(ReadFile, ReadsTheItemsOfAList) {
    const auto file = read_file(
        "a.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n"
        "  spec: {containers: [{name: c, image: a/b:1}]}\n");
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_EQ(file->object(file->pods.front())->name, "p");
}

TEST(ReadFile, ReadsWhatAConfigMapHolds) {
    const auto file = read_file("cm.yaml",
                                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "
                                "slices}\ndata:\n  any: |-\n    version: v1\n"
                                "    sharing:\n      timeSlicing:\n        resources:\n        - "
                                "name: nvidia.com/gpu\n          replicas: 4\n");
    ASSERT_THAT(file->objects, SizeIs(2));
    const Object& config = file->objects[1];
    EXPECT_EQ(config.role, Role::kDevicePluginConfig);
    EXPECT_EQ(config.key, "any");
    EXPECT_EQ(file->objects[static_cast<std::size_t>(config.holder)].name, "slices");
    EXPECT_EQ(at_path(*config.node, "sharing.timeSlicing.resources.0.replicas")->mark,
              (Mark{11, 21}));
}

TEST(ReadFile, FindsPodsOfCustomResources) {
    const auto file = read_file(
        "ray.yaml",
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec:\n  workerGroupSpecs:\n"
        "  - replicas: 2\n    template:\n      spec:\n        containers:\n        - name: w\n"
        "          image: rayproject/ray:2.9\n          resources: {limits: {nvidia.com/gpu: "
        "1}}\n");
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_EQ(file->pods.front().replicas, 2.0);
    EXPECT_TRUE(file->pods.front().asks_gpu());
}

TEST(ReadFile, JoinsContinuedLinesAndKeepsThePlaceOfEachWord) {
    const auto file = read_file("a.md",
                                "```bash\n# install\nsudo helm install gpu-operator \\\n  "
                                "nvidia/gpu-operator --set driver.enabled=false | tee log\n```\n");
    ASSERT_THAT(file->commands, SizeIs(2));
    const Command& helm = file->commands.front();
    EXPECT_TRUE(helm.is("helm", "install"));
    EXPECT_EQ(helm.wrapper, "sudo");
    EXPECT_EQ(helm.comment, "install");
    EXPECT_THAT(texts(helm), ElementsAre("helm", "install", "gpu-operator", "nvidia/gpu-operator",
                                         "--set", "driver.enabled=false"));
    EXPECT_EQ(helm.words[3].mark, (Mark{4, 3}));
    EXPECT_EQ(helm.piped_to, 1);
}

TEST(ReadFile, InAConsoleBlockOnlyPromptsBeginCommands) {
    const auto file = read_file(
        "a.md",
        "```console\n$ kubectl get pods\nNAME READY\nkubectl is-output\n$ nvidia-smi\n```\n");
    ASSERT_THAT(file->commands, SizeIs(2));
    EXPECT_EQ(file->commands[1].program, "nvidia-smi");
    EXPECT_EQ(file->commands[1].mark, (Mark{5, 3}));
}

TEST(ReadFile, ReadsHeredocsAndOverrides) {
    const auto file =
        read_file("a.md", "```bash\ncat <<EOF | kubectl apply -f -\n" + std::string(kPod) +
                              "EOF\nkubectl run x --image=a "
                              "--overrides='{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}'\n```\n");
    ASSERT_THAT(file->pods, SizeIs(2));
    EXPECT_EQ(file->pods[0].containers.front().gpu()->value->mark, (Mark{13, 25}));
    EXPECT_NE(file->pods[1].node_selector, nullptr);
    EXPECT_EQ(file->pods[1].node_selector->mark.line, 15U);
    ASSERT_THAT(file->commands, SizeIs(3));
    EXPECT_GE(file->commands[0].document, 0);
}

TEST(ReadFile, SplitsYamlThatStandsInAShellBlock) {
    const auto file = read_file(
        "a.md", "```bash\nnvidia-smi -L\n\nresources:\n  limits:\n    nvidia.com/gpu: 1\n```\n");
    ASSERT_THAT(file->commands, SizeIs(1));
    ASSERT_THAT(file->pods, SizeIs(1));
    EXPECT_EQ(file->pods.front().containers.front().gpu()->value->mark.line, 6U);
}

TEST(ReadFile, AFenceWithoutAnEndEndsAtTheNextOne) {
    const auto file = read_file(
        "a.md",
        "```bash\nkubectl get nodes\n\n```yaml\nspec:\n  nodeSelector: {a: b}\n```\ntext\n");
    EXPECT_THAT(file->commands, SizeIs(1));
    EXPECT_THAT(file->pods, SizeIs(1));
}

TEST(ReadFile, ReadsRstAndAsciidocBlocks) {
    const auto rst = read_file(
        "a.rst", "Title\n=====\n\n.. code-block:: console\n\n   $ kubectl get nodes\n\nText.\n");
    ASSERT_THAT(rst->commands, SizeIs(1));
    EXPECT_EQ(rst->commands.front().mark, (Mark{6, 6}));
    const auto adoc =
        read_file("a.adoc", "= Title\n\n[source,bash]\n----\nkubectl get nodes\n----\n");
    ASSERT_THAT(adoc->commands, SizeIs(1));
    EXPECT_EQ(adoc->commands.front().mark.line, 5U);
}

TEST(ReadFile, ReadsStagesOfADockerfile) {
    const auto file = read_file(
        "Dockerfile",
        "ARG V=12.4.1\nFROM nvidia/cuda:${V}-devel-ubuntu22.04 AS build\nRUN apt-get update && \\\n"
        "    # comment\n    apt-get install -y nvidia-utils-535\nFROM build\nCOPY --from=build /a "
        "/b\n");
    ASSERT_THAT(file->stages, SizeIs(2));
    EXPECT_EQ(file->stages[0].image, "nvidia/cuda:12.4.1-devel-ubuntu22.04");
    EXPECT_EQ(file->stages[1].base_stage, 0);
    ASSERT_THAT(file->commands, SizeIs(2));
    EXPECT_EQ(file->commands[1].words.back().text, "nvidia-utils-535");
    EXPECT_EQ(file->commands[1].words.back().mark, (Mark{5, 24}));
}

TEST(ReadFile, CutsQueriesIntoSelectors) {
    const auto file = read_file("a.md",
                                "```promql\n# use\nsum by (pod) "
                                "(rate(DCGM_FI_DEV_FB_USED{pod=~\"x.*\",gpu!=\"0\"}[5m]))\n```\n");
    ASSERT_THAT(file->expressions, SizeIs(1));
    ASSERT_THAT(file->expressions.front().selectors, SizeIs(1));
    const auto& selector = file->expressions.front().selectors.front();
    EXPECT_EQ(selector.metric, "DCGM_FI_DEV_FB_USED");
    EXPECT_EQ(selector.mark, (Mark{3, 20}));
    EXPECT_EQ(selector.range, "5m");
    EXPECT_THAT(selector.functions, ElementsAre("rate", "sum"));
    EXPECT_THAT(selector.grouping, ElementsAre("pod"));
    ASSERT_THAT(selector.matchers, SizeIs(2));
    EXPECT_EQ(selector.matchers[1].op, "!=");
}

TEST(ReadFile, DamagedBytesKeepLinesAndColumns) {
    std::string text = "\xe2\x80 \xff# GPU \x01\n" + std::string(kPod);
    const auto file = read_file("pod.yaml", text);
    EXPECT_EQ(file->text.size(), text.size());
    ASSERT_THAT(file->line_starts, SizeIs(12));
}

TEST(ReadFile, TablesHaveCells) {
    const auto file = read_file("a.md", "| GPU | MIG |\n|---|---|\n| **A2** | `no` |\n");
    ASSERT_THAT(file->tables, SizeIs(1));
    ASSERT_THAT(file->tables.front().rows, SizeIs(2));
    EXPECT_EQ(file->tables.front().rows[1][0].text, "A2");
    EXPECT_EQ(file->tables.front().rows[1][1].mark, (Mark{3, 12}));
}

TEST(ReadFile, BinaryAndHugeInputIsEmpty) {
    EXPECT_THAT(read_file("a.yaml", std::string("a\0b: c\n", 7))->objects, IsEmpty());
    EXPECT_THAT(read_file("a.yaml", std::string(11U << 20U, 'a'))->text, IsEmpty());
}

TEST(ReadFile, ARuleOfAFileIsCutWithItsPlaces) {
    const auto file = read_file("rules.yaml",
                                "groups:\n"
                                "- name: gpu\n"
                                "  rules:\n"
                                "  - alert: Hot\n"
                                "    expr: max(DCGM_FI_DEV_GPU_TEMP) > 85\n"
                                "    for: 5m\n");
    ASSERT_EQ(file->expressions.size(), 1U);
    const auto& expression = file->expressions[0];
    EXPECT_EQ(expression.alert, "Hot");
    EXPECT_EQ(expression.duration, "5m");
    ASSERT_EQ(expression.selectors.size(), 1U);
    EXPECT_EQ(expression.selectors[0].mark, (Mark{5, 15}));
}

}  // namespace
}  // namespace aliquot::lint
