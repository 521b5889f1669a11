// SPDX-License-Identifier: Apache-2.0
#include "controller/binding_reviews.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/base64.h"
#include "controller/test_nodes.h"
#include "scheduling/plan.h"

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kPlan[] = "/metadata/annotations/aliquot.dev~1plan";

Json pod_json(const std::string& name, unsigned count, const std::string& node = "") {
    Json pod{{"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "uid-" + name}}},
             {"spec", {{"containers", Json::array({{{"name", "main"}}})}}}};
    if (count > 0)
        pod["spec"]["containers"][0]["resources"]["limits"][kShare] = std::to_string(count);
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return pod;
}

std::string review_of(const std::string& name, const std::string& node, const std::string& uid,
                      bool dry_run = false) {
    const Json binding{{"apiVersion", "v1"},
                       {"kind", "Binding"},
                       {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", uid}}},
                       {"target", {{"kind", "Node"}, {"name", node}}}};
    return Json{{"apiVersion", "admission.k8s.io/v1"},
                {"kind", "AdmissionReview"},
                {"request",
                 {{"uid", "review"},
                  {"operation", "CREATE"},
                  {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                  {"subResource", "binding"},
                  {"namespace", "team"},
                  {"name", name},
                  {"dryRun", dry_run},
                  {"object", binding}}}}
        .dump();
}

class BindingReviewsTest : public testing::Test {
protected:
    void SetUp() override {
        books_->set_node(shared_node("a", 2, 2));
        books_->set_node(shared_node("b", 2, 2));
    }
    void tell(const Json& pod) {
        const std::string name = pod["metadata"]["name"];
        reviews_.note({"team", name}, std::make_shared<const kube_client::Object>(
                                          kube_client::Object{.json = pod.dump(),
                                                              .namespace_name = "team",
                                                              .name = name,
                                                              .uid = pod["metadata"]["uid"],
                                                              .resource_version = "1"}));
        if (pod["spec"].contains("nodeName")) {
            books_->set_pod(*scheduling::read_gpu_pod(pod.dump()));
        }
    }
    Json ask(const std::string& name, const std::string& node, const std::string& uid = "",
             bool dry_run = false) {
        const auto review =
            reviews_.review(review_of(name, node, uid.empty() ? "uid-" + name : uid, dry_run));
        return Json::parse(review.body)["response"];
    }
    /// The plan that the answer puts on the pod.
    static std::optional<scheduling::Plan> plan_of(const Json& response) {
        const auto patch = decode_base64(response.value("patch", ""));
        if (!patch || patch->empty()) return std::nullopt;
        const Json patched = Json{{"metadata", {{"name", "p"}}}}.patch(Json::parse(*patch));
        return scheduling::parse_plan(patched.value(Json::json_pointer(kPlan), ""));
    }
    testing::AssertionResult counts(const std::string& how, unsigned count) {
        const std::string row = "{how=\"" + how + "\"} " + std::to_string(count) + "\n";
        if (reviews_.metrics().contains(row)) return testing::AssertionSuccess();
        return testing::AssertionFailure() << row << reviews_.metrics();
    }

    SharedBooks books_{scheduling::Books::Options{}};
    std::atomic<bool> leads_{true};
    std::atomic<bool> catches_up_{true};
    std::atomic<std::uint64_t> generation_{0};
    std::chrono::steady_clock::time_point now_ = std::chrono::steady_clock::now();
    BindingReviews reviews_{{.books = books_,
                             .may_answer = [this] { return leads_.load(); },
                             .catch_up = [this](auto) { return catches_up_.load(); },
                             .next_generation = [this] { return ++generation_; },
                             .now = [this] { return now_; }}};
};

TEST_F(BindingReviewsTest, APodGetsTheGpusOfItsNodeWithTheNode) {
    tell(pod_json("p", 2));
    const Json response = ask("p", "b");
    EXPECT_EQ(response["allowed"], true);
    const auto plan = plan_of(response);
    ASSERT_TRUE(plan) << response;
    EXPECT_EQ(plan->generation, 1U);
    ASSERT_EQ(plan->targets.size(), 1U);
    EXPECT_EQ(plan->targets[0].node, "b");
    ASSERT_EQ(plan->targets[0].units.at(kShare).size(), 1U) << "two units on one GPU";
    EXPECT_EQ(plan->asked, (std::vector<scheduling::DeviceRequest>{{"main", kShare, 2}}));
    EXPECT_EQ(plan_of(ask("p", "b"))->targets, plan->targets) << "asked again";
    EXPECT_TRUE(counts("stamped", 2));
}

TEST_F(BindingReviewsTest, APodThatIsNewsIsWaitedForAMoment) {
    // kube-scheduler was quicker than our watch.
    Json response;
    std::jthread binder([&] { response = ask("p", "b"); });
    std::this_thread::sleep_for(20ms);
    tell(pod_json("other", 1));
    tell(pod_json("p", 2));
    binder.join();
    EXPECT_TRUE(plan_of(response)) << response;
    EXPECT_TRUE(counts("stamped", 1));
    EXPECT_EQ(ask("stranger", "b")["allowed"], true) << "and not for longer";
    EXPECT_TRUE(counts("unknown", 1));
}

TEST_F(BindingReviewsTest, NoRoomOnOneGpuIsRefusedAndAfterAWhileLetThrough) {
    tell(pod_json("one", 1, "a"));
    tell(pod_json("two", 2, "a"));
    tell(pod_json("p", 2));
    for (unsigned i = 0; i < BindingReviews::kMostDenials; ++i) {
        const Json response = ask("p", "a");
        EXPECT_EQ(response["allowed"], false);
        EXPECT_EQ(response["status"]["message"],
                  "a has 1 of 4 nvidia.com/gpu.shared free, 2 are asked");
    }
    const Json last = ask("p", "a");
    EXPECT_EQ(last["allowed"], true);
    EXPECT_FALSE(last.contains("patch"));
    EXPECT_TRUE(counts("let_through", 1));
    EXPECT_TRUE(plan_of(ask("p", "b"))) << "another node has room, and denials of its own";
}

TEST_F(BindingReviewsTest, NobodyIsRefusedForWhatTheBooksDoNotKnowYet) {
    tell(pod_json("full", 2, "a"));
    tell(pod_json("full2", 2, "a"));
    tell(pod_json("p", 1));
    catches_up_ = false;
    const Json response = ask("p", "a");
    EXPECT_EQ(response["allowed"], true);
    EXPECT_FALSE(response.contains("patch"));
    EXPECT_TRUE(counts("busy", 1));
}

TEST_F(BindingReviewsTest, WhatIsNotOursOrNotKnownPassesAsItIs) {
    tell(pod_json("plain", 0));
    Json gated = pod_json("gated", 1);
    gated["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
    tell(gated);
    tell(pod_json("p", 1));
    const auto passes = [&](const Json& response) {
        EXPECT_EQ(response["allowed"], true) << response;
        EXPECT_FALSE(response.contains("patch")) << response;
    };
    passes(ask("plain", "a"));
    passes(ask("stranger", "a"));
    passes(ask("gated", "a"));
    passes(ask("p", "a", "uid-of-another"));
    EXPECT_TRUE(counts("unknown", 3));
    passes(ask("p", "elsewhere"));
    passes(ask("p", "a", "", true));
    leads_ = false;
    passes(ask("p", "a"));
    passes(ask("plain", "a"));
    EXPECT_TRUE(counts("no_gpu", 2));
    EXPECT_TRUE(counts("not_served", 1));
    EXPECT_TRUE(counts("dry_run", 1));
    EXPECT_TRUE(counts("not_leading", 1));
    EXPECT_TRUE(counts("stamped", 0));
    leads_ = true;
    tell(pod_json("p", 1, "b"));  // it is bound by now
    passes(ask("p", "a"));
    reviews_.note({"team", "plain"}, nullptr);
    passes(ask("plain", "a"));
    EXPECT_TRUE(counts("no_gpu", 2)) << "it is gone";
}

TEST_F(BindingReviewsTest, BooksInUseAreWaitedForNotForLong) {
    tell(pod_json("p", 1));
    Json response;
    {
        const auto use = books_.within(1s);
        std::jthread asks([&] { response = ask("p", "a"); });
    }
    EXPECT_EQ(response["allowed"], true);
    EXPECT_TRUE(counts("busy", 1));
}

TEST_F(BindingReviewsTest, WhoIsNotSeenBoundIsToldOnce) {
    tell(pod_json("p", 1));
    tell(pod_json("q", 1));
    ASSERT_TRUE(plan_of(ask("p", "a")));
    ASSERT_TRUE(plan_of(ask("q", "a")));
    EXPECT_TRUE(reviews_.has_seated());
    tell(pod_json("q", 1, "a"));
    EXPECT_TRUE(reviews_.lapsed().empty());
    now_ += BindingReviews::kSeatHolds;
    const auto lapsed = reviews_.lapsed();
    ASSERT_EQ(lapsed.size(), 1U);
    EXPECT_EQ(lapsed[0].uid, "uid-p");
    EXPECT_EQ(lapsed[0].key, (kube_client::ObjectKey{"team", "p"}));
    EXPECT_TRUE(reviews_.lapsed().empty());
    EXPECT_FALSE(reviews_.has_seated());
}

/// Forty pods of one unit are bound at once to nodes with eight units, while others change the books.
TEST_F(BindingReviewsTest, BindingsAtOnceNeverGetTheSameUnits) {
    constexpr unsigned kPods = 40;
    for (unsigned i = 0; i < kPods; ++i) tell(pod_json("p" + std::to_string(i), 1));
    std::vector<std::optional<scheduling::Plan>> plans(kPods);
    std::atomic<unsigned> next{0};
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (unsigned i = next++; i < kPods; i = next++)
                    plans[i] = plan_of(ask("p" + std::to_string(i), i % 2 == 0 ? "a" : "b"));
            });
        }
        threads.emplace_back([&] {
            for (unsigned i = 0; i < 50; ++i) {
                (void)books_->decide(*scheduling::read_gpu_pod(pod_json("other", 1).dump()));
                books_->forget("uid-other");
                (void)reviews_.metrics();
            }
        });
    }
    std::map<std::string, unsigned> used;
    unsigned given = 0;
    for (const auto& plan : plans) {
        if (!plan) continue;
        ++given;
        for (const auto& [gpu, units] : plan->targets.at(0).units.at(kShare)) used[gpu] += units;
    }
    EXPECT_EQ(given, 8U) << "all that there is";
    for (const auto& [gpu, units] : used) EXPECT_EQ(units, 2U) << gpu;
    EXPECT_TRUE(counts("denied", kPods - 8));
    EXPECT_EQ(books_->self_check(), "");
    EXPECT_EQ(books_->overbooked(), 0U);
}

}  // namespace
}  // namespace aliquot::controller
