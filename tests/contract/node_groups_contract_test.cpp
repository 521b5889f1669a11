// SPDX-License-Identifier: Apache-2.0
// The provider for Cluster Autoscaler as a process sees it: Google's gRPC asks it over TCP, real commands turn
// machines on and off, and it is ended and begun again in the middle.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "api/externalgrpc/externalgrpc.pb.h"
#include "node_groups/server.h"
#include "os/temporary_directory.h"

namespace aliquot::contract {
namespace {

namespace fs = std::filesystem;
namespace wire = clusterautoscaler::cloudprovider::v1::externalgrpc;

/// Machines are files: there while they are on. A line is written for each command.
class Lab {
public:
    explicit Lab(const std::string& start = "", const std::string& timeout = "2s") {
        const std::string file = directory().native() + "/{name}";
        const std::string on = start.empty() ? "touch '" + file + "'; echo on {name}" : start;
        text_ =
            "apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: lab}\nspec:\n"
            "  max: 3\n  engine: external\n  node: {resources: {nvidia.com/gpu.shared: 4}}\n---\n"
            "kind: Machines\nmetadata: {name: lab}\nspec:\n  timeout: " +
            timeout + "\n  start: [sh, -c, \"" + on + " >> '" + log().native() +
            "'\"]\n"
            "  stop: [sh, -c, \"rm '" +
            file + "'; echo off {name} >> '" + log().native() +
            "'\"]\n"
            "  machines: [{name: a}, {name: b}, {name: c}]\n";
        begin();
    }
    void begin() {
        auto groups = node_groups::read_groups("lab.yaml", text_);
        ASSERT_TRUE(groups) << groups.error().message;
        auto server = node_groups::Server::start(
            *std::move(groups),
            {.listen = "127.0.0.1:0", .state_file = (scratch_.path() / "state.json").native()});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateChannel(
            "127.0.0.1:" + std::to_string(server_->port()), grpc::InsecureChannelCredentials()));
    }
    void end() { server_.reset(); }
    [[nodiscard]] fs::path directory() const {
        fs::create_directories(scratch_.path() / "on");
        return scratch_.path() / "on";
    }
    [[nodiscard]] fs::path log() const { return scratch_.path() / "log"; }
    [[nodiscard]] std::size_t on() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory()), {}));
    }

    template <class Answer, class Request>
    grpc::Status call(const std::string& name, const Request& request, Answer& answer) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
        grpc::CompletionQueue queue;
        const grpc::Slice slice(request.SerializeAsString());
        const grpc::ByteBuffer bytes(&slice, 1);
        auto call = stub_->PrepareUnaryCall(
            &context, "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/" + name,
            bytes, &queue);
        call->StartCall();
        grpc::ByteBuffer reply;
        grpc::Status status;
        call->Finish(&reply, &status, this);
        void* tag = nullptr;
        bool ok = false;
        queue.Next(&tag, &ok);
        if (!status.ok()) return status;
        grpc::Slice whole;
        EXPECT_TRUE(reply.DumpToSingleSlice(&whole).ok());
        EXPECT_TRUE(answer.ParseFromArray(whole.begin(), static_cast<int>(whole.size())));
        return status;
    }
    int target() {
        wire::NodeGroupTargetSizeRequest request;
        request.set_id("lab");
        wire::NodeGroupTargetSizeResponse answer;
        EXPECT_TRUE(call("NodeGroupTargetSize", request, answer).ok());
        return answer.targetsize();
    }
    grpc::Status increase(int delta) {
        wire::NodeGroupIncreaseSizeRequest request;
        request.set_id("lab");
        request.set_delta(delta);
        wire::NodeGroupIncreaseSizeResponse answer;
        return call("NodeGroupIncreaseSize", request, answer);
    }
    wire::NodeGroupNodesResponse instances() {
        wire::NodeGroupNodesRequest request;
        request.set_id("lab");
        wire::NodeGroupNodesResponse answer;
        EXPECT_TRUE(call("NodeGroupNodes", request, answer).ok());
        return answer;
    }
    grpc::Status remove(const std::set<std::string>& ids) {
        wire::NodeGroupDeleteNodesRequest request;
        request.set_id("lab");
        for (const auto& id : ids) request.add_nodes()->set_providerid(id);
        wire::NodeGroupDeleteNodesResponse answer;
        return call("NodeGroupDeleteNodes", request, answer);
    }

