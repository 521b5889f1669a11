// SPDX-License-Identifier: Apache-2.0
#include "page/live.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/log.h"
#include "page/event_stream.h"
#include "top/test_world.h"

namespace aliquot::page {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

Sight seen() {
    return {.title = "", .cluster = top::one_node(), .pods = {}, .remarks = {}, .more = {}};
}

TEST(PageLive, LooksAtOnceWhenSomebodyComes) {
    std::atomic<int> looks = 0;
    Live live(
        [&] {
            ++looks;
            return seen();
        },
        {.title = "t", .views = "[]", .interval = 10ms});
    live.visit(10s);
    EXPECT_THAT(*live.feed().snapshot().json, HasSubstr(R"("title":"t")"));
    const std::uint64_t version = live.feed().snapshot().version;
    EXPECT_GT(live.feed().wait_newer(version, 10s), version);
    EXPECT_THAT(live.shares_json({"gpu-node-1"}), HasSubstr("gpu-node-1/0"));
}

TEST(PageLive, RestsWhenNobodyWatches) {
    std::atomic<int> looks = 0;
    Live live(
        [&] {
            ++looks;
            return seen();
        },
        {.title = "t", .views = "[]", .interval = 1ms, .quiet_after = 20ms});
    live.visit(10s);
    std::this_thread::sleep_for(200ms);  // long quiet: the next look is for the history
    const int before = looks;
    std::this_thread::sleep_for(200ms);
    EXPECT_LE(looks - before, 1);
}

TEST(PageLive, ALookThatFailsIsNotTheEnd) {
    log::set_sink([](std::string_view) {});
    std::atomic<int> looks = 0;
    {
        Live live(
            [&]() -> Sight {
                if (++looks == 1) throw std::runtime_error("the first one");
                return seen();
            },
            {.title = "t", .views = "[]", .interval = 5ms});
        live.visit(0ms);
        EXPECT_GT(live.feed().wait_newer(0, 10s), 0U);
    }
    log::set_sink({});
}

/// A reader that goes after some parts.
class Browser final : public http::Stream {
public:
    explicit Browser(unsigned parts) : left_(parts) {}
    bool write(std::string_view bytes) override {
        text += bytes;
        return left_ > 0 && --left_ > 0;
    }
    bool alive() override { return left_ > 0; }
    void break_off() override { left_ = 0; }
    std::string text;

private:
    unsigned left_;
};

TEST(PageLive, ShowsAPartToWhoMaySeeAPartAndKeepsItApart) {
    Live live(seen, {.title = "t", .views = "[]", .interval = 5ms});
    const auto whole = live.visit(10s);
    const auto part = live.visit(10s, "nobody-here");
    ASSERT_TRUE(part);
    EXPECT_NE(part->epoch(), whole->epoch());
    ASSERT_TRUE(part->snapshot().json);
    EXPECT_THAT(*part->snapshot().json, HasSubstr(R"("only":"nobody-here")"));
    EXPECT_THAT(*part->snapshot().json, testing::Not(HasSubstr("gpu-node-1")));
    EXPECT_THAT(*whole->snapshot().json, HasSubstr("gpu-node-1"));
    EXPECT_THAT(live.shares_json({"gpu-node-1"}, "nobody-here"),
                testing::Not(HasSubstr("gpu-node-1")));
    EXPECT_THAT(live.history_json("gpu-node-1/0", "nobody-here"), HasSubstr(R"("busy":[])"));
    EXPECT_THAT(live.history_json("", "nobody-here"), HasSubstr(R"("busy":[])"));
}

TEST(PageLive, KeepsPartsOnlyForSoManyAndForSoLong) {
    Live live(seen, {.title = "t", .views = "[]", .interval = 5ms, .quiet_after = 20ms});
    for (std::size_t i = 0; i < Live::kMostParts; ++i) {
        live.visit(0ms, "space-" + std::to_string(i));
    }
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!live.visit(0ms, "one-more") && std::chrono::steady_clock::now() < deadline) {
        live.visit(10ms);  // the others are forgotten with one of the next looks
    }
    EXPECT_TRUE(live.visit(0ms, "one-more"));
}

TEST(PageEvents, SendWhoHasNothingToTheSnapshotAndOthersTheChanges) {
    std::atomic<unsigned> celsius = 0;
    Live live(
        [&] {
            Sight sight = seen();
            sight.title = "look " + std::to_string(++celsius);
            return sight;
        },
        {.title = "t", .views = "[]", .interval = 5ms});
    live.visit(10s);
    Browser first(2);
    write_events(live, {}, kLongestStream, first);
    EXPECT_THAT(first.text, StartsWith("retry: 2000\n\nevent: snapshot\ndata: {\"version\":"));
    Browser second(3);
    write_events(
        live, {.only = "", .epoch = live.feed().epoch(), .since = live.feed().snapshot().version},
        kLongestStream, second);
    EXPECT_THAT(second.text, HasSubstr("event: changes\ndata: {\"version\":"));
    EXPECT_THAT(second.text, HasSubstr("look "));
}

}  // namespace
}  // namespace aliquot::page
