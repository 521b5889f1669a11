// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string_view>

#include "sim/cuda/entry_points.h"

namespace aliquot::sim {
namespace {

constexpr int kDriver = 13000;

std::string_view exported(std::string_view base, int version, std::uint64_t flags = 0) {
    const Route found = route(base, version, flags, kDriver);
    return found.exported == nullptr ? "" : found.exported;
}

TEST(Route, GivesTheNewestVersionThatIsNotTooNew) {
    EXPECT_EQ(exported("cuMemAlloc", 2000), "cuMemAlloc");
    EXPECT_EQ(exported("cuMemAlloc", 3019), "cuMemAlloc");
    EXPECT_EQ(exported("cuMemAlloc", 3020), "cuMemAlloc_v2");
    EXPECT_EQ(exported("cuCtxCreate", 12040), "cuCtxCreate_v3");
    EXPECT_EQ(exported("cuCtxCreate", 13000), "cuCtxCreate_v4");
    EXPECT_EQ(exported("cuGetProcAddress", 11030), "cuGetProcAddress");
    EXPECT_EQ(exported("cuGetProcAddress", 12000), "cuGetProcAddress_v2");
}

TEST(Route, GivesThePerThreadFormOnlyWhereThereIsOne) {
    EXPECT_EQ(exported("cuLaunchKernel", 12000, 2), "cuLaunchKernel_ptsz");
    EXPECT_EQ(exported("cuLaunchKernel", 6050, 2), "cuLaunchKernel");
    EXPECT_EQ(exported("cuMemcpyHtoD", 12000, 2), "cuMemcpyHtoD_v2_ptds");
    EXPECT_EQ(exported("cuMemcpyHtoD", 12000, 1), "cuMemcpyHtoD_v2");
    EXPECT_EQ(exported("cuMemAlloc", 12000, 2), "cuMemAlloc_v2");
}

TEST(Route, TellsTooOldFromUnknown) {
    EXPECT_EQ(route("cuMemCreate", 10010, 0, kDriver).status,
              CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT_EQ(route("cuMemCreat", 12000, 0, kDriver).status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_EQ(route("", 0, 0, kDriver).status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST(Route, KnowsNothingNewerThanTheDriver) {
    EXPECT_EQ(route("cuGreenCtxCreate", 12000, 0, 12000).status,
              CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_STREQ(route("cuCtxCreate", 12000, 0, 12000).exported, "cuCtxCreate_v3");
}

}  // namespace
}  // namespace aliquot::sim