private:
    os::TemporaryDirectory scratch_;
    std::string text_;
    std::unique_ptr<node_groups::Server> server_;
    std::unique_ptr<grpc::GenericStub> stub_;
};

template <class Holds>
bool within_half_a_minute(const Holds& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

std::set<std::string> lines(const fs::path& file) {
    std::set<std::string> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        EXPECT_TRUE(all.insert(line).second) << line << " twice";
    return all;
}

// R78.
TEST(ExternalGrpcContract, GoesFromZeroToThreeAndBackAndStartsNoMachineTwice) {
    Lab lab;
    EXPECT_EQ(lab.target(), 0);
    ASSERT_TRUE(lab.increase(3).ok());
    EXPECT_EQ(lab.target(), 3);
    EXPECT_FALSE(lab.increase(1).ok());
    ASSERT_TRUE(within_half_a_minute([&] { return lab.on() == 3; }));
    const auto running = [&] {
        const auto all = lab.instances().instances();
        return all.size() == 3 && std::ranges::all_of(all, [](const auto& one) {
                   return one.status().instancestate() == wire::InstanceStatus::instanceRunning;
               });
    };
    ASSERT_TRUE(within_half_a_minute(running));
    ASSERT_TRUE(lab.remove({"aliquot://lab/a", "aliquot://lab/b", "aliquot://lab/c"}).ok());
    EXPECT_EQ(lab.target(), 0);
    ASSERT_TRUE(within_half_a_minute(
        [&] { return lab.on() == 0 && lab.instances().instances_size() == 0; }));
    EXPECT_EQ(lines(lab.log()),
              (std::set<std::string>{"on a", "on b", "on c", "off a", "off b", "off c"}));
}

TEST(ExternalGrpcContract, GoesOnAfterItsEndAndStartsNoMachineTwice) {
    Lab lab;
    ASSERT_TRUE(lab.increase(2).ok());
    const auto two_run = [&] {
        const auto all = lab.instances().instances();
        return all.size() == 2 && std::ranges::all_of(all, [](const auto& one) {
                   return one.status().instancestate() == wire::InstanceStatus::instanceRunning;
               });
    };
    ASSERT_TRUE(within_half_a_minute(two_run));
    lab.end();
    lab.begin();
    EXPECT_EQ(lab.target(), 2);
    EXPECT_TRUE(two_run());
    ASSERT_TRUE(lab.increase(1).ok());
    ASSERT_TRUE(within_half_a_minute([&] { return lab.on() == 3; }));
    (void)lines(lab.log());
}

TEST(ExternalGrpcContract, AnswersWhileACommandHangsAndTellsThatItFailed) {
    Lab lab("sleep 600");
    ASSERT_TRUE(lab.increase(1).ok());
    EXPECT_EQ(lab.target(), 1);
    ASSERT_TRUE(within_half_a_minute([&] {
        const auto all = lab.instances().instances();
        return all.size() == 1 && all[0].status().errorinfo().errorcode() == "StartFailed";
    }));
    ASSERT_TRUE(lab.remove({lab.instances().instances(0).id()}).ok());
    EXPECT_EQ(lab.target(), 0);
}

TEST(ExternalGrpcContract, HasNoMethodForOptionsOfAGroup) {
    Lab lab;
    wire::RefreshRequest request;
    wire::RefreshResponse answer;
    EXPECT_TRUE(lab.call("Refresh", request, answer).ok());
    EXPECT_EQ(lab.call("NodeGroupGetOptions", request, answer).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_EQ(lab.call("PricingNodePrice", request, answer).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
}

TEST(ExternalGrpcContract, ListensForOthersWithACertificateOnly) {
    const auto server = node_groups::Server::start({}, {.listen = "0.0.0.0:0"});
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidInput);
}

TEST(ExternalGrpcContract, EndsAtOnceAlsoWhileACommandHangs) {
    Lab lab("exec sleep 300", "5m");
    EXPECT_TRUE(lab.increase(2).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto begun = std::chrono::steady_clock::now();
    lab.end();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

}  // namespace
}  // namespace aliquot::contract
