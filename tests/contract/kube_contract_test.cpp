// SPDX-License-Identifier: Apache-2.0
//
// What our client expects of an API server: reads and writes. With ALIQUOT_TEST_KUBECONFIG set the
// same questions are put to a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/kube_world.h"

namespace aliquot::contract {
namespace {

using kube_client::PatchKind;
using kube_client::Reason;
using namespace kube_client::resources;
using testing::Contains;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Api, KubeContract,
                         testing::Values(KubeParam{"real", &real_kube_world},
                                         KubeParam{"simulated", &simulated_kube_world}),
                         [](const auto& test) { return test.param.name; });

constexpr const char* kConfigMap = R"({"metadata":{"name":"a"},"data":{"k":"v"}})";

TEST_P(KubeContract, KeepsWhatIsMade) {
    const auto made = make(config_maps(), kConfigMap);
    EXPECT_FALSE(made.uid.empty());
    EXPECT_FALSE(made.resource_version.empty());
    const auto got = api().get(config_maps(), key("a"));
    ASSERT_TRUE(got) << got.failure().message;
    EXPECT_EQ(got->uid, made.uid);
    EXPECT_EQ(kube_client::string_at(got->json, "/data/k"), "v");
    const auto again = api().create(config_maps(), space_, kConfigMap);
    ASSERT_FALSE(again);
    EXPECT_TRUE(again.failure().is(Reason::kAlreadyExists)) << again.failure().message;
    const auto missing = api().get(config_maps(), key("b"));
    ASSERT_FALSE(missing);
    EXPECT_TRUE(missing.failure().is(Reason::kNotFound));
    EXPECT_EQ(missing.failure().message,
              "get configmaps " + space_ + R"(/b: NotFound (404): configmaps "b" not found)");
}

TEST_P(KubeContract, RefusesAStaleReplacement) {
    auto first = make(config_maps(), kConfigMap);
    ASSERT_TRUE(api().patch(config_maps(), key("a"), R"({"data":{"k":"w"}})"));
    const auto stale = api().replace(config_maps(), key("a"), first.json);
    ASSERT_FALSE(stale);
    EXPECT_TRUE(stale.failure().is(Reason::kConflict)) << stale.failure().message;
    const auto fresh = api().get(config_maps(), key("a"));
    ASSERT_TRUE(fresh);
    EXPECT_TRUE(api().replace(config_maps(), key("a"), fresh->json));
}

TEST_P(KubeContract, NamesTheFieldsThatAreInvalid) {
    const auto made = api().create(
        pods(), space_,
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"UPPER"},"spec":{"containers":[]}})");
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.failure().is(Reason::kInvalid)) << made.failure().message;
    std::vector<std::string> fields;
    for (const auto& cause : made.failure().causes) fields.push_back(cause.field);
    EXPECT_THAT(fields, Contains("metadata.name"));
    EXPECT_THAT(fields, Contains("spec.containers"));
}

TEST_P(KubeContract, PatchesInEachOfItsWays) {
    make(
        deployments(),
        R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"one","image":"i:1"},{"name":"two","image":"j:1"}]}}}})");
    const auto deployment = key("d");
    auto patched = api().patch(
        deployments(), deployment,
        R"({"spec":{"template":{"spec":{"containers":[{"name":"two","image":"j:2"}]}}}})",
        {.kind = PatchKind::kStrategic});
    ASSERT_TRUE(patched) << patched.failure().message;
    EXPECT_EQ(kube_client::string_at(patched->json, "/spec/template/spec/containers/0/image"),
              "i:1");
    EXPECT_EQ(kube_client::string_at(patched->json, "/spec/template/spec/containers/1/image"),
              "j:2");

    patched =
        api().patch(deployments(), deployment,
                    R"([{"op":"test","path":"/spec/template/spec/containers/1/image","value":"j:2"},
                              {"op":"remove","path":"/spec/template/spec/containers/0"}])",
                    {.kind = PatchKind::kJson});
    ASSERT_TRUE(patched) << patched.failure().message;
    EXPECT_EQ(kube_client::string_at(patched->json, "/spec/template/spec/containers/0/image"),
              "j:2");
    const auto failed = api().patch(deployments(), deployment,
                                    R"([{"op":"test","path":"/metadata/name","value":"other"}])",
                                    {.kind = PatchKind::kJson});
    ASSERT_FALSE(failed);
    EXPECT_TRUE(failed.failure().is(Reason::kInvalid)) << failed.failure().message;

    patched = api().patch(deployments(), deployment, R"({"metadata":{"annotations":{"x":"1"}}})",
                          {.kind = PatchKind::kMerge});
    ASSERT_TRUE(patched);
    EXPECT_EQ(kube_client::string_at(patched->json, "/metadata/annotations/x"), "1");
}

