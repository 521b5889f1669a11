// SPDX-License-Identifier: Apache-2.0
#include "kube_client/election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>

#include "base/log.h"
#include "base/time_text.h"
#include "kube_client/stub_api.h"

namespace aliquot::kube_client {
namespace {

using namespace std::chrono_literals;
using os::TimePoint;

const ObjectKey kLease{"aliquot-system", "controller"};
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/leases";

/// Carries requests to the stub as the test says, for one process.
class RelayApi final : public Api {
public:
    explicit RelayApi(std::function<Outcome<Reply>(const Request&)> carry)
        : carry_(std::move(carry)) {}
    Outcome<Reply> exchange(const Request& request) override { return carry_(request); }
    Outcome<std::unique_ptr<ByteStream>> open(const Request& request) override {
        return Failure{.reason = Reason::kUnreachable, .message = request.what};
    }

private:
    std::function<Outcome<Reply>(const Request&)> carry_;
};

class ElectorTest : public testing::Test {
protected:
    std::unique_ptr<Elector> candidate(const std::string& name) {
        return std::make_unique<Elector>(stub_, clock_,
                                         ElectionOptions{.lease = kLease, .identity = name});
    }
    StubApi stub_;
    os::ManualClock clock_;
};

TEST_F(ElectorTest, MakesTheLeaseAndRenewsIt) {
    clock_.advance(1h);
    auto a = candidate("a");
    EXPECT_FALSE(a->leads());
    a->step({});
    EXPECT_TRUE(a->leads());
    EXPECT_EQ(a->left(), 10s);
    EXPECT_EQ(a->leader(), "a");
    clock_.advance(9s);
    EXPECT_EQ(a->left(), 1s);
    a->step({});
    EXPECT_EQ(a->left(), 10s);
    ASSERT_TRUE(a->call());
    EXPECT_EQ(a->call()->deadline, 10s);
}

TEST_F(ElectorTest, WaitsUntilTheRecordStoodStillForItsDuration) {
    auto a = candidate("a");
    auto b = candidate("b");
    clock_.advance(1h);
    a->step({});
    b->step({});
    EXPECT_EQ(b->leader(), "a");
    clock_.advance(10s);
    a->step({});  // renews: for b the wait begins anew when it sees that
    clock_.advance(14s);
    b->step({});
    EXPECT_FALSE(b->leads());
    clock_.advance(14s);
    b->step({});
    EXPECT_FALSE(b->leads());
    clock_.advance(1s);
    b->step({});
    EXPECT_TRUE(b->leads());
    EXPECT_EQ(b->epoch(), 1U);
    EXPECT_FALSE(a->leads());
    a->step({});
    EXPECT_EQ(a->leader(), "b");
}

TEST_F(ElectorTest, DoesNotBelieveARecordsOwnDates) {
    // Written by a machine whose clock is years behind: for us it is new.
    stub_.put(
        kLeases, kLease,
        R"({"metadata":{},"spec":{"holderIdentity":"x","leaseDurationSeconds":15,"renewTime":"2001-01-01T00:00:00.000000Z"}})");
    clock_.advance(1h);
    auto a = candidate("a");
    a->step({});
    EXPECT_FALSE(a->leads());
    clock_.advance(15s);
    a->step({});
    EXPECT_TRUE(a->leads());
}

TEST_F(ElectorTest, StopsLeadingByItselfWhenTheServerIsAway) {
    clock_.advance(1h);
    unsigned stopped = 0;
    Elector a(stub_, clock_, {.lease = kLease, .identity = "a"}, {.stopped = [&] { ++stopped; }});
    a.step({});
    stub_.before = [](const Request&) -> std::optional<Outcome<Reply>> {
        return Failure{.reason = Reason::kUnreachable, .message = "away"};
    };
    for (int i = 0; i < 4; ++i) {
        clock_.advance(2s);
        a.step({});
        EXPECT_TRUE(a.leads());
    }
    clock_.advance(2s);
    EXPECT_FALSE(a.leads());  // before anything is called
    EXPECT_FALSE(a.call());
    a.step({});
    EXPECT_EQ(stopped, 1U);
    stub_.before = {};
    a.step({});
    EXPECT_TRUE(a.leads());
}

TEST_F(ElectorTest, HandsTheLeaseOnWhenItStops) {
    clock_.advance(1h);
    auto a = candidate("a");
    auto b = candidate("b");
    a->step({});
    b->step({});
    a->release();
    EXPECT_FALSE(a->leads());
    b->step({});
    EXPECT_TRUE(b->leads());
    a->release();  // no longer ours to give
    b->step({});
    EXPECT_TRUE(b->leads());
}

TEST_F(ElectorTest, KeepsWhatOthersWroteIntoTheLease) {
    stub_.put(kLeases, kLease,
              R"({"metadata":{"labels":{"a":"b"}},"spec":{"holderIdentity":"","strategy":"x"}})");
    clock_.advance(1h);
    auto a = candidate("a");
    a->step({});
    EXPECT_TRUE(a->leads());
    const auto json = stub_.json(kLeases, kLease);
    ASSERT_TRUE(json);
    EXPECT_EQ(string_at(*json, "/metadata/labels/a"), "b");
    EXPECT_EQ(string_at(*json, "/spec/strategy"), "x");
    EXPECT_EQ(string_at(*json, "/spec/holderIdentity"), "a");
    EXPECT_EQ(integer_at(*json, "/spec/leaseDurationSeconds"), 15);
}

TEST(Election, SaysOnceWhyItCannotHaveTheLease) {
    std::vector<std::string> lines;
    log::set_sink([&lines](std::string_view line) { lines.emplace_back(line); });
    RelayApi api([](const Request& request) -> Outcome<Reply> {
        if (request.method == "GET")
            return Failure{.reason = Reason::kNotFound,
                           .message = "leases \"controller\" not found"};
        return Failure{.reason = Reason::kNotFound,
                       .message = "namespaces \"aliquot-system\" not found"};
    });
    os::ManualClock clock;
    Elector elector(api, clock, {.lease = kLease, .identity = "a"});
    for (int i = 0; i < 3; ++i) elector.step({});
    log::set_sink({});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines.front().find("namespaces"), std::string::npos) << lines.front();
    EXPECT_NE(lines.front().find("aliquot-system/controller"), std::string::npos) << lines.front();
}

TEST(UniqueIdentity, IsNeverTheSame) {
    EXPECT_NE(unique_identity("node"), unique_identity("node"));
    EXPECT_TRUE(unique_identity("node").starts_with("node_"));
}

TEST(MicroTime, IsWrittenAsKubernetesDoes) {
    EXPECT_EQ(rfc3339_micro(std::chrono::system_clock::time_point(1'700'000'000'000'123us)),
              "2023-11-14T22:13:20.000123Z");
}

TEST(BootClock, SleepsUntilItsTimeOrAStop) {
    BootClock clock;
    EXPECT_TRUE(clock.sleep_until(clock.now() + 1ms, {}));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(clock.sleep_until(clock.now() + 1h, stop.get_token()));
}

// --- A world of processes that are slow, killed, cut off and have clocks of their own limiter.

class World {
public:
    explicit World(unsigned seed) : random_(seed) {}

    /// A clock that runs a bit faster or slower than the world's, from a zero of its own.
    class PacedClock final : public os::Clock {
    public:
        PacedClock(const World& world, double limiter, std::chrono::hours zero)
            : world_(world), limiter_(limiter), zero_(zero) {}
        [[nodiscard]] TimePoint now() const override {
            const auto real = world_.now_.time_since_epoch();
            return TimePoint(zero_) +
                   std::chrono::duration_cast<std::chrono::nanoseconds>(real * limiter_);
        }
        bool sleep_until(TimePoint /*when*/, std::stop_token /*stop*/) override { return true; }

    private:
        const World& world_;
        const double limiter_;
        const std::chrono::hours zero_;
    };

    struct Process {
        std::string name;
        std::unique_ptr<PacedClock> clock;
        std::unique_ptr<RelayApi> api;
        std::unique_ptr<Elector> elector;
        bool alive = true;
        bool busy = false;  // in a step that waits for the server
    };

    Process& start() {
        auto process = std::make_unique<Process>();
        Process& made = *process;
        made.name = "p" + std::to_string(++names_);
        made.clock = std::make_unique<PacedClock>(*this, 0.99 + draw(20) / 1000.0,
                                                  std::chrono::hours(1 + draw(1000)));
        made.api = std::make_unique<RelayApi>(
            [this, &made](const Request& request) { return carry(made, request); });
        made.elector = std::make_unique<Elector>(
            *made.api, *made.clock, ElectionOptions{.lease = kLease, .identity = made.name});
        processes_.push_back(std::move(process));
        at(std::chrono::milliseconds(draw(2000)), [this, &made] { round(made); });
        at(std::chrono::milliseconds(draw(2000)), [this, &made] { try_write(made); });
        return made;
    }

    void kill(Process& process) { process.alive = false; }

    /// Lets the world go on; what is due happens, also while others wait for an answer.
    void run_for(std::chrono::milliseconds time) { run_until(now_ + time); }

    Process* leader() {
        Process* found = nullptr;
        for (const auto& process : processes_) {
            if (!process->alive || !process->elector->leads()) continue;
            EXPECT_EQ(found, nullptr) << found->name << " and " << process->name;
            found = process.get();
        }
        return found;
    }
    [[nodiscard]] std::size_t alive() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(processes_, [](const auto& process) { return process->alive; }));
    }
    void bury() {
        std::erase_if(processes_, [&](const auto& process) {
            if (process->alive || process->busy) return false;
            dead_.push_back(std::move(const_cast<std::unique_ptr<Process>&>(process)));
            return true;
        });
    }
    int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

    unsigned writes = 0;

private:
    void at(std::chrono::milliseconds after, std::function<void()> what) {
        agenda_.emplace(now_ + after, std::move(what));
    }

    void run_until(TimePoint end) {
        while (!agenda_.empty() && agenda_.begin()->first <= end) {
            now_ = std::max(now_, agenda_.begin()->first);
            const auto what = std::move(agenda_.begin()->second);
            agenda_.erase(agenda_.begin());
            what();
            (void)leader();  // never two
        }
        now_ = std::max(now_, end);
    }

    void round(Process& process) {
        if (!process.alive) return;
        process.busy = true;
        const auto next = process.elector->step({});
        process.busy = false;
        if (process.alive && draw(200) == 0) {
            process.elector->release();
        }
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - process.clock->now());
        at(std::max(wait, 1ms), [this, &process] { round(process); });
    }

