// SPDX-License-Identifier: Apache-2.0
#include "agent/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "agent/served_record.h"
#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

using Standing = Configuration::Standing;
using ::testing::HasSubstr;

constexpr char kShares[] =
    "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n";
constexpr char kBad[] = "version: v1\nsharing: {timeSlicing: {resources: [{replicas: 4}]}}\n";
constexpr char kLastGood[] = "/var/lib/aliquot/last-good-config.yaml";

class ConfigurationTest : public testing::Test {
protected:
    void supply(const std::string& text) {
        supplied_.name = "aliquot-config/a";
        supplied_.choice = {.source = node::ConfigChoice::Source::kLabel, .key = "a", .text = text};
        ++supplied_.version;
    }
    Configuration make() {
        return {root_, options_, board_, [this] { return supplied_; }};
    }
    [[nodiscard]] static unsigned replicas(const Configuration& configuration) {
        const auto& entries = configuration.settings().config.sharing.resources;
        return entries.empty() ? 1 : entries.front().replicas;
    }

    /// As the agent's loop does: looks until nothing is being read.
    static bool reload(Configuration& configuration, bool forced = false) {
        bool is_new = configuration.reload(forced);
        while (configuration.is_reading()) {
            configuration.wait_until_read(std::chrono::seconds(10));
            is_new = configuration.reload(false) || is_new;
        }
        return is_new;
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    os::SystemClock clock_;
    StatusBoard board_{clock_};
    Options options_;
    SuppliedConfig supplied_;
};

TEST_F(ConfigurationTest, ABadOneLeavesTheLastGoodOne) {
    supply(kShares);
    auto first = make();
    ASSERT_TRUE(first.load());
    first.accept();
    supply(kBad);
    auto next = make();
    ASSERT_TRUE(next.load());
    EXPECT_EQ(next.standing(), Standing::kLastGood);
    EXPECT_EQ(replicas(next), 4U);
    EXPECT_FALSE(next.told().served);
    EXPECT_EQ(next.told().instead, "the last good configuration is served");
}

TEST_F(ConfigurationTest, WithoutALastGoodOneDevicesStayAsTheyWereServedAndTheNodeSaysSo) {
    ASSERT_TRUE(root_.write_atomically(kLastGood, "version: v1\nsharing: [\n"));
    supply(kBad);
    auto configuration = make();
    ASSERT_TRUE(configuration.load());
    EXPECT_EQ(configuration.standing(), Standing::kAsBefore);
    EXPECT_THAT(configuration.told().instead, HasSubstr("each device stays as it was served"));
    EXPECT_THAT(configuration.told().instead, HasSubstr(kLastGood));
    supply(kShares);
    ASSERT_TRUE(reload(configuration));
    EXPECT_EQ(configuration.standing(), Standing::kAsked);
    configuration.accept();
    EXPECT_TRUE(configuration.told().served);
}

TEST_F(ConfigurationTest, ARecordOfServedDevicesIsEnoughNotToBeginAnew) {
    ASSERT_TRUE(root_.write_atomically(served_record_path("/var/lib/aliquot"), "{"));
    supply(kBad);
    auto configuration = make();
    ASSERT_TRUE(configuration.load());
    EXPECT_EQ(configuration.standing(), Standing::kAsBefore);
}

TEST_F(ConfigurationTest, ANodeThatNeverHadAGoodOneServesWholeGpusAndSaysSo) {
    supply(kBad);
    auto configuration = make();
    ASSERT_TRUE(configuration.load());
    EXPECT_EQ(configuration.standing(), Standing::kBuiltIn);
    EXPECT_EQ(replicas(configuration), 1U);
    EXPECT_THAT(configuration.told().instead, HasSubstr("there never was a good configuration"));
}

TEST_F(ConfigurationTest, OneThatTheNodeCannotServeGivesWayToWhatWasBefore) {
    ASSERT_TRUE(root_.write_atomically(kLastGood, "{"));
    supply(kShares);
    auto configuration = make();
    ASSERT_TRUE(configuration.load());
    EXPECT_TRUE(configuration.reject("too much for GPU 0"));
    EXPECT_EQ(configuration.standing(), Standing::kAsBefore);
    EXPECT_EQ(configuration.told().problem, "too much for GPU 0");
}

TEST_F(ConfigurationTest, TwoBadOnesAfterAnotherDoNotMakeTheFirstTheOneBefore) {
    supply(kShares);
    auto configuration = make();
    ASSERT_TRUE(configuration.load());
    configuration.accept();
    for (const char* const replicas : {"5", "6"}) {  // read, and replaced before it was tried
        std::string text = kShares;
        text.replace(text.find('4'), 1, replicas);
        supply(text);
        ASSERT_TRUE(reload(configuration));
    }
    ASSERT_TRUE(configuration.reject("no"));
    EXPECT_EQ(replicas(configuration), 4U);
}

/// The clock of the loop goes on, whatever somebody writes into the ConfigMap.
TEST_F(ConfigurationTest, WhileAnotherOneIsReadTheOneBeforeIsServed) {
    supply(kShares);
    std::latch readable(1);
    bool held = false;
    const auto loop = std::this_thread::get_id();
    Configuration configuration(root_, options_, board_, [&] {
        if (held && std::this_thread::get_id() != loop) readable.wait();
        return supplied_;
    });
    ASSERT_TRUE(configuration.load());
    configuration.accept();
    held = true;
    supply("version: v1\n");
    EXPECT_FALSE(configuration.reload(false));
    EXPECT_FALSE(configuration.reload(true));  // to be read anew: what is being read may be older
    EXPECT_TRUE(configuration.is_reading());
    EXPECT_EQ(replicas(configuration), 4U);
    readable.count_down();
    configuration.wait_until_read(std::chrono::seconds(10));
    ASSERT_TRUE(configuration.reload(false));
    EXPECT_EQ(replicas(configuration), 1U);
    configuration.accept();
    EXPECT_TRUE(reload(configuration)) << "what was wished for meanwhile";
    EXPECT_FALSE(reload(configuration));
}

TEST_F(ConfigurationTest, ABadOneThatIsReadLeavesWhatIsServed) {
    supply(kShares);
    auto configuration = make();
    ASSERT_TRUE(configuration.load());
    configuration.accept();
    supply(kBad);
    EXPECT_FALSE(reload(configuration));
    EXPECT_EQ(replicas(configuration), 4U);
    EXPECT_FALSE(configuration.told().served);
}

}  // namespace
}  // namespace aliquot::agent
