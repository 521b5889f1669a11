// SPDX-License-Identifier: Apache-2.0
#include "agent/observer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>

namespace aliquot::agent {
namespace {

using namespace std::chrono_literals;

/// Two GPUs whose state a test sets; waits for faults as a driver does.
class TwoGpus final : public gpu::Sensors {
public:
    Result<gpu::Inventory> enumerate(gpu::Links) override {
        const std::scoped_lock lock(mutex_);
        if (wedged_) return Error{trouble_, "driver does not answer"};
        gpu::Inventory inventory;
        for (unsigned i = 0; i < 2; ++i) {
            gpu::Gpu one{.index = i};
            if (lost_ == static_cast<int>(i)) {
                one.health = {gpu::Health::State::kUnhealthy, "GPU is lost"};
            } else {
                one.uuid = {i == 0 ? "GPU-a" : "GPU-b"};
                one.mig_capable = one.mig_enabled = i == 0;
                if (i == 0) one.mig_devices = devices_;
            }
            inventory.gpus.push_back(one);
        }
        return inventory;
    }
    Result<gpu::Sample> sample(const gpu::Uuid&) override { return gpu::Sample{}; }
    Result<std::vector<gpu::Process>> processes(const gpu::Uuid&) override {
        return std::vector<gpu::Process>{};
    }
    Result<std::vector<gpu::Probe>> probe(const std::vector<gpu::Uuid>& gpus) override {
        const std::scoped_lock lock(mutex_);
        if (wedged_) return Error{trouble_, "driver does not answer"};
        std::vector<gpu::Probe> probes;
        for (const auto& uuid : gpus) {
            const bool lost = lost_ == (uuid.text == "GPU-a" ? 0 : 1);
            probes.push_back({.gpu = uuid,
                              .answers = !lost,
                              .problem = lost ? "GPU is lost" : "",
                              .recovery_action = faulty_ == uuid.text ? action_ : 0});
        }
        return probes;
    }
    Result<std::vector<gpu::FaultEvent>> wait_faults(std::chrono::milliseconds timeout) override {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, timeout, [&] { return !faults_.empty(); });
        std::vector<gpu::FaultEvent> faults(faults_.begin(), faults_.end());
        faults_.clear();
        return faults;
    }

    void xid(const char* uuid, std::uint64_t number, unsigned action) {
        const std::scoped_lock lock(mutex_);
        action_ = action;
        faulty_ = uuid;
        faults_.push_back({.gpu = {uuid}, .xid = number});
        changed_.notify_all();
    }
    void cut(std::vector<gpu::MigDevice> devices, bool tell) {
        const std::scoped_lock lock(mutex_);
        devices_ = std::move(devices);
        if (tell) faults_.push_back({.gpu = {"GPU-a"}, .reconfigured = true});
        changed_.notify_all();
    }
    void set(int lost, bool wedged, unsigned action, ErrorCode trouble = ErrorCode::kUnavailable) {
        const std::scoped_lock lock(mutex_);
        trouble_ = trouble;
        lost_ = lost;
        wedged_ = wedged;
        action_ = action;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<gpu::FaultEvent> faults_;
    std::vector<gpu::MigDevice> devices_;
    int lost_ = -1;
    bool wedged_ = false;
    ErrorCode trouble_ = ErrorCode::kUnavailable;  // what a wedged driver is called
    std::string faulty_;                           // the GPU that `action_` is about
    unsigned action_ = 0;
};

class ObserverTest : public ::testing::Test {
protected:
    template <class Predicate>
    bool eventually(Predicate holds) {
        std::uint64_t version = 0;
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (std::chrono::steady_clock::now() < end) {
            const auto seen = observer_.observations().wait_newer(version, 1s);
            if (seen.value && holds(*seen.value)) return true;
            version = seen.version;
        }
        return false;
    }
    static bool healthy(const Observation& seen, const char* uuid) {
        const gpu::Gpu* found = seen.inventory.find({uuid});
        return found != nullptr && found->health.ok();
    }

