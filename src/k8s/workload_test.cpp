// SPDX-License-Identifier: Apache-2.0
#include "k8s/workload.h"

#include <gtest/gtest.h>

#include "document/path.h"
#include "document/yaml.h"

namespace aliquot::k8s {
namespace {

document::Value object_of(const char* text) { return document::parse_yaml(text).documents.at(0); }

TEST(Workload, TellsWhereItsPodsAreSpecified) {
    struct Case {
        const char* text;
        std::optional<double> pods;
        const char* label;  // of the pods
    };
    for (const Case& one : {
             Case{"{kind: Pod, metadata: {labels: {a: pod}}, spec: {nodeName: here}}", {}, "pod"},
             Case{"{kind: Deployment, metadata: {labels: {a: own}}, spec: {replicas: 3, template: "
                  "{metadata: {labels: {a: made}}, spec: {nodeName: here}}}}",
                  3.0, "made"},
             Case{
                 "{kind: Job, spec: {parallelism: 4, completions: 8, template: {metadata: {labels: "
                 "{a: job}}, spec: {nodeName: here}}}}",
                 4.0, "job"},
             Case{
                 "{kind: CronJob, spec: {jobTemplate: {spec: {parallelism: 2, template: {metadata: "
                 "{labels: {a: cron}}, spec: {nodeName: here}}}}}}",
                 2.0, "cron"},
             Case{"{kind: InferenceThing, spec: {replicas: 5, template: {metadata: {labels: {a: "
                  "own}}, spec: {nodeName: here}}}}",
                  5.0, "own"},
         }) {
        const document::Value object = object_of(one.text);
        const Workload read = read_workload(object);
        ASSERT_NE(read.spec, nullptr) << one.text;
        EXPECT_EQ(text_at(read.spec, {"nodeName"}), "here") << one.text;
        EXPECT_EQ(text_at(read.metadata, {"labels", "a"}), one.label) << one.text;
        EXPECT_EQ(read.pods, one.pods) << one.text;
    }
}

TEST(Workload, OfAnythingElseHasNoPods) {
    for (const char* const text :
         {"{}", "[1]", "{kind: Service, spec: {ports: []}}",
          "{kind: CronJob, spec: {template: {spec: {}}}}", "{kind: Job, spec: 7}"}) {
        const document::Value object = object_of(text);
        EXPECT_EQ(read_workload(object).spec, nullptr) << text;
    }
    EXPECT_TRUE(is_workload("CronJob"));
    EXPECT_FALSE(is_workload("Service"));
}

}  // namespace
}  // namespace aliquot::k8s
