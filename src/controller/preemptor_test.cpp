// SPDX-License-Identifier: Apache-2.0
#include "controller/preemptor.h"

#include <gmock/gmock.h>

#include "base/time_text.h"
#include "kube_client/stub_api.h"
#include "os/clock.h"

namespace aliquot::controller {
namespace {

using kube_client::Outcome;
using kube_client::Reply;
using kube_client::Request;
using scheduling::GpuPod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kGpu[] = "nvidia.com/gpu";

/// One node; what is asked of pods/eviction is written down, and granted unless the test refuses it.
class PreemptorTest : public testing::Test {
protected:
    void SetUp() override {
        api_.before = [this](const Request& request) { return answer(request); };
        elector_.step({});
        ASSERT_TRUE(elector_.leads());
        options_.preemption_least_run = std::chrono::seconds{0};
        books_->set_node(node("n", "GPU-0", "GPU-1"));
    }
    static scheduling::ServedNode node(const std::string& name, const std::string& first,
                                       const std::string& second) {
        scheduling::ServedNode made{.name = name, .is_open = true};
        made.cpu_milli = 64'000;
        made.memory_mib = 64'000;
        made.gpus = {{first, {{kGpu, 1}}}, {second, {{kGpu, 1}}}};
        return made;
    }
    std::optional<Outcome<Reply>> answer(const Request& request) {
        const std::size_t end = request.path.find("/eviction");
        if (end == std::string::npos) return {};
        const std::size_t begin = request.path.rfind('/', end - 1) + 1;
        const std::string name = request.path.substr(begin, end - begin);
        const bool dry_run = request.path.find("dryRun=All") != std::string::npos;
        const bool has_uid = request.body.find(R"("uid":"uid-)" + name + "\"") != std::string::npos;
        asked_.push_back((dry_run ? "may " : "go ") + name + (has_uid ? "" : " of any uid"));
        if (asked_.back() == refused_) return Outcome<Reply>(Reply{.status = 429, .body = "{}"});
        return Outcome<Reply>(Reply{.status = 201, .body = "{}"});
    }
    static GpuPod pod(const std::string& name, unsigned count, std::int32_t priority) {
        GpuPod made{.uid = "uid-" + name, .name_space = "team", .name = name};
        made.priority = priority;
        made.labels = {{"app", "a"}};
        made.devices = {{"main", kGpu, count}};
        return made;
    }
    void hold(const std::string& name, const std::string& node = "n", unsigned count = 1,
              std::int32_t priority = 0) {
        GpuPod made = pod(name, count, priority);
        made.node = node;
        made.bound_at = "2026-01-01T00:00:00Z";
        books_->set_pod(made);
    }
    void add_budget(unsigned allowed) {
        api_.put(
            "/apis/policy/v1/poddisruptionbudgets", {"team", "b"},
            R"({"spec":{"selector":{"matchLabels":{"app":"a"}}},"status":{"disruptionsAllowed":)" +
                std::to_string(allowed) + "}}");
    }
    Preemptor::Outcome make_room() { return preemptor_.make_room(big_, books_, {}); }

