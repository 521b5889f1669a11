// SPDX-License-Identifier: Apache-2.0
#include "controller/token_gate.h"

#include <gmock/gmock.h>

#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "kube_client/stub_api.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

/// An API server that knows one user, "alice", by the token "good".
class PageTokenGate : public testing::Test {
protected:
    void SetUp() override {
        log::set_sink([](std::string_view) {});
        api_.before = [this](const kube_client::Request& request)
            -> std::optional<kube_client::Outcome<kube_client::Reply>> {
            ++asked_;
            if (slow_ && request.body.find("slow") != std::string::npos) {
                asking_.count_down();
                answered_.wait();
            }
            if (broken_) return kube_client::Reply{.status = 500, .body = "{}"};
            Json review = Json::parse(request.body);
            if (review["kind"] == "TokenReview") {
                review["status"] = {
                    {"authenticated", review["spec"]["token"] == "good"},
                    {"user",
                     {{"username", "alice"}, {"groups", {"ops"}}, {"extra", {{"scopes", {"a"}}}}}}};
            } else {
                const Json& spec = review["spec"];
                subjects_.push_back(spec);
                review["status"] = {
                    {"allowed", may_list_.contains(spec["resourceAttributes"]["resource"])}};
            }
            return kube_client::Reply{.status = 201, .body = review.dump()};
        };
    }
    void TearDown() override { log::set_sink({}); }

    int status(const std::string& authorization) {
        http::Request request{.method = "GET"};
        if (!authorization.empty()) request.headers["authorization"] = authorization;
        const auto refused = gate_.refuse(request);
        return refused ? refused->status : 200;
    }

    kube_client::StubApi api_;
    TokenGate::Steady now_{1h};
    TokenGate gate_{api_, [this] { return now_; }};
    bool broken_ = false;
    bool slow_ = false;
    std::latch asking_{1};
    std::latch answered_{1};
    std::set<std::string> may_list_{"pods", "nodes"};
    std::vector<Json> subjects_;
    int asked_ = 0;
};

TEST_F(PageTokenGate, LetsInWhoMayListPodsAndNodes) {
    EXPECT_EQ(status("Bearer good"), 200);
    ASSERT_EQ(subjects_.size(), 2U);
    EXPECT_EQ(subjects_[0]["user"], "alice");
    EXPECT_EQ(subjects_[0]["groups"], Json({"ops"}));
    EXPECT_EQ(subjects_[0]["extra"]["scopes"], Json({"a"}));
    EXPECT_EQ(subjects_[0]["resourceAttributes"]["verb"], "list");
    EXPECT_FALSE(subjects_[0]["resourceAttributes"].contains("namespace")) << "all namespaces";
}

TEST_F(PageTokenGate, RefusesOthersAndSaysWhatIsMissing) {
    EXPECT_EQ(status(""), 401);
    EXPECT_EQ(status("Basic YTpi"), 401);
    EXPECT_EQ(asked_, 0);
    EXPECT_EQ(status("Bearer wrong"), 401);
    may_list_ = {"pods"};
    EXPECT_EQ(status("Bearer good"), 403);
}

TEST_F(PageTokenGate, ClosesWhenTheApiServerCannotBeAsked) {
    broken_ = true;
    EXPECT_EQ(status("Bearer good"), 503);
    broken_ = false;
    now_ += 6s;
    EXPECT_EQ(status("Bearer good"), 200);
}

TEST_F(PageTokenGate, RemembersGoodAnswersLongerThanBadOnes) {
    EXPECT_EQ(status("Bearer good"), 200);
    EXPECT_EQ(status("Bearer wrong"), 401);
    const int asked = asked_;
    now_ += 4s;
    EXPECT_EQ(status("Bearer good"), 200);
    EXPECT_EQ(status("Bearer wrong"), 401);
    EXPECT_EQ(asked_, asked);
    may_list_.clear();
    now_ += 57s;
    EXPECT_EQ(status("Bearer good"), 403) << "a right that was taken away";
}

TEST_F(PageTokenGate, WhoIsKnownDoesNotWaitForTheQuestionOfAnother) {
    EXPECT_EQ(status("Bearer good"), 200);
    slow_ = true;
    std::jthread guesser([this] { EXPECT_EQ(status("Bearer slow"), 401); });
    asking_.wait();
    EXPECT_EQ(status("Bearer good"), 200);
    answered_.count_down();
}

TEST_F(PageTokenGate, ManyTokensTakeNoRoomAndPushOutNobody) {
    EXPECT_EQ(status("Bearer good"), 200);
    const auto asked = subjects_.size();
    for (std::size_t i = 0; i < TokenGate::kMostRemembered + 50; ++i) {
        EXPECT_EQ(status("Bearer wrong" + std::to_string(i)), 401);
    }
    EXPECT_EQ(status("Bearer good"), 200);
    EXPECT_EQ(subjects_.size(), asked);
}

}  // namespace
}  // namespace aliquot::controller
