// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cluster/node_command.h"
#include "cli/cluster/node_config_wait.h"
#include "cli/cluster/node_picture.h"
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

/// A node that hands out its two GPUs by claims; pods of a container with three of them.
struct ClaimServer {
    ClaimServer() {
        api.put("/api/v1/nodes", {"", "gpu-1"}, R"({"apiVersion":"v1","kind":"Node"})");
        api.put("/api/v1/nodes", {"", "gpu-2"}, R"({"apiVersion":"v1","kind":"Node"})");
        api.put("/apis/resource.k8s.io/v1/resourceslices", {"", "s"},
                R"({"spec":{"driver":"gpu.aliquot.dev","nodeName":"gpu-1","pool":{"name":"gpu-1",)"
                R"("generation":1,"resourceSliceCount":1},"devices":[)" +
                    device("gpu-a") + "," + device("gpu-b") + "]}}");
        claim("train", "gpu-a", "8Gi", "50");
        claim("serve", "gpu-a", "3Gi", "25");
    }
    static std::string device(const std::string& name) {
        return R"({"name":")" + name +
               R"(","allowMultipleAllocations":true,"attributes":{"type":{"string":"gpu"},)"
               R"("productName":{"string":"NVIDIA A2"},"uuid":{"string":"GPU-)" +
               name + "\"}}}";
    }
    void claim(const std::string& name, const std::string& device, const std::string& memory,
               const std::string& compute) {
        api.put("/apis/resource.k8s.io/v1/resourceclaims", {"ai", name},
                R"({"spec":{},"status":{"allocation":{"devices":{"results":[{"request":"gpu",)"
                R"("driver":"gpu.aliquot.dev","pool":"gpu-1","device":")" +
                    device + R"(","shareID":"s","consumedCapacity":{"memory":")" + memory +
                    R"(","compute":")" + compute +
                    R"("}}]}},"reservedFor":[{"resource":"pods","name":"pod-)" + name +
                    R"(","uid":"u"}]}})");
    }
    NodePicture look(const ClusterOptions& words = {}) {
        std::ostringstream none;
        Context context{.out = none, .err = none};
        NodePicture picture{.nodes = *read_nodes(context, api, words, "")};
        picture.holders = read_holders(api, words, "", picture.holders_problem);
        read_claims(api, words, picture.nodes, picture.holders, picture.claims_problem);
        return picture;
    }
    kube_client::StubApi api;
};

TEST(NodePicture, TellsWhatClaimsHoldOfANode) {
    ClaimServer server;
    const NodePicture picture = server.look();
    const node::GpuNode& node = picture.nodes.nodes.at(0);
    EXPECT_TRUE(node.has_gpus());
    EXPECT_FALSE(picture.nodes.nodes.at(1).has_gpus());
    const Row row = node_row(picture, node, false);
    EXPECT_EQ(row.at(2), "2x NVIDIA A2");
    EXPECT_EQ(row.at(3), "gpu.aliquot.dev 1/2 by 2 claims");
    const auto& holders = picture.holders.at("gpu-1");
    ASSERT_EQ(holders.size(), 2U);
    EXPECT_EQ(holders[0].pod, "ai/pod-serve");
    EXPECT_EQ(claimed_text(holders[0].claimed.at(0)), "3Gi, 25 % of gpu-a by claim serve");
    std::ostringstream out;
    Context context{.out = out, .err = out};
    print_node(context, "json", picture, node);
    const Json told = Json::parse(out.str());
    EXPECT_EQ(told["claimDevices"][0]["claims"][1]["claim"], "ai/train");
    EXPECT_EQ(told["claimDevices"][1]["claims"], Json::array());
    EXPECT_EQ(told["pods"][1]["claims"][0]["takes"], "8Gi, 50 %");
}

TEST(NodePicture, CountsNoGpuOfWhichAClaimHasAMigDevice) {
    node::GpuNode node;
    node.claim_devices = {
        {.driver = "gpu.aliquot.dev", .name = "gpu-0", .kind = "gpu", .fits = false},
        {.driver = "gpu.aliquot.dev",
         .name = "gpu-0-mig-3g-20gb-0",
         .kind = "mig",
         .held = {{.claim = "ai/a"}}},
        {.driver = "gpu.aliquot.dev", .name = "gpu-0-mig-3g-20gb-4", .kind = "mig"}};
    const ClaimCount count = count_claims(node).at("gpu.aliquot.dev");
    EXPECT_EQ(count.held, 1U);
    EXPECT_EQ(count.usable, 1U) << "neither the cut GPU nor what is still to be made";
}

TEST(NodePicture, SaysThatClaimsCannotBeRead) {
    ClaimServer server;
    server.api.before = [](const Request& request) -> std::optional<Outcome<Reply>> {
        if (request.path.find("resourceclaims") == std::string::npos) return std::nullopt;
        return Reply{
            403, R"({"kind":"Status","reason":"Forbidden","message":"resourceclaims.)"
                 R"(resource.k8s.io is forbidden: User \"ada\" cannot list resource )"
                 R"(\"resourceclaims\" in API group \"resource.k8s.io\" at the cluster scope"})"};
    };
    const NodePicture picture = server.look();
    std::ostringstream err;
    Context context{.out = err, .err = err};
    tell_problems(context, picture);
    EXPECT_EQ(err.str(),
              "aliquot: what claims hold is not known: a role must allow: list "
              "resourceclaims.resource.k8s.io\n");
    std::ostringstream out;
    Context printing{.out = out, .err = err};
    print_node(printing, "json", picture, picture.nodes.nodes[0]);
    EXPECT_TRUE(Json::parse(out.str())["claimDevices"].is_null());
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
