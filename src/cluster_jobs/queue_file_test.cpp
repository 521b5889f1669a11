// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/queue_file.h"

#include <gtest/gtest.h>

#include "document/path.h"

namespace aliquot::cluster_jobs {
namespace {

using document::text_at;
using document::Value;

std::vector<Value> objects_of(std::string_view text) {
    auto made = read_queue_file(text);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : std::vector<Value>{};
}

std::string refusal_of(std::string_view text) {
    const auto made = read_queue_file(text);
    return made ? "accepted" : made.error().message;
}

TEST(QueueFile, BecomesFlavorsQueuesAndTheirLocalQueues) {
    const auto all = objects_of(
        "queues:\n"
        "- name: vision\n"
        "  namespaces: [vision, robots]\n"
        "  cohort: lab\n"
        "  gpus: {a100: 8, v100: 4}\n"
        "  borrow: {a100: 2}\n"
        "  reclaim: any\n"
        "  check-placement: true\n");
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(text_at(all[0], {"kind"}), "ResourceFlavor");
    EXPECT_EQ(text_at(all[0], {"spec", "nodeLabels", "accelerator"}), "nvidia-tesla-a100");
    EXPECT_EQ(text_at(all[2], {"spec", "controllerName"}), "aliquot.dev/placement");
    const Value& queue = all[3];
    EXPECT_EQ(text_at(queue, {"spec", "cohortName"}), "lab");
    EXPECT_EQ(text_at(queue, {"spec", "preemption", "reclaimWithinCohort"}), "Any");
    EXPECT_EQ(text_at(queue, "spec.resourceGroups.0.flavors.0.resources.2.nominalQuota"), "8");
    EXPECT_EQ(text_at(queue, "spec.resourceGroups.0.flavors.0.resources.2.borrowingLimit"), "2");
    EXPECT_EQ(text_at(queue, "spec.resourceGroups.0.flavors.1.resources.2.borrowingLimit"), "");
    EXPECT_EQ(text_at(queue, "spec.admissionChecksStrategy.admissionChecks.0.name"),
              text_at(all[2], {"metadata", "name"}));
    EXPECT_EQ(text_at(all[5], {"metadata", "namespace"}), "robots");
    EXPECT_EQ(text_at(all[5], {"spec", "clusterQueue"}), "vision");
}

TEST(QueueFile, TakesAFlavorThatItDescribesAndOfWhichTheCatalogueKnowsNothing) {
    const auto all = objects_of(
        "queues: [{name: q, gpus: {big: 1}}]\n"
        "flavors: [{name: big, labels: {pool: big}, tolerate: [nvidia.com/gpu]}]\n");
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(text_at(all[0], {"spec", "nodeLabels", "pool"}), "big");
    EXPECT_EQ(text_at(all[0], "spec.tolerations.0.operator"), "Exists");
}

TEST(QueueFile, NamesTheFieldThatIsWrong) {
    EXPECT_EQ(
        refusal_of("queues: [{name: q, gpu: {a100: 1}}]"),
        "queues[0]: 'gpu' is not a field, did you mean 'gpus'?; expected name, namespaces, cohort, "
        "gpus, borrow, lend, cpu, memory, order, preempt, reclaim, check-placement");
    const std::pair<const char*, const char*> wrong[] = {
        {"queues: []", "queues:"},
        {"queues: [{name: Q, gpus: {a100: 1}}]", "queues[0].name:"},
        {"queues: [{name: q}]", "queues[0].gpus:"},
        {"queues: [{name: q, gpus: {nosuch: 1}}]", "queues[0].gpus.nosuch:"},
        {"queues: [{name: q, gpus: {a100: -1}}]", "queues[0].gpus.a100:"},
        {"queues: [{name: q, gpus: {a100: 1}, borrow: {a100: 1}}]", "queues[0]:"},
        {"queues: [{name: q, cohort: c, gpus: {a100: 1}, borrow: {v100: 1}}]",
         "queues[0].borrow.v100:"},
        {"queues: [{name: q, gpus: {a100: 1}, order: lifo}]", "queues[0].order:"},
        {"queues: [{name: q, gpus: {a100: 1}}, {name: q, gpus: {a100: 1}}]", "queues[1].name:"},
        {"queues: [{name: q, gpus: {a100: 1}, namespaces: [a, a]}]", "queues[0].namespaces:"},
        {"queues: [{name: q, gpus: {a100: 1}, cpu: many}]", "queues[0].cpu:"},
        {"queues: [{name: q, gpus: {a100: 1}}]\nflavors: [{name: t4}]", "flavors:"},
        {"queues: 3", "queues:"},
        {"[]", "queues:"},
    };
    for (const auto& [text, path] : wrong) {
        EXPECT_TRUE(refusal_of(text).starts_with(path)) << text << "\n" << refusal_of(text);
    }
}

}  // namespace
}  // namespace aliquot::cluster_jobs
