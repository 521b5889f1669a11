// SPDX-License-Identifier: Apache-2.0
#include "kube_client/object.h"

#include <gtest/gtest.h>

#include "kube_client/page.h"
#include "kube_client/store.h"
#include "kube_client/version_order.h"

namespace aliquot::kube_client {
namespace {

constexpr const char* kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"u-1","resourceVersion":"42","generation":3,"deletionTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","a/b":"c"},"annotations":{"n":"\"q\""},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u-0","controller":true}],"finalizers":["x/y"],"managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{}}}]},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}},{"name":"d","image":"j"}]},"status":{"phase":"Running","ready":true,"count":5}})";

TEST(Object, IsReadWithWhatEverybodyNeeds) {
    const auto object = read_object(std::string(kPod) + "\n");
    ASSERT_TRUE(object);
    EXPECT_EQ(object->json, kPod);
    EXPECT_EQ(to_text(object->key()), "shop/web");
    EXPECT_EQ(object->uid, "u-1");
    EXPECT_EQ(object->resource_version, "42");
}

TEST(Object, TellsItsMetadata) {
    const auto metadata = read_metadata(kPod);
    ASSERT_TRUE(metadata);
    EXPECT_EQ(metadata->generation, 3);
    EXPECT_TRUE(metadata->deleting);
    EXPECT_EQ(metadata->labels.at("a/b"), "c");
    EXPECT_EQ(metadata->annotations.at("n"), "\"q\"");
    ASSERT_EQ(metadata->owners.size(), 1U);
    EXPECT_TRUE(metadata->owners[0].controller);
    EXPECT_EQ(metadata->finalizers, std::vector<std::string>{"x/y"});
}

TEST(Object, AnswersByPointer) {
    EXPECT_EQ(string_at(kPod, "/spec/nodeName"), "n1");
    EXPECT_EQ(string_at(kPod, "/metadata/labels/a~1b"), "c");
    EXPECT_EQ(string_at(kPod, "/spec/containers/1/image"), "j");
    EXPECT_EQ(integer_at(kPod, "/status/count"), 5);
    EXPECT_EQ(bool_at(kPod, "/status/ready"), true);
    EXPECT_EQ(json_at(kPod, "/spec/containers/0/resources"),
              R"({"limits":{"nvidia.com/gpu":"1"}})");
    EXPECT_FALSE(string_at(kPod, "/spec/none"));
    EXPECT_FALSE(string_at(kPod, "/status/count"));
    EXPECT_FALSE(integer_at("no json", "/a"));
}

TEST(Object, RefusesWhatIsNone) {
    for (const char* const text : {"", "[]", "3", "{", R"({"kind":"Pod"})", R"({"metadata":3})"}) {
        EXPECT_FALSE(read_object(text)) << text;
        EXPECT_FALSE(read_metadata(text)) << text;
    }
}

TEST(Projection, KeepsNamedFieldsThroughLists) {
    const auto keep = keep_fields(
        {"metadata.labels", "spec.nodeName", "spec.containers.name", "spec.containers.resources"});
    EXPECT_EQ(
        keep(kPod),
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"u-1","resourceVersion":"42","labels":{"app":"web","a/b":"c"}},"spec":{"nodeName":"n1","containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}},{"name":"d"}]}})");
    EXPECT_EQ(keep("garbage"), "garbage");
}

TEST(Page, NamesTheKindOfItsItems) {
    const auto page = read_page(
        R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a","managedFields":[]}},{"kind":"Other","metadata":{"name":"b"}}]})",
        "list pods", false);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->resource_version, "9");
    EXPECT_EQ(page->next, "t");
    ASSERT_EQ(page->items.size(), 2U);
    EXPECT_EQ(page->items[0].json, R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}})");
    EXPECT_EQ(page->items[1].json, R"({"kind":"Other","metadata":{"name":"b"}})");
}

TEST(Page, IsTheSameInWhateverPiecesItComes) {
    const std::string text =
        R"( {"metadata" : {"resourceVersion":"9","items":["no"]}, "x":{"items":[{}]}, "s":"\"items\":[",)"
        R"("items" : [ {"metadata":{"name":"a \\\" ]}"}} , {"kind":"O","metadata":{"name":"b"},"c":[{"d":"}"}]} ],)"
        R"("kind":"PodList","apiVersion":"v1"} )";
    const auto whole = read_page(text, "list", true);
    ASSERT_TRUE(whole) << whole.failure().message;
    ASSERT_EQ(whole->items.size(), 2U);
    EXPECT_EQ(whole->items[0].name, "a \\\" ]}");
    EXPECT_TRUE(whole->items[0].json.starts_with(R"({"kind":"Pod","apiVersion":"v1","metadata")"))
        << whole->items[0].json;
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        ListReader reader({.what = "list"});
        ASSERT_TRUE(reader.take(std::string_view(text).substr(0, cut))) << cut;
        ASSERT_TRUE(reader.take(std::string_view(text).substr(cut))) << cut;
        const auto page = reader.finish();
        ASSERT_TRUE(page) << cut;
        EXPECT_EQ(page->resource_version, "9");
        EXPECT_EQ(page->items[0].json, whole->items[0].json);
        EXPECT_EQ(page->items[1].json, whole->items[1].json);
    }
}

TEST(Page, OfNothingIsEmptyAndOfGarbageIsRefused) {
    const auto empty = read_page(R"({"kind":"PodList","items":null,"metadata":{}})", "list", true);
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->items.empty());
    for (const char* const text : {"", "[]", R"({"items":{}})", R"({"items":[3]})",
                                   R"({"items":[{"metadata":{}}]})", R"({"items":[)"}) {
        const auto page = read_page(text, "list pods", true);
        ASSERT_FALSE(page) << text;
        EXPECT_TRUE(page.failure().is(Reason::kMalformed));
    }
}

TEST(Resource, HasThePathsOfTheServer) {
    EXPECT_EQ(path_of(resources::pods(), {"a", "b"}, "status"),
              "/api/v1/namespaces/a/pods/b/status");
    EXPECT_EQ(path_of(resources::pods(), {}), "/api/v1/pods");
    EXPECT_EQ(path_of(resources::nodes(), {"ignored", "n"}), "/api/v1/nodes/n");
    EXPECT_EQ(path_of(resources::leases(), {"kube-system", "x"}),
              "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x");
    EXPECT_EQ(path_of(resources::pods(), {"a", "../b?c"}), "/api/v1/namespaces/a/pods/..%2Fb%3Fc");
}

TEST(VersionOrder, ComparesNumbersAndNothingElse) {
    EXPECT_TRUE(is_older("9", "10"));
    EXPECT_TRUE(is_older("18446744073709551616", "18446744073709551617"));
    EXPECT_FALSE(is_older("10", "9"));
    EXPECT_FALSE(is_older("10", "10"));
    EXPECT_FALSE(is_older("a", "b"));
    EXPECT_FALSE(is_older("", "1"));
    EXPECT_FALSE(is_older("01", "2"));
}

TEST(Strings, AreThoseOfAnObject) {
    const std::string map = R"({"data":{"a":"1","b":2,"c":"x\ny"}})";
    EXPECT_EQ(strings_at(map, "/data"),
              (std::map<std::string, std::string>{{"a", "1"}, {"c", "x\ny"}}));
    EXPECT_TRUE(strings_at(map, "/binaryData").empty());
    EXPECT_TRUE(strings_at("[", "/data").empty());
}

}  // namespace
}  // namespace aliquot::kube_client
