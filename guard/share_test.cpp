// SPDX-License-Identifier: Apache-2.0
//
// What a cap of GPU time comes to for programs of many kinds, in simulated time: how long the device
// was busy with a program's work, whatever its threads, streams, kernels and waits are.
#include "guard/share.h"

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "guard/share_program.h"

namespace aliquot::guard {
namespace simulated {

void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

}  // namespace simulated
namespace {

using namespace simulated;

const std::vector<Program>& programs() {
    static const std::vector<Program> all = {
#include "guard/share_programs.inc"
    };
    return all;
}

class Share : public testing::TestWithParam<Program> {};

TEST_P(Share, IsTheCapOrWhatTheProgramNeeds) {
    const Program& program = GetParam();
    const Outcome bare = outcome_of(program, false);
    const Outcome held = outcome_of(program, true);
    const double cap = program.cap / 100;
    std::printf(
        "%-52s cap %4.1f %%: busy %6.2f %% (bare %6.2f), charged %.3f of it, %.2f at once (bare "
        "%.2f)\n",
        program.name.c_str(), program.cap, 100 * held.busy, 100 * bare.busy, held.charged,
        held.work / held.busy, bare.work / bare.busy);
    if (bare.busy > cap + 0.01) {
        EXPECT_NEAR(100 * held.busy, program.cap, program.tolerance);
    } else {
        EXPECT_GE(held.busy, 0.97 * bare.busy);
    }
    EXPECT_NEAR(held.charged, 1, 0.05);
    EXPECT_GE(held.work / held.busy, program.together * bare.work / bare.busy);
}

std::string name_of(const testing::TestParamInfo<Program>& one) {
    std::string name = one.param.name;
    for (char& letter : name)
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(Of, Share, testing::ValuesIn(programs()), name_of);

TEST(AThreadsDefaultStream, CostsALaunchWhatAnyOtherDoes) {
    // As much as can be launched: what each launch costs tells in how much runs.
    Program program = {.cap = 99, .kernel_us = 1.8, .wait = Wait::kNone, .seconds = 0.5};
    const Outcome in_a_stream = outcome_of(program, true);
    program.per_thread = true;
    EXPECT_GE(outcome_of(program, true).busy, 0.99 * in_a_stream.busy);
}

/// Another thread was about to send launches through the guard when the process was forked.
TEST(AForkedChild, LaunchesThroughTheGuard) {
    forget_share();
    route_launches(true);
    forget_share();
    EXPECT_FALSE(simulated::g_launches_pass);
}

}  // namespace
}  // namespace aliquot::guard
