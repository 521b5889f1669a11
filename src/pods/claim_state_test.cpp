// SPDX-License-Identifier: Apache-2.0
#include "pods/claim_state.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/json_text.h"
#include "os/temporary_directory.h"

namespace aliquot::pods {
namespace {

std::string file_of(const std::string& claims) {
    return R"({"Data":)" +
           json_quoted(R"({"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1",)"
                       R"("ClaimInfoStateList":)" +
                       claims + "}") +
           R"(,"Checksum":2570581864})";
}

TEST(ClaimState, IsReadAsKubeletWritesIt) {
    const auto holds = parse_claim_state(file_of(
        R"([{"ClaimUID":"u1","ClaimName":"gpu-x7","Namespace":"ai","PodUIDs":{"p1":{}},"DriverState":{)"
        R"("gpu.aliquot.dev":{"Devices":[{"PoolName":"n1","DeviceName":"gpu-0","ShareID":null,)"
        R"("RequestNames":["gpu"],"CDIDeviceIDs":["k8s.gpu.aliquot.dev/claim=u1-0.all.GPU-b"]},)"
        R"({"PoolName":"n1","DeviceName":"gpu-1","ShareID":null,"RequestNames":["gpu"],)"
        R"("CDIDeviceIDs":["k8s.gpu.aliquot.dev/claim=u1-1.all.GPU-a"]}]},)"
        R"("net.example":{"Devices":null}}}])"));
    ASSERT_TRUE(holds) << holds.error().message;
    EXPECT_EQ(*holds,
              (std::vector<ClaimHold>{{.claim = "ai/gpu-x7",
                                       .driver = "gpu.aliquot.dev",
                                       .ids = {"u1-0.all.GPU-b", "u1-1.all.GPU-a"}},
                                      {.claim = "ai/gpu-x7", .driver = "net.example", .ids = {}}}));
    for (const char* none : {"null", "[]"}) {
        const auto empty = parse_claim_state(file_of(none));
        ASSERT_TRUE(empty) << empty.error().message;
        EXPECT_TRUE(empty->empty());
    }
}

TEST(ClaimState, PassesNothingOver) {
    for (const std::string& text :
         {std::string("{}"), std::string("[]"), std::string(), std::string(R"({"Data":"{}"})"),
          std::string(R"({"Data":"{\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v2\"}"})"),
          file_of(R"({"a":1})"), file_of(R"([7])"), file_of(R"([{"ClaimName":"a"}])"),
          file_of(R"([{"ClaimName":"a","Namespace":"b","DriverState":[]}])"),
          file_of(R"([{"ClaimName":"a","Namespace":"b","DriverState":{"d":{"Devices":7}}}])"),
          file_of(R"([{"ClaimName":"a","Namespace":"b","DriverState":{"d":{"Devices":[)"
                  R"({"CDIDeviceIDs":[7]}]}}}])")}) {
        const auto holds = parse_claim_state(text);
        ASSERT_FALSE(holds) << text;
        EXPECT_EQ(holds.error().code, ErrorCode::kInvalidInput);
    }
}

TEST(ClaimState, OfAKubeletWithoutClaimsIsNone) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    const auto none = read_claim_state(root, "/state");
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_TRUE(none->empty());
    std::ofstream(directory.path() / "state") << "torn";
    EXPECT_FALSE(read_claim_state(root, "/state"));
}

}  // namespace
}  // namespace aliquot::pods