    std::chrono::milliseconds on_the_way() {
        const int kind = draw(100);
        if (kind < 3) return std::chrono::milliseconds(5000 + draw(20'000));
        if (kind < 10) return std::chrono::milliseconds(500 + draw(3000));
        return std::chrono::milliseconds(1 + draw(30));
    }

    /// A request that may come late or never, be carried out after the asker gave up, or lose its
    /// answer.
    Outcome<Reply> carry(Process& process, const Request& request) {
        const Failure late{.reason = Reason::kDeadline, .message = "late"};
        if (!process.alive) return late;
        const auto there = on_the_way();
        const auto back = on_the_way();
        auto reply = std::make_shared<std::optional<Outcome<Reply>>>();
        const bool lost = draw(50) == 0;
        if (!lost) {
            at(there, [this, request, reply] { reply->emplace(stub_.exchange(request)); });
        }
        const auto limit = request.call.deadline;
        const auto time = there + back;
        run_for(std::min(time, limit));
        if (!process.alive || lost || time > limit || !*reply) return late;
        return **reply;
    }

    /// A write as the leader: allowed now, and at the server within the time it was allowed.
    void try_write(Process& process) {
        if (!process.alive) return;
        if (const auto call = process.elector->call()) {
            const auto epoch = process.elector->epoch();
            const auto way = std::min(on_the_way(), call->deadline * 98 / 100);
            at(way, [this, epoch, name = process.name] {
                ++writes;
                // Once somebody else has written, nobody from before may.
                EXPECT_GE(epoch, last_epoch_) << name << " writes after " << last_writer_;
                if (epoch == last_epoch_ && !last_writer_.empty()) {
                    EXPECT_EQ(name, last_writer_);
                }
                last_epoch_ = epoch;
                last_writer_ = name;
            });
        }
        at(std::chrono::milliseconds(50 + draw(1000)), [this, &process] { try_write(process); });
    }

    std::mt19937 random_;
    TimePoint now_{1h};
    std::multimap<TimePoint, std::function<void()>> agenda_;
    std::deque<std::unique_ptr<Process>> processes_;
    std::deque<std::unique_ptr<Process>> dead_;  // their timers may still come
    StubApi stub_;
    unsigned names_ = 0;
    std::uint64_t last_epoch_ = 0;
    std::string last_writer_;
};

TEST(Election, NeverHasTwoWritersThroughAThousandKills) {
    World world(4711);
    for (int i = 0; i < 3; ++i) world.start();
    unsigned kills = 0;
    unsigned rounds = 0;
    while (kills < 1000 && ++rounds < 200'000 && !testing::Test::HasFailure()) {
        world.run_for(std::chrono::milliseconds(100 + world.draw(4000)));
        if (auto* const leader = world.leader()) {
            world.kill(*leader);
            ++kills;
        }
        world.bury();
        while (world.alive() < 3) world.start();
    }
    EXPECT_EQ(kills, 1000U);
    EXPECT_GT(world.writes, 1000U);
}

}  // namespace
}  // namespace aliquot::kube_client
