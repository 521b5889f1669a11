// SPDX-License-Identifier: Apache-2.0
#include "controller/job_api.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/log.h"
#include "kube_client/stub_api.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;

/// An API server that knows one user, "alice", by the token "good", and what she may do in "lab".
class JobTokens : public testing::Test {
protected:
    void SetUp() override {
        log::set_sink([](std::string_view) {});
        api_.before = [this](const kube_client::Request& request)
            -> std::optional<kube_client::Outcome<kube_client::Reply>> {
            if (!request.path.contains("reviews")) return std::nullopt;
            if (slow_) slow_();
            if (broken_) return kube_client::Reply{.status = 500, .body = "{}"};
            Json review = Json::parse(request.body);
            if (review["kind"] == "TokenReview") {
                ++asked_;
                if (fails_) throw std::runtime_error("the library failed");
                review["status"] = {{"authenticated", review["spec"]["token"] == "good"},
                                    {"user", {{"username", "alice"}, {"groups", {"ops"}}}}};
            } else {
                const Json& what = review["spec"]["resourceAttributes"];
                const std::scoped_lock lock(mutex_);
                rights_.push_back(review["spec"]);
                const std::string verb = what["verb"];
                review["status"] = {
                    {"allowed", what.value("namespace", "") == "lab" && may_.contains(verb)}};
            }
            return kube_client::Reply{.status = 201, .body = review.dump()};
        };
    }
    void TearDown() override { log::set_sink({}); }

    http::Response ask(const std::string& method, const std::string& target,
                       const std::string& token = "good", const std::string& body = "") {
        http::Request request{.method = method};
        http::read_target(target, request);
        request.body = body;
        if (!token.empty()) request.headers["authorization"] = "Bearer " + token;
        return jobs_.respond(request);
    }

    kube_client::StubApi api_;
    JobApi::Steady now_{1h};
    JobApi jobs_{api_, [this] { return now_; }};
    std::set<std::string> may_{"get", "list", "create", "patch"};
    std::mutex mutex_;  // guards rights_
    std::vector<Json> rights_;
    std::function<void()> slow_;
    std::atomic<bool> broken_ = false;
    std::atomic<bool> fails_ = false;
    std::atomic<int> asked_ = 0;

    int status(const std::string& token) {
        return ask("GET", "/v1/jobs?namespace=lab", token).status;
    }
};

/// Holds up whoever comes, until it is opened.
class Turnstile {
public:
    void pass() {
        std::unique_lock lock(mutex_);
        ++held_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_; });
    }
    void wait_for(std::size_t many) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return held_ == many; });
    }
    void open() {
        const std::scoped_lock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t held_ = 0;
    bool open_ = false;
};

TEST_F(JobTokens, LetWhoShowsOneDoWhatItsRoleAllowsWithJobs) {
    const auto made = ask("POST", "/v1/jobs?namespace=lab", "good",
                          R"({"name":"train","image":"trainer:1","user":"root"})");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(rights_.back()["user"], "alice");
    EXPECT_EQ(rights_.back()["groups"], Json({"ops"}));
    EXPECT_EQ(rights_.back()["resourceAttributes"]["group"], "batch");
    EXPECT_THAT(made.body, HasSubstr(R"("user":"alice")"));  // whoever the body says
    EXPECT_EQ(ask("GET", "/v1/jobs/train?namespace=lab").status, 200);
    EXPECT_EQ(rights_.back()["resourceAttributes"]["name"], "train");
    EXPECT_EQ(ask("GET", "/v1/jobs/train/logs?namespace=lab").status, 200);
    EXPECT_EQ(rights_.back()["resourceAttributes"]["subresource"], "log");
    EXPECT_EQ(asked_, 1);  // the token is remembered, what it may do is not
}

TEST_F(JobTokens, RefuseWhatTheRoleDoesNotAllow) {
    const auto elsewhere = ask("GET", "/v1/jobs?namespace=other");
    EXPECT_EQ(elsewhere.status, 403);
    EXPECT_THAT(elsewhere.body, HasSubstr("list jobs in the namespace other"));
    EXPECT_EQ(ask("GET", "/v1/jobs?namespace=*").status, 403);
    may_ = {"get", "create"};
    const auto retried = ask("POST", "/v1/jobs/train/retry?namespace=lab");
    EXPECT_EQ(retried.status, 403);  // it deletes the former one
    EXPECT_THAT(retried.body, HasSubstr("delete jobs in the namespace lab"));
    may_ = {"get", "delete"};
    EXPECT_EQ(ask("POST", "/v1/jobs/train/retry?namespace=lab").status, 403);
    may_ = {"get"};
    EXPECT_EQ(ask("POST", "/v1/jobs/train/cancel?namespace=lab").status, 403);
    EXPECT_EQ(ask("DELETE", "/v1/jobs/train?namespace=lab").status, 403);
    EXPECT_EQ(ask("GET", "/v1/nothing").status, 404);
}

