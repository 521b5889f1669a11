// SPDX-License-Identifier: Apache-2.0
#include "kube_client/store.h"

#include <gtest/gtest.h>

namespace aliquot::kube_client {
namespace {

std::vector<Index> by_node() {
    return {{"node", [](const Object& object) {
                 std::vector<std::string> words;
                 if (auto node = string_at(object.json, "/spec/nodeName")) {
                     words.push_back(*std::move(node));
                 }
                 return words;
             }}};
}

StoredObject pod(const std::string& name, const std::string& node,
                 const std::string& version = "") {
    return std::make_shared<const Object>(
        Object{.json = R"({"metadata":{"name":")" + name + R"("},"spec":{"nodeName":")" + node +
                       R"(","restartPolicy":"Always","schedulerName":"default-scheduler"}})",
               .namespace_name = "a",
               .name = name,
               .uid = "uid-" + name,
               .resource_version = version});
}

TEST(Store, FindsByKeyAndIndex) {
    Store store(by_node());
    EXPECT_EQ(store.put(pod("p", "n1")), nullptr);
    store.put(pod("q", "n1"));
    EXPECT_EQ(store.by_index("node", "n1").size(), 2U);
    const auto before = store.put(pod("p", "n2"));
    ASSERT_NE(before, nullptr);
    EXPECT_EQ(store.by_index("node", "n1").size(), 1U);
    EXPECT_EQ(store.by_index("node", "n2").size(), 1U);
    EXPECT_TRUE(store.by_index("other", "n2").empty());
    EXPECT_NE(store.erase({"a", "p"}), nullptr);
    EXPECT_TRUE(store.by_index("node", "n2").empty());
    EXPECT_EQ(store.size(), 1U);
    EXPECT_EQ(store.find({"a", "p"}), nullptr);
}

TEST(Store, KeepsManyAsItKeepsFew) {
    constexpr unsigned kMany = 3000;
    Store store(by_node());
    for (unsigned i = 0; i < kMany; ++i) {
        const std::string id = std::to_string(i);
        EXPECT_EQ(store.put(pod("p" + id, "n" + std::to_string(i % 10), id)), nullptr);
    }
    ASSERT_EQ(store.size(), kMany);
    EXPECT_EQ(store.by_index("node", "n7").size(), kMany / 10);
    for (unsigned i = 0; i < kMany; ++i) {
        const std::string id = std::to_string(i);
        const auto wanted = pod("p" + id, "n" + std::to_string(i % 10), id);
        const auto found = store.find(wanted->key());
        ASSERT_NE(found, nullptr) << id;
        EXPECT_EQ(found->json, wanted->json);
        EXPECT_EQ(found->uid, wanted->uid);
        const auto head = store.head(wanted->key());
        ASSERT_TRUE(head);
        EXPECT_EQ(head->uid, wanted->uid);
        EXPECT_EQ(head->resource_version, id);
    }
    const auto before = store.put(pod("p2999", "elsewhere"));
    ASSERT_NE(before, nullptr);
    EXPECT_EQ(before->resource_version, "2999");
    EXPECT_EQ(store.by_index("node", "n9").size(), kMany / 10 - 1);
    EXPECT_EQ(store.put(pod("p2999", "elsewhere"), false), nullptr);
    EXPECT_EQ(store.by_index("node", "elsewhere").size(), 1U);
    std::size_t seen = 0;
    store.visit([&](const Object& object) { seen += object.json.empty() ? 0 : 1; });
    EXPECT_EQ(seen, kMany);
    EXPECT_EQ(store.all().size(), kMany);
    for (const auto& key : store.keys()) EXPECT_NE(store.erase(key), nullptr);
    EXPECT_EQ(store.size(), 0U);
    EXPECT_TRUE(store.by_index("node", "n1").empty());
}

}  // namespace
}  // namespace aliquot::kube_client
