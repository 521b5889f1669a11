// SPDX-License-Identifier: Apache-2.0
//
// With threads and clocks of the machine: what is expected holds on one core and at any load, since
// the keeper charges by the clock, however late anybody runs.
#include "turns/keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "guard_region/config_file.h"
#include "os/temporary_directory.h"
#include "turns/fake_container.h"
#include "turns/sockets.h"

namespace aliquot::turns {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kGpu[] = "GPU-00000000-0000-0000-0000-000000000001";
constexpr char kOther[] = "GPU-00000000-0000-0000-0000-000000000002";
constexpr seconds kLong{60};  // for what is to happen on a machine of any load

template <class Condition>
bool comes_true(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
}

/// Two containers that have work for ever: each takes its turn and has it until it is to be given back.
class Workers {
public:
    explicit Workers(std::vector<FakeContainer> two)
        : containers_(std::move(two)), thread_([this](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  for (unsigned i = 0; i < 2; ++i) act(containers_[i], turns_[i]);
                  std::this_thread::sleep_for(std::chrono::microseconds(200));
              }
          }) {}
    /// Turns that whoever had fewer has given back.
    [[nodiscard]] unsigned least() const { return std::min(turns_[0].load(), turns_[1].load()); }

private:
    static void act(FakeContainer& one, std::atomic<unsigned>& turns) {
        const std::uint32_t word = one.word();
        const bool was_mine = one.is_mine();
        const bool is_late = (word & abi::kTurnMine) == 0;
        if (is_late || (word & abi::kTurnOver) != 0) one.give_back();
        if (was_mine && !one.is_mine()) ++turns;
        if (!one.is_mine()) one.ask();
    }
    std::vector<FakeContainer> containers_;
    std::array<std::atomic<unsigned>, 2> turns_{};
    std::jthread thread_;
};

class KeeperTest : public testing::Test {
protected:
    std::filesystem::path config(const std::string& name, std::uint32_t weight,
                                 const char* gpu = kGpu) {
        const auto file = directory_.path() / name;
        guard_region::Settings settings{.container = name, .devices = {}};
        settings.devices.push_back({.uuid = gpu, .weight = weight});
        EXPECT_TRUE(guard_region::ConfigFile::create(file, settings));
        return file;
    }
    std::vector<Descriptor> pages(Keeper& keeper, const std::string& name, std::uint32_t weight,
                                  const char* gpu = kGpu) {
        auto files = keeper.open(name, config(name, weight, gpu));
        EXPECT_TRUE(files);
        return *std::move(files);
    }

    std::vector<FakeContainer> at_work(Keeper& keeper, const std::string& name) {
        std::vector<FakeContainer> both;
        both.emplace_back(pages(keeper, name + "-30", 30));
        both.emplace_back(pages(keeper, name + "-70", 70));
        return both;
    }

    os::TemporaryDirectory directory_;
};

TEST_F(KeeperTest, WhoAsksGetsTheTurnAndKeepsItWhileAlone) {
    for (const bool old_kernel : {false, true}) {
        Keeper keeper(Keeper::Options{.without_waitv = old_kernel});
        FakeContainer one(pages(keeper, old_kernel ? "old" : "new", 1));
        ASSERT_TRUE(one.take());
        EXPECT_EQ(one.word() & (abi::kTurnWanted | abi::kTurnOver | abi::kTurnOthers), 0U);
        std::this_thread::sleep_for(milliseconds(30));
        EXPECT_TRUE(one.is_mine());
    }
}

TEST_F(KeeperTest, ContainersWithWorkForEverTakeTurns) {
    for (const bool old_kernel : {false, true}) {
        Keeper keeper(Keeper::Options{.without_waitv = old_kernel});
        const Workers workers(at_work(keeper, old_kernel ? "old" : "new"));
        EXPECT_TRUE(comes_true([&] { return workers.least() >= 20; })) << workers.least();
    }
}

