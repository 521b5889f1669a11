// SPDX-License-Identifier: Apache-2.0
#include "guard_region/runs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "guard_region/config_file.h"
#include "guard_region/fake_tenant.h"
#include "guard_region/ledger_file.h"
#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr const char* kGpu = "GPU-00000000-0000-0000-0000-000000000001";

RunRequest request(std::uint64_t gib) {
    return {
        .settings = {.container = "train", .devices = {{.uuid = kGpu, .memory_bytes = gib * kGiB}}},
        .device_memory_bytes = 16 * kGiB};
}

class RunsTest : public testing::Test {
protected:
    [[nodiscard]] std::size_t directories() const {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(directory_.path())) {
            count += entry.is_directory() ? 1 : 0;
        }
        return count;
    }
    os::TemporaryDirectory directory_;
    Runs runs_{directory_.path()};
};

TEST_F(RunsTest, FitTogetherOrAreRefusedWithTheFigures) {
    const auto first = runs_.reserve(request(10));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(runs_.list().size(), 1U);
    EXPECT_EQ(runs_.list().at(0).name, "train");
    const auto refused = runs_.reserve(request(7));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(
        refused.error().message,
        HasSubstr("7Gi asked for, but the device has 16Gi, and 1 run has 10Gi of it: 6Gi is left"));
    EXPECT_TRUE(runs_.reserve(request(6)));  // gone at once
    RunRequest forced = request(7);
    forced.overcommit = true;
    EXPECT_TRUE(runs_.reserve(forced));
    EXPECT_EQ(directories(), 1U);
}

TEST_F(RunsTest, LeaveNothingWhenTheyEnd) {
    {
        const auto run = runs_.reserve(request(1));
        ASSERT_TRUE(run);
        EXPECT_TRUE(ConfigFile::open(run->config()));
        EXPECT_TRUE(fs::exists(run->ledger()));
        EXPECT_EQ(runs_.directories(), std::vector{run->node().parent_path()});
    }
    EXPECT_EQ(directories(), 0U);
    EXPECT_TRUE(runs_.list().empty());
}

TEST_F(RunsTest, ClearWhatAKilledOneHasLeft) {
    const fs::path left = directory_.path() / "run-1-1";
    fs::create_directory(left);
    std::ofstream(left / "alive") << "";
    ASSERT_TRUE(ConfigFile::create(left / "config", request(16).settings));
    ASSERT_TRUE(create_ledger(left / "ledger", 1));
    {
        FakeTenant tenant(left / "ledger");
        tenant.join(0, 1);
        // The run was killed, a process of it goes on.
        EXPECT_EQ(runs_.reserve(request(1)).error().code, ErrorCode::kConflict);
    }
    EXPECT_TRUE(runs_.reserve(request(1)));
    EXPECT_FALSE(fs::exists(left));
}

TEST_F(RunsTest, HaveAPlaceOfTheirOwnUser) {
    const fs::path named = directory_.path() / "named";
    const auto place = Runs::usual_place({{"ALIQUOT_RUN_DIRECTORY", named.native()}});
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(*place, named);
    // Others pass through root's to runs that they were told of; nobody lists them.
    EXPECT_EQ(fs::status(named).permissions(), fs::perms(::geteuid() == 0 ? 0711 : 0700));
    fs::permissions(named, fs::perms(0777));
    EXPECT_EQ(Runs::usual_place({{"ALIQUOT_RUN_DIRECTORY", named.native()}}).error().code,
              ErrorCode::kPermission);
    if (::geteuid() == 0) return;
    const auto own = Runs::usual_place({{"XDG_RUNTIME_DIR", directory_.path().native()}});
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_EQ(*own, directory_.path() / "aliquot");
}

}  // namespace
}  // namespace aliquot::guard_region
