// SPDX-License-Identifier: Apache-2.0
//
// `aliquot plan --write` and `--undo --cluster` as processes, against a simulated API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"

namespace aliquot {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";

class PlanProgram : public testing::Test {
protected:
    void SetUp() override {
        auto server = sim::ApiServer::start({.directory = (directory_.path() / "server").native()});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        std::ofstream(directory_.path() / "services.yaml")
            << "[{name: kokoro, memory: 2Gi}, {name: whisper, memory: 5Gi}]\n";
        ASSERT_EQ(run({"--gpu", "a2", "--workloads", directory_.path() / "services.yaml", "--write",
                       plan_}),
                  0)
            << said_;
        add("kokoro", {{"nvidia.com/gpu", "1"}, {"memory", "1Gi"}});
        add("whisper", {{"nvidia.com/gpu", "1"}});
    }

    void add(const std::string& name, const Json& limits) {
        const Json container{{"name", name},
                             {"image", "registry.local/" + name + ":1"},
                             {"env", {{{"name", "WHISPER__INFERENCE_DEVICE"}, {"value", "cuda"}}}},
                             {"resources", {{"limits", limits}}}};
        const Json labels{{"app", name}};
        const Json body{
            {"apiVersion", "apps/v1"},
            {"kind", "Deployment"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"selector", {{"matchLabels", labels}}},
              {"template",
               {{"metadata", {{"labels", labels}}}, {"spec", {{"containers", {container}}}}}}}}};
        const auto made = server_->request("POST", kDeployments, body.dump());
        ASSERT_EQ(made.status, 201) << made.body;
    }

    Json container(const std::string& name) {
        const auto got = server_->request("GET", kDeployments + "/" + name);
        EXPECT_EQ(got.status, 200);
        return Json::parse(got.body)["spec"]["template"]["spec"]["containers"][0];
    }
    Json limits(const std::string& name) {
        const Json one = container(name);
        return one["resources"].value("limits", Json::object());
    }

    int run(std::vector<std::string> words) {
        words.insert(words.begin(), {std::string(ALIQUOT_BIN_DIR "/aliquot"), "plan"});
        auto environment = os::current_environment();
        environment.erase("KUBERNETES_SERVICE_HOST");
        environment["KUBECONFIG"] = server_->kubeconfig_file();
        const auto output = directory_.path() / "output";
        std::filesystem::remove(output);
        auto process = os::Process::start({.argv = std::move(words),
                                           .environment = std::move(environment),
                                           .output_path = output.native()});
        if (!process) {
            ADD_FAILURE() << process.error().message;
            return -1;
        }
        const auto end = process->wait(std::chrono::seconds(90));
        std::ostringstream text;
        text << std::ifstream(output).rdbuf();
        said_ = text.str();
        return end ? end->code : -1;
    }

    const os::TemporaryDirectory directory_;
    const std::string plan_ = directory_.path() / "plan";
    std::unique_ptr<sim::ApiServer> server_;
    std::string said_;
};

TEST_F(PlanProgram, UndoBringsServicesBackToTheCpuAndAgainHasNothingToDo) {
    EXPECT_EQ(run({"--undo", plan_, "--cluster", "--dry-run"}), 0) << said_;
    EXPECT_THAT(said_, HasSubstr("Deployment default/kokoro would go back to the CPU"));
    EXPECT_EQ(limits("kokoro").value("nvidia.com/gpu", ""), "1");
    EXPECT_TRUE(std::filesystem::exists(plan_ + "/sharing.yaml"));

    EXPECT_EQ(run({"--undo", plan_, "--cluster"}), 0) << said_;
    EXPECT_THAT(said_, HasSubstr("Deployment default/kokoro back to the CPU"));
    EXPECT_EQ(limits("kokoro"), Json({{"memory", "1Gi"}}));
    EXPECT_EQ(limits("whisper"), Json::object());
    EXPECT_TRUE(container("kokoro").contains("env"));  // the plan told it to whisper only
    EXPECT_EQ(container("whisper").value("env", Json::array()), Json::array());
    EXPECT_FALSE(std::filesystem::exists(plan_ + "/sharing.yaml"));

    EXPECT_EQ(run({"--undo", plan_, "--cluster"}), 0);
    EXPECT_THAT(said_, HasSubstr("nothing to take back"));
}

TEST_F(PlanProgram, UndoRefusesAllWhenOneServiceWasChangedByHand) {
    const Json patch{{"op", "replace"},
                     {"path", "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu"},
                     {"value", "2"}};
    const auto changed =
        server_->request("PATCH", kDeployments + "/whisper", Json::array({patch}).dump(),
                         "application/json-patch+json");
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(run({"--undo", plan_, "--cluster"}), 1);
    EXPECT_THAT(said_, HasSubstr("Deployment default/whisper asks for 2 x nvidia.com/gpu"));
    EXPECT_THAT(said_, HasSubstr("nothing was taken back"));
    EXPECT_EQ(limits("kokoro").value("nvidia.com/gpu", ""), "1");
    EXPECT_TRUE(std::filesystem::exists(plan_ + "/sharing.yaml"));
}

TEST_F(PlanProgram, UndoWithoutAClusterSaysWhatIsLeft) {
    EXPECT_EQ(run({"--undo", plan_}), 0);
    EXPECT_THAT(said_, HasSubstr("kokoro, whisper"));
    EXPECT_EQ(limits("kokoro").value("nvidia.com/gpu", ""), "1");
    EXPECT_EQ(run({"--undo", plan_, "--cluster", "--kubeconfig", directory_.path() / "absent"}), 2);
    EXPECT_EQ(limits("kokoro").value("nvidia.com/gpu", ""), "1");
}

}  // namespace
}  // namespace aliquot
