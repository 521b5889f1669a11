// SPDX-License-Identifier: Apache-2.0
#include "controller/extender.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/serving_files.h"
#include "controller/test_nodes.h"
#include "http/test_client.h"
#include "os/temporary_directory.h"

namespace aliquot::controller {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kScheduler[] = "system:kube-scheduler";

Json pod_of(const std::string& name, unsigned count) {
    Json pod{{"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "uid-" + name}}},
             {"spec", {{"containers", Json::array({{{"name", "main"}}})}}}};
    if (count > 0)
        pod["spec"]["containers"][0]["resources"]["limits"][kShare] = std::to_string(count);
    return pod;
}

class ExtenderTest : public testing::Test {
protected:
    void SetUp() override {
        books_->set_node(shared_node("small", 1, 2));
        books_->set_node(shared_node("large", 1, 4));
        books_->set_node(shared_node("used", 1, 4));
        Json holder = pod_of("holder", 3);
        holder["spec"]["nodeName"] = "used";
        books_->set_pod(*scheduling::read_gpu_pod(holder.dump()));
    }
    static http::Request request_of(const std::string& body, const std::string& name = kScheduler) {
        http::Request request;
        request.method = "POST";
        request.body = body;
        request.peer_name = name;
        return request;
    }
    Json filter(unsigned count, const Json& nodes) {
        const auto answer = extender_.filter(request_of(
            Json{{"Pod", pod_of("p", count)}, {"Nodes", nullptr}, {"NodeNames", nodes}}.dump()));
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.content_type, "application/json");
        return Json::parse(answer.body);
    }
    std::map<std::string, int> scores(unsigned count, const Json& nodes) {
        const auto answer = extender_.prioritize(
            request_of(Json{{"Pod", pod_of("p", count)}, {"NodeNames", nodes}}.dump()));
        EXPECT_EQ(answer.status, 200) << answer.body;
        std::map<std::string, int> made;
        for (const Json& one : Json::parse(answer.body)) made[one["Host"]] = one["Score"];
        return made;
    }

    SharedBooks books_{scheduling::Books::Options{}};
    std::atomic<bool> synced_{true};
    Extender extender_{{.books = books_, .is_synced = [this] { return synced_.load(); }},
                       {kScheduler}};
};

TEST_F(ExtenderTest, NodesWithoutRoomOnOneGpuAreLeftOutWithTheReason) {
    const Json nodes{"small", "large", "used", "elsewhere"};
    const Json answer = filter(2, nodes);
    EXPECT_EQ(answer["NodeNames"], (Json{"small", "large", "elsewhere"}));
    EXPECT_EQ(answer["FailedNodes"],
              (Json{{"used", "has 1 of 4 nvidia.com/gpu.shared free, 2 are asked"}}));
    EXPECT_EQ(answer["Error"], "");
    EXPECT_TRUE(answer["Nodes"].is_null());
    const Json more = filter(3, nodes);
    EXPECT_EQ(more["NodeNames"], (Json{"large", "elsewhere"}));
    EXPECT_TRUE(more["FailedAndUnresolvableNodes"].contains("small")) << "no pre-emption helps";
    EXPECT_TRUE(more["FailedNodes"].contains("used"));
    EXPECT_EQ(filter(0, nodes)["NodeNames"], nodes) << "it asks for no GPU";
}

TEST_F(ExtenderTest, TheBestNodeHasTen) {
    const auto found = scores(1, {"small", "large", "used", "elsewhere"});
    const auto asked = scheduling::read_gpu_pod(pod_of("p", 1).dump());
    EXPECT_EQ(found.at(books_->what_if(*asked).targets.at(0).node), 10);
    EXPECT_EQ(std::ranges::count_if(found, [](const auto& one) { return one.second == 10; }), 1);
    EXPECT_EQ(found.at("elsewhere"), 0);
    EXPECT_EQ(scores(4, {"small", "large"}),
              (std::map<std::string, int>{{"small", 0}, {"large", 10}}));
    EXPECT_EQ(scores(0, {"small"}), (std::map<std::string, int>{{"small", 0}}));
}

TEST_F(ExtenderTest, WhatIsNotKnownYetKeepsNoNodeBack) {
    const Json nodes{"used"};
    synced_ = false;
    EXPECT_EQ(filter(4, nodes)["NodeNames"], nodes);
    synced_ = true;
    Json answer;
    {
        const auto use = books_.within(1s);
        std::jthread asks([&] { answer = filter(4, nodes); });
    }
    EXPECT_EQ(answer["NodeNames"], nodes) << "the books were in use";
    EXPECT_THAT(extender_.metrics(), HasSubstr("{how=\"busy\"} 2\n"));
}

TEST_F(ExtenderTest, WhatIsNoQuestionIsToldInTheAnswer) {
    Json many = Json::array();
    for (std::size_t i = 0; i <= Extender::kMostNodes; ++i) many.push_back("n");
    const Json pod = pod_of("p", 1);
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "no JSON object"},
        {"[]", "no JSON object"},
        {std::string(100'000, '['), "nested deeper than 64"},
        {Json{{"Pod", pod}}.dump(), "nodeCacheCapable: true"},
        {Json{{"Pod", pod}, {"Nodes", {{"items", Json::array()}}}}.dump(),
         "nodeCacheCapable: true"},
        {Json{{"Pod", pod}, {"NodeNames", {1}}}.dump(), "expected names"},
        {Json{{"Pod", pod}, {"NodeNames", many}}.dump(), "expected at most 20000"},
        {Json{{"NodeNames", {"a"}}}.dump(), "Pod: "},
        {Json{{"Pod", {{"metadata", 5}}}, {"NodeNames", {"a"}}}.dump(), "Pod: "}};
    for (const auto& [body, expected] : cases) {
        const auto answer = extender_.filter(request_of(body));
        EXPECT_EQ(answer.status, 200);
        EXPECT_THAT(Json::parse(answer.body)["Error"].get<std::string>(), HasSubstr(expected));
        EXPECT_EQ(extender_.prioritize(request_of(body)).status, 400) << expected;
    }
}

TEST_F(ExtenderTest, OnlyThoseWithTheNameMayAsk) {
    for (const std::string name : {"", "system:kube-controller-manager"}) {
        EXPECT_EQ(extender_.filter(request_of("{}", name)).status, 403);
        EXPECT_EQ(extender_.prioritize(request_of("{}", name)).status, 403);
    }
    EXPECT_THAT(extender_.metrics(), HasSubstr("{how=\"forbidden\"} 4\n"));
}

TEST_F(ExtenderTest, ItsServerAsksForACertificateOfTheAuthority) {
    const os::TemporaryDirectory folder;
    const auto authority = http::TestCertificate::authority("cluster");
    const auto scheduler = authority.issue(kScheduler, "DNS:scheduler");
    const auto other = authority.issue("system:node:a", "DNS:a");
    const auto stranger = http::TestCertificate::authority("else").issue(kScheduler, "DNS:s");
    const std::string ca = folder.path() / "ca.crt";
    http::write_file(ca, authority.certificate);
    ServingFiles files;
    ASSERT_TRUE(files.prepare());
    auto server =
        ExtenderServer::serve({.listen = "127.0.0.1:0", .client_ca = ca}, files.tls(), extender_);
    ASSERT_TRUE(server) << server.error().message;
    const auto ask = [&](const http::TestCertificate* own, const std::string& verb) {
        http::TestClient client((*server)->port(), {.authority = nullptr, .own = own});
        const std::string body = Json{{"Pod", pod_of("p", 1)}, {"NodeNames", {"small"}}}.dump();
        client.send("POST /extender/" + verb +
                    " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
        const auto answer = client.receive();
        return answer ? answer->status : 0;
    };
    EXPECT_EQ(ask(&scheduler, "filter"), 200);
    EXPECT_EQ(ask(&scheduler, "prioritize"), 200);
    EXPECT_EQ(ask(&scheduler, "bind"), 404);
    EXPECT_EQ(ask(&other, "filter"), 403);
    EXPECT_EQ(ask(&stranger, "filter"), 0);
    EXPECT_EQ(ask(nullptr, "filter"), 0);
}

}  // namespace
}  // namespace aliquot::controller