TEST_P(KubeContract, TellsWhichFieldsAnotherManagerOwns) {
    const auto body = [](const char* value) {
        return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":")" +
               std::string(value) + R"("}})";
    };
    const auto made = api().apply(config_maps(), key("a"), body("1"));
    ASSERT_TRUE(made) << made.failure().message;
    const auto same = api().apply(config_maps(), key("a"), body("1"));
    ASSERT_TRUE(same);
    EXPECT_EQ(same->resource_version, made->resource_version);  // nothing to do is not a change
    const kube_client::WriteOptions other{.field_manager = "other"};
    const auto refused = api().apply(config_maps(), key("a"), body("2"), false, other);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.failure().is(Reason::kConflict));
    ASSERT_EQ(refused.failure().causes.size(), 1U);
    EXPECT_EQ(refused.failure().causes[0].type, "FieldManagerConflict");
    EXPECT_EQ(refused.failure().causes[0].field, ".data.k");
    EXPECT_THAT(refused.failure().causes[0].message, HasSubstr("aliquot"));
    const auto forced = api().apply(config_maps(), key("a"), body("2"), true, other);
    ASSERT_TRUE(forced) << forced.failure().message;
    EXPECT_EQ(kube_client::string_at(forced->json, "/data/k"), "2");
    // What a manager no longer names goes, when nobody else owns it.
    const auto less = api().apply(
        config_maps(), key("a"),
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})", false, other);
    ASSERT_TRUE(less) << less.failure().message;
    EXPECT_FALSE(kube_client::string_at(less->json, "/data/k"));
}

TEST_P(KubeContract, DoesNothingOnADryRun) {
    EXPECT_TRUE(api().create(config_maps(), space_, kConfigMap, {.dry_run = true}));
    EXPECT_FALSE(api().get(config_maps(), key("a")));
    make(config_maps(), kConfigMap);
    EXPECT_TRUE(api().remove(config_maps(), key("a"), {.dry_run = true}));
    EXPECT_TRUE(api().get(config_maps(), key("a")));
}

TEST_P(KubeContract, RemovesOnlyWhatIsMeant) {
    const auto made = make(config_maps(), kConfigMap);
    const auto other = api().remove(config_maps(), key("a"), {.uid = "00000000-0000"});
    ASSERT_FALSE(other);
    EXPECT_TRUE(other.failure().is(Reason::kConflict)) << other.failure().message;
    ASSERT_TRUE(api().patch(config_maps(), key("a"), R"({"data":{"k":"w"}})"));
    const auto changed =
        api().remove(config_maps(), key("a"), {.resource_version = made.resource_version});
    ASSERT_FALSE(changed);
    EXPECT_TRUE(changed.failure().is(Reason::kConflict)) << changed.failure().message;
    EXPECT_TRUE(api().remove(config_maps(), key("a"), {.uid = made.uid}));
    const auto gone = api().remove(config_maps(), key("a"));
    ASSERT_FALSE(gone);
    EXPECT_TRUE(gone.failure().is(Reason::kNotFound));
}

TEST_P(KubeContract, ListsInChunksBySelector) {
    for (int i = 0; i < 7; ++i) {
        make(config_maps(), R"({"metadata":{"name":"m)" + std::to_string(i) +
                                R"(","labels":{"odd":")" + std::to_string(i % 2) + R"("}}})");
    }
    const auto all =
        api().list(config_maps(), {.namespace_name = space_, .label_selector = "odd", .chunk = 3});
    ASSERT_TRUE(all) << all.failure().message;
    ASSERT_EQ(all->items.size(), 7U);
    EXPECT_EQ(all->items[0].name, "m0");
    EXPECT_EQ(kube_client::string_at(all->items[6].json, "/kind"), "ConfigMap");
    EXPECT_FALSE(all->resource_version.empty());
    const auto odd =
        api().list(config_maps(), {.namespace_name = space_, .label_selector = "odd in (1)"});
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->items.size(), 3U);
    const auto one =
        api().list(config_maps(), {.namespace_name = space_, .field_selector = "metadata.name=m4"});
    ASSERT_TRUE(one);
    ASSERT_EQ(one->items.size(), 1U);
    EXPECT_EQ(one->items[0].name, "m4");
    const auto bare = api().list(config_maps(), {.namespace_name = space_, .metadata_only = true});
    ASSERT_TRUE(bare) << bare.failure().message;
    EXPECT_EQ(kube_client::string_at(bare->items[0].json, "/kind"), "PartialObjectMetadata");
    const auto bad = api().list(config_maps(), {.label_selector = "a in"});
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.failure().http_status, 400);
}

