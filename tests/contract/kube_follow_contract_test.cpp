// SPDX-License-Identifier: Apache-2.0
//
// What our client expects of an API server: streams, and what is built on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <thread>

#include "kube_client/election.h"
#include "kube_client/event_recorder.h"
#include "kube_client/informer.h"
#include "tests/contract/kube_world.h"

namespace aliquot::contract {
namespace {

using namespace kube_client::resources;
using namespace std::chrono_literals;
using Type = kube_client::WatchEvent::Type;

class KubeFollowContract : public KubeContract {
protected:
    /// The next events of a stream, without bookmarks: as many as asked, or fewer when it ends.
    static std::vector<kube_client::WatchEvent> take(kube_client::Watch& watch, std::size_t count) {
        std::vector<kube_client::WatchEvent> taken;
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (taken.size() < count && std::chrono::steady_clock::now() < end) {
            auto batch = watch.next(1s);
            if (!batch) {
                ADD_FAILURE() << batch.failure().message;
                break;
            }
            for (auto& event : batch->events) {
                if (event.type != Type::kBookmark) taken.push_back(std::move(event));
            }
            if (batch->ended) break;
        }
        return taken;
    }
};

INSTANTIATE_TEST_SUITE_P(Api, KubeFollowContract,
                         testing::Values(KubeParam{"real", &real_kube_world},
                                         KubeParam{"simulated", &simulated_kube_world}),
                         [](const auto& test) { return test.param.name; });

TEST_P(KubeFollowContract, TellsChangesInTheirOrderAndGoesOnFromAnyOfThem) {
    const auto list = api().list(config_maps(), {.namespace_name = space_});
    ASSERT_TRUE(list);
    auto watch = api().watch(config_maps(), {.namespace_name = space_,
                                             .label_selector = "mine",
                                             .resource_version = list->resource_version});
    ASSERT_TRUE(watch) << watch.failure().message;
    make(config_maps(), R"({"metadata":{"name":"a","labels":{"mine":"1"}}})");
    make(config_maps(), R"({"metadata":{"name":"not-mine"}})");
    ASSERT_TRUE(api().patch(config_maps(), {space_, "a"}, R"({"data":{"x":"1"}})"));
    ASSERT_TRUE(api().remove(config_maps(), {space_, "a"}));
    const auto events = take(**watch, 3);
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].type, Type::kAdded);
    EXPECT_EQ(events[1].type, Type::kModified);
    EXPECT_EQ(kube_client::string_at(events[1].object.json, "/data/x"), "1");
    EXPECT_EQ(events[2].type, Type::kDeleted);

    auto later =
        api().watch(config_maps(), {.namespace_name = space_,
                                    .label_selector = "mine",
                                    .resource_version = events[0].object.resource_version});
    ASSERT_TRUE(later);
    const auto rest = take(**later, 2);
    ASSERT_EQ(rest.size(), 2U);
    EXPECT_EQ(rest[0].object.resource_version, events[1].object.resource_version);
    EXPECT_EQ(rest[1].type, Type::kDeleted);
}

TEST_P(KubeFollowContract, SeesAnObjectLeaveAndEnterASelector) {
    make(config_maps(), R"({"metadata":{"name":"a"}})");
    const auto list = api().list(config_maps(), {.namespace_name = space_});
    auto watch = api().watch(config_maps(), {.namespace_name = space_,
                                             .label_selector = "mine",
                                             .resource_version = list->resource_version});
    ASSERT_TRUE(watch);
    ASSERT_TRUE(
        api().patch(config_maps(), {space_, "a"}, R"({"metadata":{"labels":{"mine":"1"}}})"));
    ASSERT_TRUE(
        api().patch(config_maps(), {space_, "a"}, R"({"metadata":{"labels":{"mine":null}}})"));
    const auto events = take(**watch, 2);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].type, Type::kAdded);
    EXPECT_EQ(events[1].type, Type::kDeleted);
}

TEST_P(KubeFollowContract, EndsAStreamWhenItsTimeIsOver) {
    auto watch = api().watch(config_maps(), {.namespace_name = space_, .duration = 1s});
    ASSERT_TRUE(watch);
    bool ended = false;
    for (int i = 0; i < 60 && !ended; ++i) {
        const auto batch = (*watch)->next(1s);
        ASSERT_TRUE(batch) << batch.failure().message;
        ended = batch->ended;
    }
    EXPECT_TRUE(ended);
}

TEST_P(KubeFollowContract, BeginsWithThePresentStateWhenAsked) {
    make(config_maps(), R"({"metadata":{"name":"a"}})");
    make(config_maps(), R"({"metadata":{"name":"b"}})");
    auto watch = api().watch(config_maps(), {.namespace_name = space_, .initial_events = true});
    ASSERT_TRUE(watch) << watch.failure().message;
    std::vector<std::string> names;
    bool end = false;
    for (int i = 0; i < 60 && !end; ++i) {
        const auto batch = (*watch)->next(1s);
        ASSERT_TRUE(batch) << batch.failure().message;
        for (const auto& event : batch->events) {
            if (event.type == Type::kAdded) names.push_back(event.object.name);
            end = end || event.initial_events_end;
        }
    }
    EXPECT_TRUE(end);
    EXPECT_THAT(names, testing::IsSupersetOf({"a", "b"}));
}

