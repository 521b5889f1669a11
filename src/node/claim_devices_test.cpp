// SPDX-License-Identifier: Apache-2.0
#include "node/claim_devices.h"

#include <gtest/gtest.h>

#include "kube_client/stub_api.h"

namespace aliquot::node {
namespace {

using kube_client::Outcome;
using kube_client::Reply;
using kube_client::Request;

constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/resourceclaims";

std::string slice(const std::string& driver, int generation, const std::string& devices,
                  const std::string& reach = R"("nodeName":"gpu-1")") {
    return R"({"spec":{"driver":")" + driver + R"(","pool":{"name":"gpu-1","generation":)" +
           std::to_string(generation) + R"(,"resourceSliceCount":1},)" + reach + R"(,"devices":[)" +
           devices + "]}}";
}

std::string claim(const std::string& results, const std::string& pods) {
    return R"({"spec":{},"status":{"allocation":{"devices":{"results":[)" + results +
           R"(]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",)"
           R"("operator":"In","values":["gpu-2"]}]}]}},"reservedFor":[)" +
           pods + "]}}";
}

std::string result(const std::string& pool, const std::string& device, const std::string& more) {
    return R"({"request":"gpu","driver":"gpu.aliquot.dev","pool":")" + pool + R"(","device":")" +
           device + "\"" + more + "}";
}

TEST(ClaimDevices, AreThoseOfTheNewestGenerationWithWhoHasThem) {
    kube_client::StubApi api;
    api.put(kSlices, {"", "old"}, slice("gpu.aliquot.dev", 1, R"({"name":"gone"})"));
    api.put(kSlices, {"", "new"},
            slice("gpu.aliquot.dev", 2,
                  R"({"name":"gpu-0","allowMultipleAllocations":true,"attributes":{"type":)"
                  R"({"string":"gpu"},"uuid":{"string":"GPU-a"},"productName":{"string":)"
                  R"("NVIDIA A2"},"memoryMiB":{"int":15356}},"capacity":{"memory":{"value":)"
                  R"("15104Mi"}}},{"name":"gpu-1","taints":[{"key":"a/b","effect":)"
                  R"("NoSchedule"}]},{"name":"gpu-2","taints":[{"key":"a/b","effect":"None"}]})"));
    api.put(kSlices, {"", "nic"}, slice("nic.example.com", 1, R"({"name":"eth0"})"));
    api.put(kSlices, {"", "far"},
            slice("gpu.example.com", 1, R"({"name":"far"})", R"("allNodes":true)"));
    api.put(kClaims, {"ai", "b"},
            claim(result("gpu-1", "gpu-0",
                         R"(,"shareID":"s","consumedCapacity":{"memory":"3Gi",)"
                         R"("compute":"25"})"),
                  R"({"resource":"pods","name":"train","uid":"u"})"));
    api.put(kClaims, {"ai", "a"}, claim(result("gpu-1", "gpu-0", ""), ""));
    api.put(kClaims, {"ai", "watch"},
            claim(result("gpu-1", "gpu-2", R"(,"adminAccess":true)"), ""));
    api.put(kClaims, {"ai", "lost"}, claim(result("gpu-2", "gpu-9", ""), ""));
    api.put(kClaims, {"ai", "free"}, R"({"spec":{}})");
    const auto read = read_claim_devices(api, {});
    ASSERT_TRUE(read) << read.failure().message;
    ASSERT_EQ(read->size(), 2U);
    const auto& here = read->at("gpu-1");
    ASSERT_EQ(here.size(), 3U);
    EXPECT_EQ(here[0].kind + " " + here[0].uuid + " " + here[0].model, "gpu GPU-a NVIDIA A2");
    EXPECT_TRUE(here[0].shared && here[0].usable());
    EXPECT_EQ(here[0].memory_mib, 15104U);
    EXPECT_EQ(here[0].gpu_memory_mib, 15356U);
    EXPECT_EQ(here[0].held, (std::vector<ClaimShare>{
                                {.claim = "ai/a", .pods = {}, .takes = ""},
                                {.claim = "ai/b", .pods = {"ai/train"}, .takes = "3Gi, 25 %"}}));
    EXPECT_FALSE(here[1].usable());
    EXPECT_TRUE(here[2].usable() && here[2].held.empty());
    const auto& elsewhere = read->at("gpu-2");
    EXPECT_EQ(elsewhere.at(0).name, "gpu-9");
    EXPECT_FALSE(elsewhere[0].usable()) << "nobody publishes it";
}

/// A GPU of two slices of memory, whole and as a MIG device at each.
std::string cut_gpu() {
    const auto device = [](const std::string& name, const std::string& type, unsigned slices) {
        return R"({"name":")" + name + R"(","attributes":{"type":{"string":")" + type +
               R"("}},"consumesCounters":[{"counterSet":"gpu-0","counters":{"memory-slices":)" +
               R"({"value":")" + std::to_string(slices) + R"("}}}]})";
    };
    return device("gpu-0", "gpu", 2) + "," + device("half-0", "mig", 1) + "," +
           device("half-1", "mig", 1);
}

TEST(ClaimDevices, DoNotFitWhereClaimsHoldTheirCounters) {
    kube_client::StubApi api;
    api.put(kSlices, {"", "counters"},
            R"({"spec":{"driver":"gpu.aliquot.dev","pool":{"name":"gpu-1","generation":1,)"
            R"("resourceSliceCount":2},"nodeName":"gpu-1","sharedCounters":[{"name":"gpu-0",)"
            R"("counters":{"memory-slices":{"value":"2"}}}]}})");
    api.put(kSlices, {"", "devices"}, slice("gpu.aliquot.dev", 1, cut_gpu()));
    const auto fit = [&] {
        std::string names;
        const auto read = read_claim_devices(api, {});
        if (!read) return read.failure().message;
        for (const ClaimDevice& one : read->at("gpu-1")) names += one.fits ? one.name + " " : "";
        return names;
    };
    EXPECT_EQ(fit(), "gpu-0 half-0 half-1 ");
    api.put(kClaims, {"ai", "a"}, claim(result("gpu-1", "half-0", ""), ""));
    EXPECT_EQ(fit(), "half-0 half-1 ") << "what is held fits, and the whole GPU does not beside it";
    api.put(kClaims, {"ai", "a"}, claim(result("gpu-1", "gpu-0", ""), ""));
    EXPECT_EQ(fit(), "gpu-0 ");
}

TEST(ClaimDevices, OfAClusterWithoutClaimsAreNone) {
    kube_client::StubApi api;
    api.before = [](const Request& request) -> std::optional<Outcome<Reply>> {
        if (request.path.find("resource.k8s.io") == std::string::npos) return std::nullopt;
        return Reply{404, "404 page not found"};
    };
    const auto none = read_claim_devices(api, {});
    ASSERT_TRUE(none) << none.failure().message;
    EXPECT_TRUE(none->empty());
    api.before = [](const Request&) -> std::optional<Outcome<Reply>> {
        return Reply{403, R"({"kind":"Status","reason":"Forbidden","message":"no"})"};
    };
    EXPECT_FALSE(read_claim_devices(api, {}));
}

}  // namespace
}  // namespace aliquot::node
