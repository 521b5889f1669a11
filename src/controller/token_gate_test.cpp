// SPDX-License-Identifier: Apache-2.0
#include "controller/token_gate.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
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
            if (slow_) slow_();
            if (broken_) return kube_client::Reply{.status = 500, .body = "{}"};
            Json review = Json::parse(request.body);
            if (review["kind"] == "TokenReview") {
                review["status"] = {
                    {"authenticated", review["spec"]["token"] == "good"},
                    {"user",
                     {{"username", "alice"}, {"groups", {"ops"}}, {"extra", {{"scopes", {"a"}}}}}}};
            } else {
                const Json& spec = review["spec"];
                const Json& of = spec["resourceAttributes"];
                const std::lock_guard lock(mutex_);
                subjects_.push_back(spec);
                review["status"] = {
                    {"allowed", may_list_.contains(of["resource"]) ||
                                    (of.contains("namespace") && of["namespace"] == "team" &&
                                     of["resource"] == "pods")}};
            }
            return kube_client::Reply{.status = 201, .body = review.dump()};
        };
    }
    void TearDown() override { log::set_sink({}); }

    int status(const std::string& authorization, const std::string& only = {}) {
        http::Request request{.method = "GET"};
        if (!authorization.empty()) request.headers["authorization"] = authorization;
        if (!only.empty()) request.query.emplace_back("namespace", only);
        const page::Pass pass = gate_.admit(request);
        if (pass.refusal) return pass.refusal->status;
        EXPECT_EQ(pass.only, only);
        return 200;
    }

    kube_client::StubApi api_;
    TokenGate::Steady now_{1h};
    TokenGate gate_{api_, [this] { return now_; }};
    std::atomic<bool> broken_ = false;
    std::function<void()> slow_;
    std::mutex mutex_;  // guards subjects_
    std::set<std::string> may_list_{"pods", "nodes"};
    std::vector<Json> subjects_;
    std::atomic<int> asked_ = 0;
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

TEST_F(PageTokenGate, ShowsANamespaceToWhoMayListItsPodsAndNoMore) {
    may_list_.clear();
    EXPECT_EQ(status("Bearer good", "team"), 200);
    ASSERT_EQ(subjects_.size(), 1U);
    EXPECT_EQ(subjects_[0]["resourceAttributes"]["namespace"], "team");
    EXPECT_EQ(subjects_[0]["resourceAttributes"]["resource"], "pods");
    EXPECT_EQ(status("Bearer good", "other"), 403);
    EXPECT_EQ(status("Bearer good"), 403) << "what it may see of one does not open the others";
    EXPECT_EQ(status("Bearer wrong", "team"), 401);
    EXPECT_EQ(status("", "team"), 401);
}

TEST_F(PageTokenGate, AsksNothingOfNamesThatAreNone) {
    for (const char* const name : {"..", "a/b", "Team", "a b", "x\n", "-a"}) {
        EXPECT_EQ(status("Bearer good", name), 400) << name;
    }
    EXPECT_EQ(status("Bearer " + std::string(TokenReviews::kMostTokenBytes + 1, 'a')), 401);
    EXPECT_EQ(asked_, 0);
}

TEST_F(PageTokenGate, GuessesKeepNobodyOutWhoseTokenIsKnown) {
    EXPECT_EQ(status("Bearer good"), 200);
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t held = 0;
    bool go_on = false;
    slow_ = [&] {
        std::unique_lock lock(mutex);
        ++held;
        changed.notify_all();
        changed.wait(lock, [&] { return go_on; });
    };
    std::vector<std::jthread> guesses;
    for (std::size_t i = 0; i < TokenReviews::kMostAtOnce; ++i) {
        guesses.emplace_back(
            [this, i] { EXPECT_EQ(status("Bearer wrong" + std::to_string(i)), 401); });
    }
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return held == TokenReviews::kMostAtOnce; });
    }
    EXPECT_EQ(status("Bearer good"), 200) << "from memory, at once";
    EXPECT_EQ(status("Bearer another"), 503) << "no more questions at a time";
    {
        const std::scoped_lock lock(mutex);
        go_on = true;
    }
    changed.notify_all();
    guesses.clear();
    EXPECT_EQ(status("Bearer another"), 401) << "a refusal for want of room is not remembered";
}

TEST_F(PageTokenGate, ManyTokensTakeNoRoomAndPushOutNobody) {
    EXPECT_EQ(status("Bearer good"), 200);
    const auto asked = subjects_.size();
    for (std::size_t i = 0; i < TokenReviews::kMostRemembered + 50; ++i) {
        EXPECT_EQ(status("Bearer wrong" + std::to_string(i)), 401);
    }
    EXPECT_EQ(status("Bearer good"), 200);
    EXPECT_EQ(subjects_.size(), asked);
}

}  // namespace
}  // namespace aliquot::controller