TEST_P(KubeFollowContract, FillsAnInformer) {
    make_pod("a", R"({"app":"x"})");
    make_pod("other");
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, std::string> seen;  // name -> phase
    kube_client::Informer informer(
        api(), pods(),
        {.namespace_name = space_,
         .label_selector = "app=x",
         .projection = kube_client::keep_fields({"metadata.labels", "status.phase"})},
        [&](const kube_client::ObjectKey& object, const kube_client::StoredObject& /*before*/,
            const kube_client::StoredObject& after) {
            const std::scoped_lock lock(mutex);
            if (after) {
                seen[object.name] =
                    kube_client::string_at(after->json, "/status/phase").value_or("");
            } else {
                seen.erase(object.name);
            }
            changed.notify_all();
        });
    informer.start();
    ASSERT_TRUE(informer.wait_synced(60s)) << informer.state().last_failure;
    EXPECT_EQ(informer.store().size(), 1U);
    make_pod("b", R"({"app":"x"})");
    ASSERT_TRUE(api().patch(pods(), key("b"), R"({"status":{"phase":"Running"}})",
                            {.write = {.subresource = "status"}}));
    ASSERT_TRUE(api().remove(pods(), key("a"), {.grace_seconds = 0}));
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 60s, [&] {
        return seen == std::map<std::string, std::string>{{"b", "Running"}};
    }));
    EXPECT_EQ(informer.store().size(), 1U);
}

TEST_P(KubeFollowContract, ElectsOneLeaderAndTheNextAfterIt) {
    kube_client::BootClock clock;
    const auto options = [&](const char* identity) {
        return kube_client::ElectionOptions{.lease = key("leader"),
                                            .identity = identity,
                                            .lease_duration = 4s,
                                            .renew_deadline = 3s,
                                            .retry = 200ms};
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> leaders;
    const auto told = [&](const char* identity) {
        return kube_client::ElectionCallbacks{.started = [&, identity] {
            const std::scoped_lock lock(mutex);
            leaders.emplace_back(identity);
            changed.notify_all();
        }};
    };
    const auto wait_for = [&](std::size_t count) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, 60s, [&] { return leaders.size() >= count; });
    };
    kube_client::Elector one(api(), clock, options("one"), told("one"));
    kube_client::Elector two(api(), clock, options("two"), told("two"));
    std::jthread first([&](const std::stop_token& stop) { one.run(stop); });
    ASSERT_TRUE(wait_for(1));
    const std::jthread second([&](const std::stop_token& stop) { two.run(stop); });
    EXPECT_TRUE(one.leads());
    EXPECT_FALSE(two.leads());
    first = {};  // stops and releases
    ASSERT_TRUE(wait_for(2));
    EXPECT_FALSE(one.leads());
    EXPECT_TRUE(two.leads());
    EXPECT_GT(two.epoch(), one.epoch());
    EXPECT_EQ(leaders, (std::vector<std::string>{"one", "two"}));
}

TEST_P(KubeFollowContract, TakesEventsAndTheirSeries) {
    const auto pod = make_pod("p");
    kube_client::EventRecorder recorder(
        api(), {.controller = "aliquot.dev/contract", .instance = "test", .series_pause = 0s});
    const kube_client::EventNote note{.regarding = {.api_version = "v1",
                                                    .kind = "Pod",
                                                    .namespace_name = space_,
                                                    .name = "p",
                                                    .uid = pod.uid},
                                      .reason = "Tried",
                                      .action = "Trying",
                                      .note = "It was tried."};
    for (int i = 0; i < 3; ++i) recorder.record(note);
    ASSERT_TRUE(recorder.flush(60s));
    EXPECT_EQ(recorder.counts().created, 1U);
    EXPECT_EQ(recorder.counts().updated, 2U);
    const auto listed = api().list(kube_client::resources::events(), {.namespace_name = space_});
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->items.size(), 1U);
    EXPECT_EQ(kube_client::integer_at(listed->items[0].json, "/series/count"), 3);
    EXPECT_EQ(kube_client::string_at(listed->items[0].json, "/regarding/name"), "p");
    // Older tools read the same Event of the core group.
    const auto core = api().list(core_events(), {.namespace_name = space_});
    ASSERT_TRUE(core);
    ASSERT_EQ(core->items.size(), 1U);
    EXPECT_EQ(kube_client::string_at(core->items[0].json, "/involvedObject/name"), "p");
}

}  // namespace
}  // namespace aliquot::contract
