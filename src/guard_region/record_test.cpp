// SPDX-License-Identifier: Apache-2.0
#include "guard_region/record.h"

#include <gtest/gtest.h>

namespace aliquot::guard_region {
namespace {

TEST(Record, IsReadBack) {
    const Record record{.resource = "nvidia.com/gpu",
                        .device_ids = {"GPU-1::0", "GPU-1::1"},
                        .uuids = {"GPU-1"},
                        .library = "00ff",
                        .created_us = 1'700'000'000'000'001,
                        .holder = "ai/train/main",
                        .ledger = ~std::uint64_t{0},
                        .ledger_bytes = 1'000'000,
                        .groups = {"/kubepods/pod1/c1", "/kubepods/pod1/c2"}};
    const auto again = parse_record(to_text(record));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, record);
    EXPECT_EQ(*parse_record(to_text({})), Record{});
}

TEST(Record, CutShortIsNone) {
    const std::string text = to_text({.resource = "nvidia.com/gpu"});
    for (const auto& broken : {std::string(), std::string("x\n"), text.substr(0, text.size() - 1),
                               std::string("aliquot region 1\ncreated-us x\n"),
                               std::string("aliquot region 1\nledger -1\n"),
                               std::string("aliquot region 1\nledger-bytes x\n"),
                               std::string("aliquot region 1\nx\n")}) {
        EXPECT_FALSE(parse_record(broken)) << broken;
    }
}

}  // namespace
}  // namespace aliquot::guard_region