    kube_client::StubApi api_;
    os::ManualClock clock_;
    kube_client::Elector elector_{
        api_, clock_, {.lease = {"aliquot-system", "controller"}, .identity = "me"}};
    kube_client::EventRecorder events_{api_, {.controller = "c", .instance = "i"}};
    PlacementOptions options_;
    std::chrono::steady_clock::time_point time_{std::chrono::hours{1}};
    Preemptor preemptor_{{.api = api_,
                          .elector = elector_,
                          .now = [] { return *parse_rfc3339("2026-02-01T00:00:00Z"); },
                          .monotonic = [this] { return time_; }},
                         events_,
                         options_};
    SharedBooks books_{scheduling::Books::Options{}};
    GpuPod big_ = pod("big", 2, 10);
    std::vector<std::string> asked_;
    std::string refused_;
};

TEST_F(PreemptorTest, AsksForAllThenEvictsAllThenWaits) {
    hold("x");
    hold("y");
    add_budget(2);
    const auto outcome = make_room();
    EXPECT_THAT(asked_, ElementsAre("may x", "may y", "go x", "go y"));
    EXPECT_EQ(outcome.evicted, 2U);
    EXPECT_TRUE(outcome.keeps_node);
    EXPECT_EQ(outcome.words, "2 of lower priority leave n for it");
    asked_.clear();
    const auto later = make_room();
    EXPECT_THAT(asked_, IsEmpty()) << "the books still have them, they leave";
    EXPECT_TRUE(later.keeps_node);
    EXPECT_EQ(later.words, "pods leave n, then it has room");
    EXPECT_THAT(preemptor_.holders([](const std::string&) { return true; }),
                ElementsAre("uid-big"));
    EXPECT_THAT(preemptor_.holders([](const std::string&) { return false; }), IsEmpty());
}

TEST_F(PreemptorTest, EvictsNobodyWhenOneBudgetDoesNotLetAllGo) {
    hold("x");
    hold("y");
    add_budget(1);
    const auto outcome = make_room();
    EXPECT_THAT(asked_, IsEmpty()) << "each alone might go";
    EXPECT_EQ(outcome.evicted, 0U);
    EXPECT_EQ(outcome.refused, 1U);
    EXPECT_FALSE(outcome.keeps_node);
    time_ += std::chrono::seconds{30};
    EXPECT_EQ(make_room().refused, 0U) << "it is not asked for again soon";
    time_ += std::chrono::seconds{31};
    EXPECT_EQ(make_room().refused, 1U);
}

TEST_F(PreemptorTest, EvictsNobodyWhenOneOfThemMayNotGo) {
    hold("x");
    hold("y");
    refused_ = "may y";
    EXPECT_EQ(make_room().refused, 1U);
    EXPECT_THAT(asked_, ElementsAre("may x", "may y"));
    EXPECT_EQ(make_room().refused, 0U);
    time_ += std::chrono::seconds{61};
    EXPECT_EQ(make_room().refused, 1U) << "a budget may have got room";
}

TEST_F(PreemptorTest, DoesNotGoOnEvictingWhenOthersTakeTheRoomEachTime) {
    for (unsigned round = 0; round < 5; ++round) {
        const std::string suffix = std::to_string(round);
        hold("x" + suffix);
        hold("y" + suffix);
        asked_.clear();
        const auto outcome = make_room();
        EXPECT_EQ(outcome.evicted, round < 3 ? 2U : 0U) << round;
        if (round >= 3) {
            EXPECT_THAT(asked_, IsEmpty());
            EXPECT_THAT(outcome.words, HasSubstr("3 times within 10 minutes"));
            continue;
        }
        books_->remove_pod("uid-x" + suffix);
        books_->remove_pod("uid-y" + suffix);
    }
    time_ += std::chrono::minutes{10};
    EXPECT_EQ(make_room().evicted, 2U) << "later anew";
}

TEST_F(PreemptorTest, LooksAgainTenSecondsAfterItFoundNobody) {
    hold("x");
    hold("y", "n", 1, 10);
    EXPECT_EQ(make_room().evicted, 0U) << "the other GPU is held by one of its own priority";
    books_->remove_pod("uid-y");
    hold("y");
    EXPECT_EQ(make_room().evicted, 0U);
    time_ += std::chrono::seconds{11};
    EXPECT_EQ(make_room().evicted, 2U);
}

TEST_F(PreemptorTest, GivesUpThoseWhoDoNotLeaveInTimeAndTakesOthers) {
    books_->set_node(node("o", "GPU-2", "GPU-3"));
    hold("x");
    hold("y");
    hold("z", "o", 2, 5);
    const auto look = [&] {
        asked_.clear();
        const auto outcome = make_room();
        books_->keep_only_for(preemptor_.holders([](const std::string&) { return true; }));
        return outcome.words;
    };
    EXPECT_EQ(look(), "1 of lower priority leaves o for it") << "fewer before lower";
    time_ += std::chrono::minutes{4};
    EXPECT_EQ(look(), "pods leave o, then it has room");
    EXPECT_THAT(asked_, IsEmpty());
    time_ += std::chrono::minutes{2};
    EXPECT_EQ(look(), "2 of lower priority leave n for it");
    EXPECT_THAT(asked_, ElementsAre("may x", "may y", "go x", "go y"));
    EXPECT_EQ(look(), "pods leave n, then it has room") << "not o again";
}

TEST_F(PreemptorTest, WhoDoesNotLeadEvictsNobody) {
    hold("x");
    hold("y");
    clock_.advance(std::chrono::hours{1});
    EXPECT_EQ(make_room().evicted, 0U);
    EXPECT_THAT(asked_, IsEmpty());
}

}  // namespace
}  // namespace aliquot::controller
