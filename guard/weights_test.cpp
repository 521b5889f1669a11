// SPDX-License-Identifier: Apache-2.0
//
// What two containers with weights get of one device, in simulated time: the one with the guard, and
// a neighbour that takes turns.
#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <string>

#include "guard/simulated_node.h"

namespace aliquot::guard {
namespace simulated {

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }

}  // namespace simulated
namespace {

using namespace simulated;

const Pair kPairs[] = {
    {.name = "30 beside 70, both wait for each launch"},
    {.name = "70 beside 30, both wait for each launch", .weight = 70},
    {.name = "30 beside 70, both wait, slow wakes", .wake_us = 150},
    {.name = "30 beside 70, both wait, slower wakes", .wake_us = 400},
    {.name = "30 beside 70, 8 deep", .own = {.depth = 8}, .neighbour = {.depth = 8}},
    {.name = "70 beside 30, 8 deep", .weight = 70, .own = {.depth = 8}, .neighbour = {.depth = 8}},
    {.name = "30 beside 70, 64 deep", .own = {.depth = 64}, .neighbour = {.depth = 64}},
    {.name = "30 of 0.1 ms beside 70 of 5 ms",
     .own = {.kernel_us = 100, .depth = 64},
     .neighbour = {.kernel_us = 5000, .depth = 2}},
    {.name = "30 of 20 ms beside 70 of 0.5 ms",
     .own = {.kernel_us = 20'000, .depth = 4},
     .neighbour = {.kernel_us = 500, .depth = 8},
     .seconds = 20},
    {.name = "30 of 0.1 ms beside 70 of 5 ms, slower wakes",
     .own = {.kernel_us = 100, .depth = 64},
     .neighbour = {.kernel_us = 5000, .depth = 2},
     .wake_us = 400},
    {.name = "70 of 5 ms beside 30 of 0.1 ms, slower wakes",
     .weight = 70,
     .own = {.kernel_us = 5000, .depth = 2},
     .neighbour = {.kernel_us = 100, .depth = 64},
     .wake_us = 400},
    {.name = "30 of 20 ms beside 70 of 0.1 ms, slower wakes",
     .own = {.kernel_us = 20'000, .depth = 2},
     .neighbour = {.kernel_us = 100, .depth = 64},
     .wake_us = 400,
     .seconds = 20},
    {.name = "50 beside 50", .weight = 50, .own = {.depth = 4}, .neighbour = {.depth = 4}},
};

class Weights : public testing::TestWithParam<Pair> {};

TEST_P(Weights, DivideTheDevice) {
    const Pair& pair = GetParam();
    const Parts parts = parts_of(pair);
    const double used = parts.own + parts.neighbour;
    std::printf("%-44s %5.2f:%5.2f of %5.2f %%\n", pair.name.c_str(), 100 * parts.own / used,
                100 * parts.neighbour / used, 100 * used);
    EXPECT_NEAR(100 * parts.own / used, pair.weight, pair.tolerance);
    EXPECT_GE(used, pair.least_used);
}

std::string name_of(const testing::TestParamInfo<Pair>& one) {
    std::string name = one.param.name;
    for (char& letter : name)
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(Of, Weights, testing::ValuesIn(kPairs), name_of);

TEST(RequestsBesideTraining, AreAnsweredInTime) {
    Pair pair = {.name = "requests",
                 .weight = 70,
                 .own = {.depth = 10, .pause_us = 10'000},
                 .neighbour = {.depth = 64},
                 .seconds = 20};
    const Parts beside = parts_of(pair);
    pair.neighbour = {.kernel_us = 1, .pause_us = 1e9};
    const Parts alone = parts_of(pair);
    std::printf("10 ms requests: p99 %.2f ms beside training, %.2f alone; training has %.1f %%\n",
                beside.p99_ms, alone.p99_ms, 100 * beside.neighbour);
    // The work itself, what the neighbour has in flight, and two hand-overs.
    EXPECT_LE(beside.p99_ms, 14);
    EXPECT_GE(beside.neighbour, 0.45);
}

}  // namespace
}  // namespace aliquot::guard
