// SPDX-License-Identifier: Apache-2.0
#include "kube_client/informer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <random>
#include <thread>

#include "kube_client/stub_api.h"

namespace aliquot::kube_client {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPods = "/api/v1/pods";
constexpr auto kLong = 60s;  // until a test gives up; never waited in a good run

std::string pod(int number) {
    return R"({"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"n":")" +
           std::to_string(number) + R"("}},"spec":{"nodeName":"n1","drop":1}})";
}

/// What handlers were told, put together again.
class Mirror {
public:
    Informer::Handler handler() {
        return [this](const ObjectKey& key, const StoredObject& before, const StoredObject& after) {
            const std::scoped_lock lock(mutex_);
            // Each change begins where the last one ended.
            const auto known = objects_.find(key);
            const std::string was = known == objects_.end() ? "" : known->second;
            const std::string said = before ? before->uid + "@" + before->resource_version : "";
            if (was != said) ++breaks_;
            if (after) {
                objects_[key] = after->uid + "@" + after->resource_version;
            } else {
                objects_.erase(key);
            }
            changed_.notify_all();
        };
    }
    bool wait(const std::function<bool(const std::map<ObjectKey, std::string>&)>& is) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kLong, [&] { return is(objects_); });
    }
    /// Something else has happened that wait() asks about.
    void poke() {
        const std::scoped_lock lock(mutex_);
        changed_.notify_all();
    }
    unsigned breaks() {
        const std::scoped_lock lock(mutex_);
        return breaks_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<ObjectKey, std::string> objects_;
    unsigned breaks_ = 0;
};

InformerOptions quick() { return {.chunk = 7, .first_wait = 1ms, .longest_wait = 4ms}; }

TEST(Informer, HoldsWhatTheServerHas) {
    StubApi stub;
    for (int i = 0; i < 20; ++i) stub.put(kPods, {"a", "p" + std::to_string(i)}, pod(i));
    Mirror mirror;
    InformerOptions options = quick();
    options.projection = keep_fields({"metadata.labels", "spec.nodeName"});
    Informer informer(stub, resources::pods(), options, mirror.handler());
    informer.start();
    ASSERT_TRUE(informer.wait_synced(kLong));
    EXPECT_EQ(informer.store().size(), 20U);
    const auto first = informer.store().find({"a", "p3"});
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(string_at(first->json, "/spec/nodeName"), "n1");
    EXPECT_FALSE(json_at(first->json, "/spec/drop"));

    stub.put(kPods, {"b", "new"}, pod(99));
    stub.erase(kPods, {"a", "p3"});
    EXPECT_TRUE(mirror.wait([&](const auto& objects) { return objects == stub.versions(kPods); }));
    EXPECT_EQ(informer.store().find({"a", "p3"}), nullptr);
    EXPECT_NE(informer.store().find({"b", "new"}), nullptr);
    EXPECT_EQ(informer.state().lists, 1U);
    EXPECT_TRUE(informer.state().synced);
}

TEST(Informer, GoesOnAfterAnOrderlyEndWithoutReadingTheListAgain) {
    StubApi stub;
    stub.fate = [] { return StubApi::Fate{.kind = StubApi::Fate::Kind::kEnd, .after_events = 1}; };
    Mirror mirror;
    Informer informer(stub, resources::pods(), quick(), mirror.handler());
    informer.start();
    ASSERT_TRUE(informer.wait_synced(kLong));
    for (int i = 0; i < 5; ++i) stub.put(kPods, {"a", "p" + std::to_string(i)}, pod(i));
    EXPECT_TRUE(mirror.wait([](const auto& objects) { return objects.size() == 5; }));
    EXPECT_EQ(informer.state().lists, 1U);
    EXPECT_GE(informer.state().watches, 5U);
}

