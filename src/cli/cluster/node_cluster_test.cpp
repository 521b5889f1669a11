// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cluster/node_command.h"
#include "cli/cluster/node_config_wait.h"
#include "kube_client/stub_api.h"

namespace aliquot::cli {
namespace {

using kube_client::Outcome;
using kube_client::Reply;
using kube_client::Request;
using Json = nlohmann::json;

/// A node, and the applies that were sent for it.
struct Server {
    explicit Server(const std::string& managers = "[]") {
        put(R"({"a":"1","theirs":"x","mine":"y"})", managers);
        api.before = [this](const Request& request) -> std::optional<Outcome<Reply>> {
            if (request.method != "PATCH") return std::nullopt;
            applied.push_back(Json::parse(request.body));
            if (conflicts > 0) {
                --conflicts;
                return Reply{409, R"({"kind":"Status","reason":"Conflict","message":"changed"})"};
            }
            return Reply{200, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-1",)"
                              R"("resourceVersion":"9","labels":{"theirs":"x"}}})"};
        };
    }
    void put(const std::string& labels, const std::string& managers) {
        api.put("/api/v1/nodes", {"", "gpu-1"},
                R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":)" + labels +
                    R"(,"managedFields":)" + managers + "}}");
    }
    kube_client::StubApi api;
    std::vector<Json> applied;
    unsigned conflicts = 0;
};

constexpr const char* kMine =
    R"([{"manager":"aliquot","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:mine":{}}}}}])";

TEST(NodeLabels, KeepWhatIsOursAndSendNothingElse) {
    Server server(kMine);
    const auto done = change_labels(server.api, {}, "gpu-1", {.set = {{"team", "vision"}}});
    ASSERT_TRUE(done) << done.failure().message;
    EXPECT_TRUE(done->changed);
    ASSERT_EQ(server.applied.size(), 1U);
    EXPECT_EQ(server.applied[0]["metadata"]["labels"], Json({{"mine", "y"}, {"team", "vision"}}));
    EXPECT_FALSE(server.applied[0]["metadata"]["resourceVersion"].get<std::string>().empty());
}

TEST(NodeLabels, OfOthersAreNotRemoved) {
    Server server(kMine);
    const auto done = change_labels(server.api, {}, "gpu-1", {.remove = {"theirs", "absent"}});
    ASSERT_TRUE(done);
    EXPECT_FALSE(done->changed);
    EXPECT_EQ(done->foreign, std::vector<std::string>{"theirs"});
    EXPECT_TRUE(server.applied.empty());
}

TEST(NodeLabels, AreNotWrittenAgainWhenTheyAreThere) {
    Server server(kMine);
    const auto done = change_labels(server.api, {}, "gpu-1", {.set = {{"mine", "y"}}});
    ASSERT_TRUE(done);
    EXPECT_FALSE(done->changed);
    EXPECT_TRUE(server.applied.empty());
}

TEST(NodeLabels, AreReadAgainWhenTheNodeChangedMeanwhile) {
    Server server(kMine);
    server.conflicts = 2;
    EXPECT_TRUE(change_labels(server.api, {}, "gpu-1", {.set = {{"team", "vision"}}}));
    EXPECT_EQ(server.applied.size(), 3U);
    server.conflicts = 100;
    EXPECT_FALSE(change_labels(server.api, {}, "gpu-1", {.set = {{"team", "vision"}}}));
    EXPECT_EQ(server.applied.size(), 8U);
}

TEST(NodeChoice, NamesTheNearestNode) {
    Server server;
    std::ostringstream out;
    std::ostringstream err;
    Context context{.out = out, .err = err};
    EXPECT_FALSE(choose_nodes(context, server.api, {}, {.names = {"gpu-2"}}));
    EXPECT_EQ(context.exit_code, kUsage);
    EXPECT_NE(err.str().find("did you mean 'gpu-1'?"), std::string::npos) << err.str();
    EXPECT_FALSE(choose_nodes(context, server.api, {}, {}));
    EXPECT_FALSE(choose_nodes(context, server.api, {}, {.names = {"gpu-1"}, .all = true}));
    EXPECT_TRUE(choose_nodes(context, server.api, {}, {.names = {"gpu-1"}}));
}

TEST(ConfigWait, TakesOnlyAnAnswerToWhatWasAsked) {
    using Source = node::ConfigChoice::Source;
    using std::chrono::milliseconds;
    const node::ConfigStatus old{.source = Source::kLabel, .key = "a", .served = false};
    const ConfigWait wait{.node = "n", .key = "a", .before = old};
    EXPECT_EQ(answer_of(wait, std::nullopt, milliseconds(0)), ConfigAnswer::kNone);
    EXPECT_EQ(answer_of(wait, old, milliseconds(100)), ConfigAnswer::kNone);
    EXPECT_EQ(answer_of(wait, old, milliseconds(9'000)), ConfigAnswer::kRefused);
    EXPECT_EQ(
        answer_of(wait, node::ConfigStatus{.source = Source::kLabel, .key = "a"}, milliseconds(0)),
        ConfigAnswer::kServed);
    EXPECT_EQ(
        answer_of(wait, node::ConfigStatus{.source = Source::kLabel, .key = "b"}, milliseconds(0)),
        ConfigAnswer::kNone);
    const ConfigWait cleared{.node = "n", .before = old};
    EXPECT_EQ(answer_of(cleared, old, milliseconds(0)), ConfigAnswer::kNone);
    EXPECT_EQ(answer_of(cleared, node::ConfigStatus{.source = Source::kBuiltIn}, milliseconds(0)),
              ConfigAnswer::kServed);
}

}  // namespace
}  // namespace aliquot::cli
