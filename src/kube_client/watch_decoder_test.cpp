// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kube_client/watch.h"

namespace aliquot::kube_client {
namespace {

constexpr std::string_view kStream =
    R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"1","managedFields":[{"x":"}"}]},"spec":{"s":"\\\"{["}}})"
    "\n\r\n"
    R"({"object":{"metadata":{"name":"a","resourceVersion":"2"}},"type":"MODIFIED"})"
    "\n"
    R"({"type":"UNHEARD_OF","object":{"metadata":{"name":"a","resourceVersion":"2"}}})"
    "\n"
    R"({"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"3"}}})"
    "\n"
    R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"4","annotations":{"k8s.io/initial-events-end":"true"}}}})"
    "\n";

TEST(WatchDecoder, ReadsAStreamHoweverItIsCut) {
    for (std::size_t piece = 1; piece < kStream.size() + 1; ++piece) {
        WatchDecoder decoder;
        decoder.keep_managed_fields = false;
        std::vector<WatchEvent> events;
        for (std::size_t at = 0; at < kStream.size(); at += piece) {
            ASSERT_TRUE(decoder.push(kStream.substr(at, piece), events)) << piece;
        }
        ASSERT_EQ(events.size(), 4U) << piece;
        EXPECT_EQ(events[0].type, WatchEvent::Type::kAdded);
        EXPECT_EQ(
            events[0].object.json,
            R"({"kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"1"},"spec":{"s":"\\\"{["}})");
        EXPECT_EQ(to_text(events[0].object.key()), "n/a");
        EXPECT_EQ(events[1].type, WatchEvent::Type::kModified);
        EXPECT_EQ(events[2].type, WatchEvent::Type::kDeleted);
        EXPECT_EQ(events[3].type, WatchEvent::Type::kBookmark);
        EXPECT_EQ(events[3].object.resource_version, "4");
        EXPECT_TRUE(events[3].initial_events_end);
        EXPECT_FALSE(events[0].initial_events_end);
    }
}

TEST(WatchDecoder, GivesTheEventsBeforeTheServersError) {
    WatchDecoder decoder;
    std::vector<WatchEvent> events;
    const auto pushed = decoder.push(
        R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
        "\n"
        R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})"
        "\n",
        events);
    ASSERT_FALSE(pushed);
    EXPECT_TRUE(pushed.failure().is_expired());
    EXPECT_EQ(events.size(), 1U);
    EXPECT_FALSE(decoder.push("{}\n", events));
}

TEST(WatchDecoder, RefusesWhatIsNoEvent) {
    for (const char* const line : {"garbage\n", "[]\n", "3\n", "{\n",
                                   R"({"type":"ADDED"})"
                                   "\n",
                                   R"({"type":"ADDED","object":3})"
                                   "\n",
                                   R"({"type":"ADDED","object":{"metadata":{}}})"
                                   "\n",
                                   R"({"type":3,"object":{"metadata":{"name":"a"}}})"
                                   "\n",
                                   R"({"type":"ADDED","object":{"metadata":{"name":"a"})"
                                   "\n"}) {
        WatchDecoder decoder;
        std::vector<WatchEvent> events;
        const auto pushed = decoder.push(line, events);
        ASSERT_FALSE(pushed) << line;
        EXPECT_TRUE(pushed.failure().is(Reason::kMalformed)) << line;
        EXPECT_TRUE(events.empty());
    }
}

TEST(WatchDecoder, RefusesALineWithoutEnd) {
    WatchDecoder decoder(1000);
    std::vector<WatchEvent> events;
    ASSERT_TRUE(decoder.push(std::string(1000, ' '), events));
    EXPECT_FALSE(decoder.push(" ", events));
}

/// Gives what it was told to give, piece by piece.
class ListedStream final : public ByteStream {
public:
    explicit ListedStream(std::vector<Outcome<Read>> reads) : reads_(std::move(reads)) {}
    Outcome<Read> read(std::chrono::milliseconds /*timeout*/, std::stop_token /*stop*/) override {
        if (at_ == reads_.size()) return Read{};
        return reads_[at_++];
    }

private:
    std::vector<Outcome<Read>> reads_;
    std::size_t at_ = 0;
};

TEST(Watch, TellsEventsFirstAndTheFailureNext) {
    const std::string line = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
                             "\n";
    Watch watch(std::make_unique<ListedStream>(std::vector<Outcome<ByteStream::Read>>{
        ByteStream::Read{}, ByteStream::Read{.bytes = line + "garbage\n"}}));
    auto batch = watch.next(std::chrono::seconds(1));
    ASSERT_TRUE(batch);
    EXPECT_TRUE(batch->events.empty());
    EXPECT_FALSE(batch->ended);
    batch = watch.next(std::chrono::seconds(1));
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->events.size(), 1U);
    for (int i = 0; i < 2; ++i) {
        batch = watch.next(std::chrono::seconds(1));
        ASSERT_FALSE(batch);
        EXPECT_TRUE(batch.failure().is(Reason::kMalformed));
    }
}

}  // namespace
}  // namespace aliquot::kube_client
