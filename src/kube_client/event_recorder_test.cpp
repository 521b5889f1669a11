// SPDX-License-Identifier: Apache-2.0
#include "kube_client/event_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube_client/stub_api.h"

namespace aliquot::kube_client {
namespace {

using namespace std::chrono_literals;

constexpr const char* kEvents = "/apis/events.k8s.io/v1/events";
constexpr auto kLong = 60s;

EventNote about(const std::string& node, const std::string& note) {
    return {.regarding = {.api_version = "v1", .kind = "Node", .name = node, .uid = "u"},
            .warning = true,
            .reason = "GpuFellOffBus",
            .action = "HealthCheck",
            .note = note};
}

std::vector<std::string> events_of(const StubApi& stub) {
    std::vector<std::string> all;
    for (const auto& [key, version] : stub.versions(kEvents)) {
        all.push_back(stub.json(kEvents, key).value_or(""));
    }
    return all;
}

TEST(EventRecorder, WritesAnEvent) {
    StubApi stub;
    EventRecorder recorder(stub, {.controller = "aliquot.dev/agent", .instance = "agent-1"});
    recorder.record(about("n1", "GPU 3 fell off the bus: reboot the node."));
    ASSERT_TRUE(recorder.flush(kLong));
    const auto events = events_of(stub);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(string_at(events[0], "/metadata/namespace"), "default");
    EXPECT_EQ(string_at(events[0], "/regarding/name"), "n1");
    EXPECT_EQ(string_at(events[0], "/reason"), "GpuFellOffBus");
    EXPECT_EQ(string_at(events[0], "/type"), "Warning");
    EXPECT_EQ(string_at(events[0], "/reportingController"), "aliquot.dev/agent");
    EXPECT_EQ(string_at(events[0], "/eventTime").value_or("").size(), 27U);
}

TEST(EventRecorder, CountsWhatHappensAgain) {
    StubApi stub;
    EventRecorder recorder(stub, {.instance = "x", .series_pause = 0s});
    for (int i = 0; i < 5; ++i) recorder.record(about("n1", "same"));
    ASSERT_TRUE(recorder.flush(kLong));
    const auto events = events_of(stub);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(integer_at(events[0], "/series/count"), 5);
    EXPECT_EQ(recorder.counts().created, 1U);
    EXPECT_EQ(recorder.counts().updated, 4U);
}

TEST(EventRecorder, PutsManySimilarOnesTogether) {
    StubApi stub;
    EventRecorder recorder(stub, {.instance = "x", .burst = 100, .series_pause = 0s});
    for (int i = 0; i < 30; ++i) recorder.record(about("n1", "note " + std::to_string(i)));
    ASSERT_TRUE(recorder.flush(kLong));
    const auto events = events_of(stub);
    EXPECT_EQ(events.size(), 11U);  // ten, and one for the rest
    const auto combined = std::ranges::find_if(events, [](const std::string& event) {
        return string_at(event, "/note").value_or("").starts_with("(combined");
    });
    ASSERT_NE(combined, events.end());
    EXPECT_EQ(integer_at(*combined, "/series/count"), 20);
}

TEST(EventRecorder, KeepsToItsPaceForEachObject) {
    StubApi stub;
    EventRecorder recorder(stub, {.instance = "x", .burst = 3});
    for (int i = 0; i < 8; ++i) {
        recorder.record(about("n1", "note " + std::to_string(i)));
        recorder.record(about("n" + std::to_string(i + 2), "one"));
    }
    ASSERT_TRUE(recorder.flush(kLong));
    EXPECT_EQ(recorder.counts().created, 3U + 8U);
    EXPECT_EQ(recorder.counts().dropped, 5U);
}

TEST(EventRecorder, MakesAnEventAnewThatHasExpired) {
    StubApi stub;
    EventRecorder recorder(stub, {.instance = "x", .series_pause = 0s});
    recorder.record(about("n1", "same"));
    ASSERT_TRUE(recorder.flush(kLong));
    const auto first = stub.versions(kEvents).begin()->first;
    stub.erase(kEvents, first);
    recorder.record(about("n1", "same"));
    ASSERT_TRUE(recorder.flush(kLong));
    const auto events = stub.versions(kEvents);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_NE(events.begin()->first, first);
}

TEST(EventRecorder, DropsWhatIsTooMuchAndWritesWhatWaitsAtItsEnd) {
    StubApi stub;
    std::mutex hold;
    hold.lock();
    stub.before = [&](const Request&) -> std::optional<Outcome<Reply>> {
        const std::scoped_lock lock(hold);
        return {};
    };
    {
        EventRecorder recorder(stub, {.instance = "x", .most_waiting = 4});
        for (int i = 0; i < 20; ++i) recorder.record(about("n" + std::to_string(i), "one"));
        EXPECT_GE(recorder.counts().dropped, 15U);  // four wait, one may be on its way
        hold.unlock();
    }
    EXPECT_GE(stub.versions(kEvents).size(), 4U);
}

TEST(EventRecorder, CutsALongNoteBetweenCharacters) {
    StubApi stub;
    EventRecorder recorder(stub, {.instance = "x"});
    recorder.record(about("n1", std::string(1023, 'a') + "\u00e4\u00e4"));
    ASSERT_TRUE(recorder.flush(kLong));
    EXPECT_EQ(string_at(events_of(stub).at(0), "/note"), std::string(1023, 'a'));
}

}  // namespace
}  // namespace aliquot::kube_client
