// SPDX-License-Identifier: Apache-2.0
#include "gate/record.h"

#include <gtest/gtest.h>

namespace aliquot::gate {
namespace {

TEST(GateRecord, ReadsWhatItWrote) {
    const NodeState state{{.uuid = "GPU-1",
                           .index = 3,
                           .problem = "\"lost\"",
                           .processes = {1, 2},
                           .memory_used_bytes = 1ULL << 40U,
                           .ecc_uncorrected = 4,
                           .clocks_set = true,
                           .mig_enabled = true,
                           .mig_devices = {"1g.5gb@0"}},
                          {.uuid = "GPU-2", .recovery_action = 1}};
    const auto read = read_record(to_json(state));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, state);
    for (const char* const broken : {"", "{", "[]", "{\"schemaVersion\":2,\"gpus\":[{}]}",
                                     "{\"schemaVersion\":1,\"gpus\":[]}"}) {
        EXPECT_FALSE(read_record(broken)) << broken;
    }
}

}  // namespace
}  // namespace aliquot::gate