    TwoGpus gpus_;
    os::SystemClock clock_;
    Observer observer_{gpus_,
                       clock_,
                       *gpu::XidPolicy::from_environment("", ""),
                       {.probe_interval = 10ms, .enumerate_interval = 50ms, .fault_wait = 5ms}};
};

TEST_F(ObserverTest, PublishesTheFirstLookBeforeStartReturns) {
    ASSERT_TRUE(observer_.start());
    ASSERT_NE(observer_.observations().get().value, nullptr);
    EXPECT_EQ(observer_.observations().get().value->inventory.gpus.size(), 2U);
}

TEST_F(ObserverTest, AnXidTakesOneGpuAndRecoveryGivesItBack) {
    ASSERT_TRUE(observer_.start());
    gpus_.xid("GPU-b", 79, 1);
    EXPECT_TRUE(eventually(
        [](const Observation& seen) { return healthy(seen, "GPU-a") && !healthy(seen, "GPU-b"); }));
    gpus_.set(-1, false, 0);
    EXPECT_TRUE(eventually([](const Observation& seen) { return healthy(seen, "GPU-b"); }));
}

TEST_F(ObserverTest, ALostGpuKeepsItsNameAndComesBack) {
    ASSERT_TRUE(observer_.start());
    gpus_.set(1, false, 0);
    EXPECT_TRUE(eventually([](const Observation& seen) {
        return healthy(seen, "GPU-a") && seen.inventory.find({"GPU-b"}) != nullptr &&
               !healthy(seen, "GPU-b");
    }));
    gpus_.set(-1, false, 0);
    EXPECT_TRUE(eventually([](const Observation& seen) { return healthy(seen, "GPU-b"); }));
}

TEST_F(ObserverTest, AWedgedDriverTakesNoGpuAway) {
    ASSERT_TRUE(observer_.start());
    gpus_.set(-1, true, 0);
    EXPECT_TRUE(eventually([](const Observation& seen) { return !seen.driver_problem.empty(); }));
    const auto seen = observer_.observations().get().value;
    EXPECT_TRUE(healthy(*seen, "GPU-a") && healthy(*seen, "GPU-b"));
    gpus_.set(-1, false, 0);
    EXPECT_TRUE(eventually([](const Observation& now) { return now.driver_problem.empty(); }));
}

TEST_F(ObserverTest, ALibraryThatDoesNotFitTheKernelModuleTakesAllUntilItFits) {
    ASSERT_TRUE(observer_.start());
    gpus_.set(-1, true, 0, ErrorCode::kConflict);
    EXPECT_TRUE(eventually([](const Observation& seen) {
        return !healthy(seen, "GPU-a") && !healthy(seen, "GPU-b");
    }));
    gpus_.set(-1, false, 0);
    EXPECT_TRUE(eventually(
        [](const Observation& seen) { return healthy(seen, "GPU-a") && healthy(seen, "GPU-b"); }));
}

TEST_F(ObserverTest, SeesMigDevicesComeAndGoWithTheNextProbe) {
    Observer slow(gpus_, clock_, *gpu::XidPolicy::from_environment("", ""),
                  {.probe_interval = 10ms, .enumerate_interval = 1h, .fault_wait = 5ms});
    ASSERT_TRUE(slow.start());
    for (const bool told : {false, true}) {
        for (const std::size_t count : {1, 0}) {
            gpus_.cut(std::vector<gpu::MigDevice>(count, {.uuid = {"MIG-x"}}), told);
            std::uint64_t version = 0;
            std::size_t seen_count = 9;
            for (int i = 0; i < 1000 && seen_count != count; ++i) {
                const auto seen = slow.observations().wait_newer(version, 1s);
                version = seen.version;
                if (seen.value) seen_count = seen.value->inventory.gpus[0].mig_devices.size();
            }
            EXPECT_EQ(seen_count, count);
        }
    }
}

TEST_F(ObserverTest, KeepsTheXidsItSaw) {
    ASSERT_TRUE(observer_.start());
    gpus_.xid("GPU-b", 31, 0);  // the application's own fault
    EXPECT_TRUE(eventually([](const Observation& seen) {
        const auto found = seen.xids.find({"GPU-b"});
        return found != seen.xids.end() && !found->second.empty() && healthy(seen, "GPU-b");
    }));
}

TEST_F(ObserverTest, AGpuThatWaitsForAResetIsNotOfferedForAMoment) {
    gpus_.xid("GPU-b", 31, 1);  // the driver asks for a reset; the Xid itself would not count
    ASSERT_TRUE(observer_.start());
    const auto seen = observer_.observations().get().value;
    EXPECT_TRUE(healthy(*seen, "GPU-a"));
    EXPECT_FALSE(healthy(*seen, "GPU-b"));
}

TEST_F(ObserverTest, WithholdsSomeGpusAndNoOthersUntilTold) {
    gpus_.cut({{.uuid = {"MIG-x"}}}, false);
    ASSERT_TRUE(observer_.start());
    EXPECT_TRUE(offerable(*observer_.observations().get().value).gpus[0].health.ok());
    const auto version = observer_.withhold({{"GPU-a"}}, "is being cut");
    const auto seen = observer_.observations().get();
    EXPECT_GE(seen.version, version);
    EXPECT_TRUE(healthy(*seen.value, "GPU-a"));  // nothing is wrong with it
    const auto offered = offerable(*seen.value);
    EXPECT_EQ(offered.gpus[0].health.reason, "is being cut");
    EXPECT_FALSE(offered.gpus[0].mig_devices[0].health.ok());
    EXPECT_TRUE(offered.gpus[1].health.ok());
    // Whatever else is seen meanwhile.
    gpus_.set(1, false, 0);
    EXPECT_TRUE(eventually([](const Observation& now) {
        return !healthy(now, "GPU-b") && now.withheld.contains({"GPU-a"});
    }));
    observer_.withhold({}, "");
    EXPECT_TRUE(offerable(*observer_.observations().get().value).gpus[0].health.ok());
}

TEST_F(ObserverTest, LooksNowWhenAsked) {
    Observer slow(gpus_, clock_, *gpu::XidPolicy::from_environment("", ""),
                  {.probe_interval = 1h, .enumerate_interval = 1h, .fault_wait = 1h});
    ASSERT_TRUE(slow.start());
    gpus_.cut({{.uuid = {"MIG-x"}}}, false);
    const auto version = slow.look_now();
    const auto seen = slow.observations().get();
    EXPECT_GE(seen.version, version);
    EXPECT_EQ(seen.value->inventory.gpus[0].mig_devices.size(), 1U);
    gpus_.cut({}, true);  // lets it end
}

}  // namespace
}  // namespace aliquot::agent
