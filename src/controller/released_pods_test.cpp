// SPDX-License-Identifier: Apache-2.0
#include "controller/released_pods.h"

#include <gmock/gmock.h>

#include "base/time_text.h"
#include "kube_client/stub_api.h"
#include "os/clock.h"

namespace aliquot::controller {
namespace {

using scheduling::GpuPod;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kPods[] = "/api/v1/pods";

/// Pods that were let go and found none of their nodes free for long.
class ReleasedPodsTest : public testing::Test {
protected:
    void SetUp() override {
        elector_.step({});
        ASSERT_TRUE(elector_.leads());
    }
    void add(const std::string& name, const std::string& owner) {
        api_.put(kPods, {"team", name}, R"({"metadata":{"uid":"uid-)" + name + R"("}})");
        GpuPod pod{.uid = "uid-" + name, .name_space = "team", .name = name};
        pod.owner = owner;
        pod.unschedulable = "0/3 nodes are available";
        pod.unschedulable_since = "2026-01-01T00:00:00Z";
        released_.set(pod);
    }
    /// As the watch tells of what was deleted.
    unsigned tend(std::vector<std::string>* stuck = nullptr) {
        const auto tended = released_.tend({});
        if (stuck != nullptr) *stuck = tended.stuck;
        for (const std::string& name : names_) {
            if (!api_.json(kPods, {"team", name})) released_.erase("uid-" + name);
        }
        return tended.remade;
    }
    void add_replicas(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            names_.push_back("p" + std::to_string(i));
            add(names_.back(), "replica-set");
        }
    }

    std::vector<std::string> names_;
    kube_client::StubApi api_;
    os::ManualClock clock_;
    kube_client::Elector elector_{
        api_, clock_, {.lease = {"aliquot-system", "controller"}, .identity = "me"}};
    kube_client::EventRecorder events_{api_, {.controller = "c", .instance = "i"}};
    std::chrono::steady_clock::time_point time_{std::chrono::hours{1}};
    ReleasedPods released_{{.api = api_,
                            .elector = elector_,
                            .now = [] { return *parse_rfc3339("2026-01-01T01:00:00Z"); },
                            .events = events_,
                            .monotonic = [this] { return time_; }},
                           std::chrono::seconds{30}};
};

TEST_F(ReleasedPodsTest, OfOneControllerThreeAreMadeAgainInTenMinutesAndTheOthersAfterwards) {
    add_replicas(8);
    std::vector<std::string> stuck;
    EXPECT_EQ(tend(&stuck), 3U);
    EXPECT_EQ(stuck.size(), 5U);
    time_ += std::chrono::minutes{9};
    EXPECT_EQ(tend(&stuck), 0U);
    EXPECT_THAT(stuck, IsEmpty()) << "they were told";
    time_ += std::chrono::minutes{2};
    EXPECT_EQ(tend(&stuck), 3U);
    EXPECT_THAT(stuck, IsEmpty());
    time_ += std::chrono::minutes{11};
    EXPECT_EQ(tend(), 2U);
    EXPECT_TRUE(released_.empty());
}

TEST_F(ReleasedPodsTest, OneWithoutAControllerIsToldOnceAndStays) {
    add("alone", "");
    std::vector<std::string> stuck;
    EXPECT_EQ(tend(&stuck), 0U);
    EXPECT_THAT(stuck, ElementsAre("uid-alone"));
    time_ += std::chrono::hours{1};
    EXPECT_EQ(tend(&stuck), 0U);
    EXPECT_THAT(stuck, IsEmpty());
    EXPECT_TRUE(api_.json(kPods, {"team", "alone"})) << "nobody would make it again";
}

}  // namespace
}  // namespace aliquot::controller