// What weights do with time is tested in time of its own (arbiter_test.cpp).
TEST_F(KeeperTest, ANewWeightIsReadWithoutNewPages) {
    Keeper keeper;
    const FakeContainer one(pages(keeper, "one", 30));
    EXPECT_EQ(keeper.weight("one"), 30U);
    auto file = guard_region::ConfigFile::open(directory_.path() / "one");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->set_limits({.uuid = kGpu, .weight = 70}));
    EXPECT_TRUE(comes_true([&] { return keeper.weight("one") == 70; }));
    ASSERT_TRUE(file->set_limits({.uuid = kGpu, .cap_ppm = 250'000}));
    EXPECT_TRUE(comes_true([&] { return keeper.weight("one") == 26; }));
    EXPECT_EQ(keeper.weight("one", 1), 0U);
}

TEST_F(KeeperTest, TurnsOfOneDeviceAreNothingToAnother) {
    Keeper keeper;
    FakeContainer one(pages(keeper, "one", 1));
    FakeContainer other(pages(keeper, "other", 1, kOther));
    ASSERT_TRUE(one.take());
    ASSERT_TRUE(other.take());
    EXPECT_TRUE(one.is_mine());
}

// All that a container can write: each word of its page, again and again.
TEST_F(KeeperTest, AContainerThatWritesAnythingStopsNobody) {
    Keeper keeper;
    const FakeContainer hostile(pages(keeper, "hostile", 50));
    const std::jthread writer([&](const std::stop_token& stop) {
        std::mt19937 random(7);
        auto* const words = reinterpret_cast<std::atomic<std::uint32_t>*>(&hostile.wants());
        constexpr unsigned kWords = sizeof(abi::WantsPage) / sizeof(std::uint32_t);
        while (!stop.stop_requested()) {
            for (unsigned i = 0; i < 200; ++i)
                words[random() % kWords].store(static_cast<std::uint32_t>(random()));
            if (random() % 4 == 0) hostile.give_back();
            hostile.poke();
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    });
    const Workers workers(at_work(keeper, "honest"));
    EXPECT_TRUE(comes_true([&] { return workers.least() >= 20; })) << workers.least();
    EXPECT_EQ(keeper.weight("hostile"), 50U);
}

TEST_F(KeeperTest, AContainerThatWakesItAllTheTimeIsNotListenedToSoOften) {
    Keeper keeper;
    const FakeContainer hostile(pages(keeper, "hostile", 50));
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t before = keeper.looks();
    while (std::chrono::steady_clock::now() - began < milliseconds(500)) hostile.poke();
    const auto took = std::chrono::steady_clock::now() - began;
    const auto windows =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count()) / Keeper::kWindow + 1;
    EXPECT_LE(keeper.looks() - before, windows * (Keeper::kMostWakes + 4));
}

TEST_F(KeeperTest, WithNobodyWhoWantsAnythingItOnlyKeepsItsHeartBeating) {
    Keeper keeper;
    FakeContainer one(pages(keeper, "one", 1));
    FakeContainer other(pages(keeper, "other", 1));
    const std::uint32_t beat = one.turns().heartbeat.load();
    const std::uint64_t before = keeper.looks();
    ASSERT_TRUE(comes_true([&] { return one.turns().heartbeat.load() - beat >= 3; }));
    EXPECT_LE(keeper.looks() - before, 3U * (one.turns().heartbeat.load() - beat + 2));
}

TEST_F(KeeperTest, ARemovedContainerGivesItsTurnToOthersAndIsTold) {
    Keeper keeper;
    FakeContainer one(pages(keeper, "one", 1));
    FakeContainer other(pages(keeper, "other", 1));
    ASSERT_TRUE(one.take());
    keeper.remove("one");
    keeper.remove("one");  // again: nothing
    EXPECT_EQ(one.turns().heartbeat.load(), 0U);
    EXPECT_TRUE(other.take());
    EXPECT_EQ(keeper.size(), 1U);
    EXPECT_EQ(keeper.weight("one"), 0U);
}

TEST_F(KeeperTest, ItsEndIsToldToAllAndALaterOneHandsOutNewPages) {
    std::optional<FakeContainer> one;
    {
        Keeper keeper;
        one.emplace(pages(keeper, "one", 1));
        EXPECT_NE(one->turns().heartbeat.load(), 0U);
    }
    EXPECT_EQ(one->turns().heartbeat.load(), 0U);
    Keeper later;
    FakeContainer again(*later.open("one", directory_.path() / "one"));
    EXPECT_TRUE(again.take());
}

TEST_F(KeeperTest, ThereAreNoPagesWithoutAConfig) {
    Keeper keeper;
    EXPECT_EQ(keeper.open("one", directory_.path() / "none").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(keeper.size(), 0U);
}

TEST_F(KeeperTest, ASocketHandsEachContainerItsOwnPages) {
    Keeper keeper;
    Sockets sockets(keeper);
    for (const char* name : {"one", "other"}) {
        const auto place = directory_.path() / (std::string(name) + ".socket");
        ASSERT_TRUE(sockets.open(name, place, config(name, 1)));
    }
    FakeContainer one(pages_from(directory_.path() / "one.socket"));
    FakeContainer same(pages_from(directory_.path() / "one.socket"));
    FakeContainer other(pages_from(directory_.path() / "other.socket"));
    ASSERT_TRUE(one.has_pages() && same.has_pages() && other.has_pages());
    ASSERT_TRUE(one.take());
    EXPECT_TRUE(same.is_mine());
    EXPECT_FALSE(other.is_mine());
    EXPECT_EQ(keeper.size(), 2U);
    sockets.close("one");
    EXPECT_EQ(keeper.size(), 1U);
    EXPECT_TRUE(pages_from(directory_.path() / "one.socket").empty());
}

TEST_F(KeeperTest, AContainerThatConnectsAndReadsNothingStopsOnlyItself) {
    Keeper keeper;
    Sockets sockets(keeper);
    for (const char* name : {"hostile", "honest"}) {
        const auto place = directory_.path() / (std::string(name) + ".socket");
        ASSERT_TRUE(sockets.open(name, place, config(name, 1)));
    }
    std::vector<Descriptor> wires;
    const std::string place = directory_.path() / "hostile.socket";
    for (unsigned i = 0; i < 200; ++i) {
        Descriptor wire(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        place.copy(address.sun_path, sizeof address.sun_path - 1);
        if (::connect(wire.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
            wires.push_back(std::move(wire));
    }
    EXPECT_FALSE(wires.empty());
    FakeContainer honest(pages_from(directory_.path() / "honest.socket"));
    ASSERT_TRUE(honest.has_pages());
    EXPECT_TRUE(honest.take());
    wires.clear();
    EXPECT_TRUE(FakeContainer(pages_from(place)).has_pages());
}

}  // namespace
}  // namespace aliquot::turns