TEST(Informer, MakesUpForWhatItMissed) {
    StubApi stub;
    stub.put(kPods, {"a", "stays"}, pod(1));
    stub.put(kPods, {"a", "goes"}, pod(2));
    stub.put(kPods, {"a", "reborn"}, pod(3));
    std::atomic<bool> away{false};
    stub.fate = [] {
        return StubApi::Fate{.kind = StubApi::Fate::Kind::kBreak, .after_events = 1};
    };
    std::atomic<bool> watching{false};
    stub.before = [&](const Request& request) -> std::optional<Outcome<Reply>> {
        if (!away) {
            if (request.what.starts_with("watch")) watching = true;
            return {};
        }
        return Failure{.reason = Reason::kUnreachable, .message = request.what};
    };
    Mirror mirror;
    Informer informer(stub, resources::pods(), quick(), mirror.handler());
    informer.start();
    ASSERT_TRUE(informer.wait_synced(kLong));
    // What is synced need not watch yet, and once we are away it cannot begin to.
    const auto limit = std::chrono::steady_clock::now() + kLong;
    while (!watching && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    ASSERT_TRUE(watching);
    away = true;
    stub.put(kPods, {"a", "last"}, pod(4));  // seen, then the stream breaks
    ASSERT_TRUE(mirror.wait([](const auto& objects) { return objects.size() == 4; }));
    stub.erase(kPods, {"a", "goes"});
    stub.erase(kPods, {"a", "reborn"});
    stub.put(kPods, {"a", "reborn"}, pod(5));
    stub.compact();
    away = false;
    EXPECT_TRUE(mirror.wait([&](const auto& objects) { return objects == stub.versions(kPods); }));
    EXPECT_EQ(mirror.breaks(), 0U);
}

TEST(Informer, TellsWhyItIsNotSynced) {
    StubApi stub;
    stub.before = [](const Request&) -> std::optional<Outcome<Reply>> {
        return Reply{
            .status = 403,
            .body =
                R"({"kind":"Status","reason":"Forbidden","code":403,"message":"pods is forbidden"})"};
    };
    Informer informer(stub, resources::pods(), quick());
    informer.start();
    EXPECT_FALSE(informer.wait_synced(50ms));
    EXPECT_EQ(informer.state().last_failure, "list pods: Forbidden (403): pods is forbidden");
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(informer.wait_synced(kLong, stop.get_token()));
}

TEST(Informer, EqualsTheServerAfterAThousandBreaks) {
    StubApi stub;
    Mirror mirror;
    std::mt19937 random(4711);
    std::atomic<unsigned> suffered{0};
    using Kind = StubApi::Fate::Kind;
    stub.fate = [&] {  // on the informer's thread
        if (suffered == 1000) return StubApi::Fate{};
        ++suffered;
        mirror.poke();
        const auto kind = static_cast<Kind>(1 + random() % 8);
        return StubApi::Fate{.kind = kind, .after_events = static_cast<unsigned>(random() % 4)};
    };
    InformerOptions options = quick();
    options.longest_wait = 1ms;
    Informer informer(stub, resources::pods(), options, mirror.handler());
    informer.start();
    ASSERT_TRUE(informer.wait_synced(kLong));

    std::mt19937 changes(1);
    const auto equal = [&](const auto& objects) { return objects == stub.versions(kPods); };
    for (unsigned round = 0; suffered < 1000; ++round) {
        ASSERT_LT(round, 100'000U);
        for (unsigned i = 0; i < 5; ++i) {
            const ObjectKey key{"ns" + std::to_string(changes() % 3),
                                "p" + std::to_string(changes() % 10)};
            if (changes() % 4 == 0) {
                stub.erase(kPods, key);
            } else {
                stub.put(kPods, key, pod(static_cast<int>(round)));
            }
        }
        if (changes() % 20 == 0) stub.compact();
        const unsigned before = suffered;
        ASSERT_TRUE(
            mirror.wait([&](const auto& objects) { return suffered != before || equal(objects); }));
    }
    EXPECT_TRUE(mirror.wait(equal));
    std::map<ObjectKey, std::string> held;
    for (const auto& object : informer.store().all()) {
        held[object->key()] = object->uid + "@" + object->resource_version;
    }
    EXPECT_EQ(held, stub.versions(kPods));
    EXPECT_EQ(mirror.breaks(), 0U);
}

}  // namespace
}  // namespace aliquot::kube_client
