// SPDX-License-Identifier: Apache-2.0
#include "controller/job_api.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

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
            if (broken_) return kube_client::Reply{.status = 500, .body = "{}"};
            Json review = Json::parse(request.body);
            if (review["kind"] == "TokenReview") {
                ++asked_;
                review["status"] = {{"authenticated", review["spec"]["token"] == "good"},
                                    {"user", {{"username", "alice"}, {"groups", {"ops"}}}}};
            } else {
                const Json& what = review["spec"]["resourceAttributes"];
                rights_.push_back(review["spec"]);
                const std::string verb = what["verb"];
                review["status"] = {{"allowed", what["namespace"] == "lab" && may_.contains(verb)}};
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
    std::vector<Json> rights_;
    bool broken_ = false;
    int asked_ = 0;
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
    now_ += JobApi::kGoodFor + 1s;
    EXPECT_EQ(ask("GET", "/v1/jobs?namespace=lab").status, 503);
}

TEST_F(JobTokens, AreNotSentInTheClearOverANetwork) {
    const auto open = JobApi::serve({.listen = ":0"}, api_);
    ASSERT_FALSE(open);
    EXPECT_EQ(open.error().code, ErrorCode::kPermission);
    EXPECT_TRUE(JobApi::serve({.listen = "127.0.0.1:0"}, api_));
}

}  // namespace
}  // namespace aliquot::controller
