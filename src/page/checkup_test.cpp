// SPDX-License-Identifier: Apache-2.0
#include "page/checkup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace aliquot::page {
namespace {

doctor::Judged judged(std::string id, doctor::Outcome outcome, std::string message) {
    doctor::Judged one{.id = std::move(id), .level = doctor::Level::kDriver};
    one.verdict.outcome = outcome;
    one.verdict.message = std::move(message);
    return one;
}

doctor::Report broken() {
    doctor::Report report;
    report.checks = {judged("HW001", doctor::Outcome::kOk, "1 GPU"),
                     judged("DRV002", doctor::Outcome::kWarning, "old"),
                     judged("DRV003", doctor::Outcome::kFailed, "nouveau holds the GPU"),
                     judged("DRV004", doctor::Outcome::kSkipped, "waits for DRV003"),
                     judged("DRV005", doctor::Outcome::kUnknown, "was not read")};
    report.checks[2].verdict.fix("modprobe -r nouveau").note("or reboot");
    report.root_causes = {"DRV003"};
    return report;
}

TEST(PageCheckup, TellsWhatIsNotWellRootCausesFirst) {
    const auto remarks = remarks_of(broken(), "this machine");
    ASSERT_EQ(remarks.size(), 2U);
    EXPECT_EQ(remarks[0].severity, "error");
    EXPECT_EQ(remarks[0].where, "this machine, kernel driver");
    EXPECT_EQ(remarks[0].what, "DRV003 nouveau holds the GPU");
    EXPECT_EQ(remarks[0].fix, "modprobe -r nouveau");
    EXPECT_EQ(remarks[1].severity, "warning");
    EXPECT_EQ(remarks[1].fix, "");
}

TEST(PageCheckup, IsMadeAgainAfterFiveMinutesAndTellsWhereItCannotBeMade) {
    std::atomic<int> made{0};
    std::atomic<bool> impossible{false};
    Checkup checkup([&]() -> Result<doctor::Report> {
        ++made;
        if (impossible) return Error{ErrorCode::kUnavailable, "no temporary directory"};
        return broken();
    });
    std::chrono::steady_clock::time_point now{};
    const auto seen = [&] {
        Sight sight{.title = "", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
        checkup.add_to(sight, now);
        return sight.remarks;
    };
    while (seen().empty()) continue;  // a busy machine may take longer than a look waits
    now += std::chrono::seconds(299);
    EXPECT_EQ(seen().size(), 2U);
    EXPECT_EQ(made, 1);
    impossible = true;
    now += std::chrono::seconds(1);
    while (seen().size() != 1) continue;
    EXPECT_EQ(seen()[0].what, "no temporary directory");
    EXPECT_EQ(made, 2);
    Sight none{.title = "", .cluster = {}, .pods = {}, .remarks = {}, .more = {}};
    Checkup({}).add_to(none);
    EXPECT_TRUE(none.remarks.empty());
}

}  // namespace
}  // namespace aliquot::page