TEST_F(JobTokens, OfNobodyOpenNothing) {
    EXPECT_EQ(ask("GET", "/v1/jobs?namespace=lab", "").status, 401);
    EXPECT_EQ(ask("GET", "/v1/jobs?namespace=lab", "bad").status, 401);
    EXPECT_TRUE(rights_.empty());
    broken_ = true;
    EXPECT_EQ(ask("GET", "/v1/jobs?namespace=lab", "new").status, 503);
    now_ += TokenReviews::kGoodFor + 1s;
    EXPECT_EQ(ask("GET", "/v1/jobs?namespace=lab").status, 503);
}

TEST_F(JobTokens, ThatAreTooLongAreAskedOfNobody) {
    EXPECT_EQ(status(std::string(TokenReviews::kMostTokenBytes + 1, 'a')), 401);
    EXPECT_EQ(asked_, 0);
}

TEST_F(JobTokens, AreRememberedLongerWhenTheyAreGood) {
    EXPECT_EQ(status("good"), 200);
    EXPECT_EQ(status("wrong"), 401);
    now_ += 4s;
    EXPECT_EQ(status("good"), 200);
    EXPECT_EQ(status("wrong"), 401);
    EXPECT_EQ(asked_, 2);
    now_ += 2s;
    EXPECT_EQ(status("good"), 200);
    EXPECT_EQ(asked_, 2);
    EXPECT_EQ(status("wrong"), 401);
    EXPECT_EQ(asked_, 3);
}

TEST_F(JobTokens, ThatAreKnownAreNotKeptOutByGuesses) {
    EXPECT_EQ(status("good"), 200);
    now_ += TokenReviews::kGoodFor + 1s;  // known, and to be asked about again
    Turnstile turnstile;
    std::atomic<bool> holds = true;
    slow_ = [&] {
        if (holds) turnstile.pass();
    };
    std::vector<std::jthread> guesses;
    for (std::size_t i = 0; i < TokenReviews::kMostAtOnce; ++i) {
        guesses.emplace_back([this, i] { EXPECT_EQ(status("wrong" + std::to_string(i)), 401); });
    }
    turnstile.wait_for(TokenReviews::kMostAtOnce);
    EXPECT_EQ(status("another"), 503) << "no more questions at a time";
    holds = false;
    EXPECT_EQ(status("good"), 200) << "known users go first";
    turnstile.open();
    guesses.clear();
    EXPECT_EQ(status("another"), 401) << "a refusal for want of room is not remembered";
}

TEST_F(JobTokens, ThatWereGoodStayKnownWhileNobodyCanBeAsked) {
    EXPECT_EQ(status("good"), 200);
    now_ += TokenReviews::kGoodFor + 1s;
    broken_ = true;
    EXPECT_EQ(status("good"), 503);
    broken_ = false;
    now_ += TokenReviews::kBadFor + 1s;
    Turnstile turnstile;
    std::atomic<bool> holds = true;
    slow_ = [&] {
        if (holds) turnstile.pass();
    };
    std::vector<std::jthread> guesses;
    for (std::size_t i = 0; i < TokenReviews::kMostAtOnce; ++i) {
        guesses.emplace_back([this, i] { EXPECT_EQ(status("wrong" + std::to_string(i)), 401); });
    }
    turnstile.wait_for(TokenReviews::kMostAtOnce);
    holds = false;
    EXPECT_EQ(status("good"), 200);
    turnstile.open();
}

TEST_F(JobTokens, ThatManyShowAtOnceAreAskedAboutOnce) {
    Turnstile turnstile;
    std::atomic<bool> holds = true;
    slow_ = [&] {
        if (holds.exchange(false)) turnstile.pass();
    };
    std::vector<std::jthread> askers;
    for (int i = 0; i < 3; ++i) {
        askers.emplace_back([this] { EXPECT_EQ(status("good"), 200); });
    }
    turnstile.wait_for(1);
    turnstile.open();
    askers.clear();
    EXPECT_EQ(asked_, 1);
}

TEST_F(JobTokens, KeepTheirPlacesWhenAQuestionFails) {
    fails_ = true;
    for (std::size_t i = 0; i < 2 * TokenReviews::kMostAtOnce; ++i) {
        EXPECT_EQ(status("wrong" + std::to_string(i)), 503);
    }
    fails_ = false;
    EXPECT_EQ(status("good"), 200) << "those that failed hold no place";
}

TEST_F(JobTokens, ThatAreGuessedTakeNoRoomAndPushOutNobody) {
    EXPECT_EQ(status("good"), 200);
    for (std::size_t i = 0; i < TokenReviews::kMostRemembered + 50; ++i) {
        EXPECT_EQ(status("wrong" + std::to_string(i)), 401);
    }
    const int asked = asked_;
    EXPECT_EQ(status("good"), 200);
    EXPECT_EQ(asked_, asked);
}

TEST_F(JobTokens, AreNotSentInTheClearOverANetwork) {
    const auto open = JobApi::serve({.listen = ":0"}, api_);
    ASSERT_FALSE(open);
    EXPECT_EQ(open.error().code, ErrorCode::kPermission);
    EXPECT_TRUE(JobApi::serve({.listen = "127.0.0.1:0"}, api_));
}

}  // namespace
}  // namespace aliquot::controller
