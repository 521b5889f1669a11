// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/apiserver/api_server.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim {
namespace {

constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

apiserver::Value parsed(const std::string& text) {
    auto read = apiserver::parse_json(text);
    return read ? read->value : apiserver::Value();
}

std::unique_ptr<ApiServer> server_of(ApiServerOptions options = {}) {
    auto server = ApiServer::start(std::move(options));
    return server ? std::move(*server) : nullptr;
}

std::string slice(const std::string& name, const std::string& spec) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"gpu.example.com",)" + spec +
           "}}";
}

const std::string kSharedGpu =
    R"("nodeName":"n1","pool":{"name":"n1","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0",)"
    R"("allowMultipleAllocations":true,"capacity":{"memory":{"value":"8Gi","requestPolicy":{"default":"8Gi",)"
    R"("validRange":{"min":"256Mi","max":"8Gi","step":"256Mi"}}}}}])";

const std::string kClaim =
    R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"gpu",)"
    R"("exactly":{"deviceClassName":"gpu.example.com"}}]}}})";

TEST(Devices, ASliceIsKeptAndFoundByItsFields) {
    const auto server = server_of();
    ASSERT_EQ(server->request("POST", kSlices, slice("a", kSharedGpu)).status, 201);
    const auto count = [&](const std::string& selector) {
        const auto list =
            server->request("GET", std::string(kSlices) + "?fieldSelector=" + selector);
        return parsed(list.body).at("items").size();
    };
    EXPECT_EQ(count("spec.nodeName%3Dn1"), 1U);
    EXPECT_EQ(count("spec.driver%3Dgpu.example.com"), 1U);
    EXPECT_EQ(count("spec.pool.name%3Dn1"), 1U);
    EXPECT_EQ(count("spec.nodeName%3Dn2"), 0U);
}

TEST(Devices, AWrongSliceIsRefusedWithEachField) {
    const auto server = server_of();
    const auto answer = server->request(
        "POST", kSlices,
        slice(
            "a",
            R"("pool":{"name":"n1","generation":1,"resourceSliceCount":0},"devices":[{"name":"GPU",)"
            R"("attributes":{"driverVersion":{"version":"580.65.06"}},"capacity":{"memory":{"value":"8Gi",)"
            R"("requestPolicy":{"default":"8Gi"}}}}])"));
    EXPECT_EQ(answer.status, 422);
    for (const char* part :
         {"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
          "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
          "required",
          "spec.devices[0].name", "must be a string compatible with semver.org spec 2.0.0",
          "spec.devices[0].capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations "
          "must be true"}) {
        EXPECT_NE(parsed(answer.body).at("message").text().find(part), std::string::npos)
            << part << "\n"
            << answer.body;
    }
}

TEST(Devices, FieldsOfAGateThatIsOffAreDropped) {
    ApiServerOptions options;
    options.disabled_features = {"DRAConsumableCapacity"};
    const auto server = server_of(options);
    const auto made = server->request("POST", kSlices, slice("a", kSharedGpu));
    ASSERT_EQ(made.status, 201) << made.body;
    const auto devices = parsed(made.body).at_path("spec.devices");
    EXPECT_TRUE(devices.items()[0].at("allowMultipleAllocations").is_null());
    EXPECT_TRUE(devices.items()[0].at_path("capacity.memory.requestPolicy").is_null());
    EXPECT_EQ(devices.items()[0].at_path("capacity.memory.value").text(), "8Gi");
}

TEST(Devices, AClaimGetsItsDefaultsAndKeepsItsSpec) {
    const auto server = server_of();
    const auto made = server->request("POST", kClaims, kClaim);
    ASSERT_EQ(made.status, 201) << made.body;
    auto claim = parsed(made.body);
    const auto exactly = claim.at_path("spec.devices.requests").items()[0].at("exactly");
    EXPECT_EQ(exactly.at("allocationMode").text(), "ExactCount");
    EXPECT_EQ(exactly.at("count").integer(), 1);
    claim["spec"]["devices"]["requests"].items()[0]["name"] = "other";
    const auto changed = server->request("PUT", std::string(kClaims) + "/c", to_json(claim));
    EXPECT_EQ(changed.status, 422);
    EXPECT_NE(changed.body.find("field is immutable"), std::string::npos);
}

TEST(Devices, AnAllocationIsCheckedAndStays) {
    const auto server = server_of();
    auto claim = parsed(server->request("POST", kClaims, kClaim).body);
    const std::string status = std::string(kClaims) + "/c/status";
    claim["status"]["reservedFor"] = parsed(R"([{"resource":"pods","name":"p","uid":"1"}])");
    const auto early = server->request("PUT", status, to_json(claim));
    EXPECT_NE(early.body.find("may not be specified when `allocated` is not set"),
              std::string::npos);
    claim["status"]["allocation"] = parsed(
        R"({"devices":{"results":[{"request":"gpu","driver":"gpu.example.com","pool":"n1","device":"gpu-0"}]}})");
    const auto allocated = server->request("PUT", status, to_json(claim));
    ASSERT_EQ(allocated.status, 200) << allocated.body;
    claim = parsed(allocated.body);
    claim["status"]["allocation"]["devices"]["results"].items()[0]["device"] = "gpu-1";
    EXPECT_EQ(server->request("PUT", status, to_json(claim)).status, 422);
    claim["status"] = apiserver::Value::object();
    EXPECT_EQ(server->request("PUT", status, to_json(claim)).status, 200);
}

TEST(Devices, CelOfClassesAndClaimsIsRead) {
    const auto server = server_of();
    const auto answer = server->request(
        "POST", "/apis/resource.k8s.io/v1/deviceclasses",
        R"({"metadata":{"name":"gpu.example.com"},"spec":{"extendedResourceName":"example.com/gpu",)"
        R"("selectors":[{"cel":{"expression":"device.driver = 'x'"}}]}})");
    EXPECT_EQ(answer.status, 422);
    EXPECT_NE(answer.body.find("1:15: CEL has no operator '=', use '=='"), std::string::npos)
        << answer.body;
}

TEST(Devices, AdminAccessNeedsTheLabelOfTheNamespace) {
    const auto server = server_of();
    const std::string claim =
        R"({"metadata":{"name":"m"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":)"
        R"({"deviceClassName":"gpu.example.com","adminAccess":true}}]}}})";
    EXPECT_EQ(server->request("POST", kClaims, claim).status, 422);
    ASSERT_EQ(
        server
            ->request(
                "POST", "/api/v1/namespaces",
                R"({"metadata":{"name":"ops","labels":{"resource.kubernetes.io/admin-access":"true"}}})")
            .status,
        201);
    EXPECT_EQ(
        server->request("POST", "/apis/resource.k8s.io/v1/namespaces/ops/resourceclaims", claim)
            .status,
        201);
}

}  // namespace
}  // namespace aliquot::sim