TEST_P(KubeContract, KeepsStatusAndSpecApart) {
    make_pod("p");
    const auto status = api().patch(
        pods(), key("p"), R"({"status":{"phase":"Running"},"metadata":{"labels":{"x":"1"}}})",
        {.write = {.subresource = "status"}});
    ASSERT_TRUE(status) << status.failure().message;
    EXPECT_EQ(kube_client::string_at(status->json, "/status/phase"), "Running");
    const auto other = api().patch(pods(), key("p"), R"({"status":{"phase":"Failed"}})");
    ASSERT_TRUE(other);
    EXPECT_EQ(kube_client::string_at(other->json, "/status/phase"), "Running");
}

TEST_P(KubeContract, Scales) {
    make(
        deployments(),
        R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    const auto scale = api().get_scale(deployments(), key("d"));
    ASSERT_TRUE(scale) << scale.failure().message;
    EXPECT_EQ(scale->desired, 1U);
    const auto more = api().set_scale(deployments(), key("d"), 3, scale->resource_version);
    ASSERT_TRUE(more) << more.failure().message;
    EXPECT_EQ(more->desired, 3U);
    const auto stale = api().set_scale(deployments(), key("d"), 4, scale->resource_version);
    ASSERT_FALSE(stale);
    EXPECT_TRUE(stale.failure().is(Reason::kConflict)) << stale.failure().message;
    const auto deployment = api().get(deployments(), key("d"));
    EXPECT_EQ(kube_client::integer_at(deployment->json, "/spec/replicas"), 3);
}

TEST_P(KubeContract, BindsAPodOnce) {
    make_pod("p");
    const auto bound = api().bind(key("p"), "some-node");
    ASSERT_TRUE(bound) << bound.failure().message;
    const auto pod = api().get(pods(), key("p"));
    EXPECT_EQ(kube_client::string_at(pod->json, "/spec/nodeName"), "some-node");
    const auto again = api().bind(key("p"), "other-node");
    ASSERT_FALSE(again);
    EXPECT_TRUE(again.failure().is(Reason::kConflict)) << again.failure().message;
}

TEST_P(KubeContract, EvictsUnlessABudgetForbidsIt) {
    make_pod("free");
    const auto evicted = api().evict(key("free"), 0);
    EXPECT_TRUE(evicted) << evicted.failure().message;

    make_pod("kept", R"({"app":"kept"})");
    ASSERT_TRUE(api().bind(key("kept"), "some-node"));
    ASSERT_TRUE(api().patch(
        pods(), key("kept"),
        R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
        {.write = {.subresource = "status"}}));
    const kube_client::Resource budgets{"policy", "v1", "poddisruptionbudgets",
                                        "PodDisruptionBudget"};
    make(
        budgets,
        R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"kept"}}}})");
    const auto refused = api().evict(key("kept"));
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.failure().is(Reason::kTooManyRequests)) << refused.failure().message;
    ASSERT_FALSE(refused.failure().causes.empty());
    EXPECT_EQ(refused.failure().causes[0].type, "DisruptionBudget");

    const auto allow = [&](const char* budget, const char* status) {
        const auto done =
            api().patch(budgets, key(budget), status, {.write = {.subresource = "status"}});
        EXPECT_TRUE(done) << done.failure().message;
    };
    allow("b", R"({"status":{"disruptionsAllowed":1,"observedGeneration":0}})");
    const auto early = api().evict(key("kept"));
    ASSERT_FALSE(early) << "its status is about an older spec";
    EXPECT_TRUE(early.failure().is(Reason::kTooManyRequests)) << early.failure().message;
    allow("b", R"({"status":{"observedGeneration":1}})");
    EXPECT_TRUE(api().evict(key("kept"), {}, {.dry_run = true}));
    make(budgets, R"({"metadata":{"name":"all"},"spec":{"maxUnavailable":1,"selector":{}}})");
    allow("all", R"({"status":{"disruptionsAllowed":1,"observedGeneration":1}})");
    const auto never = api().evict(key("kept"));
    ASSERT_FALSE(never) << "two budgets are never asked";
    EXPECT_EQ(never.failure().http_status, 500);
    EXPECT_TRUE(api().remove(pods(), key("kept"), {.grace_seconds = 0}));
}

TEST_P(KubeContract, FindsResourcesByName) {
    for (const char* const name : {"po", "Pod", "pods", "pod"}) {
        const auto found = api().find_resource("", name);
        ASSERT_TRUE(found) << found.failure().message;
        EXPECT_EQ(*found, pods());
    }
    EXPECT_EQ(*api().find_resource("coordination.k8s.io/v1", "Lease"), leases());
    EXPECT_EQ(*api().find_resource("", "deploy"), deployments());
    EXPECT_TRUE(api().find_resource("", "Unheardof").failure().is(Reason::kNotFound));
    const auto version = api().get_raw("/version");
    ASSERT_TRUE(version);
    EXPECT_EQ(kube_client::string_at(*version, "/major"), "1");
}

}  // namespace
}  // namespace aliquot::contract
