// SPDX-License-Identifier: Apache-2.0
//
// Every check of checks.inc, each in a process of its own over a node and a container of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/contract/guard/guard_world.h"
#include "tests/contract/guard/probe.h"

namespace aliquot::guardkit {
namespace {

struct Check {
    const char* name;
    const char* settings;
};

constexpr Check kChecks[] = {
#define CHECK(name, settings) {#name, settings},
#include "tests/contract/guard/checks.inc"
#undef CHECK
};

void PrintTo(const Check& check, std::ostream* stream) {
    *stream << check.name << ' ' << check.settings;
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// "4Gi" of a check's settings.
std::uint64_t bytes_of(const std::string& text) {
    EXPECT_TRUE(text.ends_with("Gi"));
    return std::stoull(text) << 30;
}

class GuardPath : public testing::TestWithParam<Check> {
protected:
    void check_by(const Settings& settings, const std::string& route, const std::string& fail) {
        SCOPED_TRACE("route " + route + (fail.empty() ? "" : ", fail " + fail));
        GuardWorld world(settings);
        const std::string program = route == "linked" ? "guard-probe-linked" : "guard-probe";
        std::map<std::string, std::string> more;
        if (!fail.empty()) more["ALIQUOT_GUARD_FAIL"] = fail;
        const Outcome outcome =
            world.run({std::string(ALIQUOT_TEST_DIR) + "/" + program, GetParam().name, route},
                      std::chrono::seconds(60), more);
        ASSERT_FALSE(outcome.late) << "hangs\n" << outcome.error;
        if (outcome.code == kExitSkipped) GTEST_SKIP() << outcome.error;
        EXPECT_EQ(outcome.code, 0) << outcome.error;
        EXPECT_EQ(outcome.out, "");
        if (settings.peak) {
            EXPECT_LE(world.peak_bytes(0), bytes_of(settings.memory));
        }
        if (fail == "closed") {
            EXPECT_EQ(lines_of(outcome.error), 1U) << outcome.error;
        } else if (fail == "open") {
            EXPECT_LE(lines_of(outcome.error), 1U) << outcome.error;
        } else if (settings.lines != "any") {
            EXPECT_EQ(std::to_string(lines_of(outcome.error)), settings.lines) << outcome.error;
        }
    }
};

TEST_P(GuardPath, Holds) {
    const Settings settings = parse_settings(GetParam().settings);
    if (settings.fail == "both") {
        check_by(settings, "dlsym", "closed");
        check_by(settings, "dlsym", "open");
        return;
    }
    check_by(settings, "dlsym", settings.fail);
    if (!settings.all_routes) return;
    for (const char* route : {"getproc", "per-thread", "linked"}) check_by(settings, route, "");
}

INSTANTIATE_TEST_SUITE_P(Check, GuardPath, testing::ValuesIn(kChecks),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace aliquot::guardkit
