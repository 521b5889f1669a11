// SPDX-License-Identifier: Apache-2.0
//
// `aliquot install` and `aliquot uninstall` as processes, against a simulated API server.
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

using testing::HasSubstr;

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

class InstallProgram : public testing::Test {
protected:
    void SetUp() override {
        auto server = sim::ApiServer::start({.directory = (directory_.path() / "server").native()});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
    }

    /// Runs aliquot; its output is in out_ and err_.
    int run(std::vector<std::string> words) {
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        auto environment = os::current_environment();
        environment.erase("KUBERNETES_SERVICE_HOST");
        environment["KUBECONFIG"] = server_->kubeconfig_file();
        const auto out = directory_.path() / "out";
        const auto err = directory_.path() / "err";
        {
            const auto close = [](std::FILE* file) { (void)std::fclose(file); };
            const std::unique_ptr<std::FILE, decltype(close)> out_file(
                std::fopen(out.c_str(), "we"), close);
            const std::unique_ptr<std::FILE, decltype(close)> err_file(
                std::fopen(err.c_str(), "we"), close);
            auto process = os::Process::start({.argv = std::move(words),
                                               .environment = std::move(environment),
                                               .output_descriptor = ::fileno(out_file.get()),
                                               .error_descriptor = ::fileno(err_file.get())});
            if (!process) {
                ADD_FAILURE() << process.error().message;
                return -1;
            }
            const auto end = process->wait(std::chrono::seconds(90));
            code_ = end ? end->code : -1;
        }
        out_ = text_of(out);
        err_ = text_of(err);
        return code_;
    }

    bool is_there(const std::string& path) { return server_->request("GET", path).status == 200; }

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
    std::string out_;
    std::string err_;
    int code_ = 0;
};

const std::string kAgent = "/apis/apps/v1/namespaces/aliquot-system/daemonsets/aliquot-agent";

TEST_F(InstallProgram, PrintsWhatKustomizeHas) {
    EXPECT_EQ(run({"install", "-o", "yaml"}), 0) << err_;
    EXPECT_EQ(out_, text_of(ALIQUOT_SOURCE_DIR "/deploy/kustomize/base/aliquot.yaml"));
    EXPECT_EQ(err_, "");
    EXPECT_FALSE(is_there(kAgent));
    EXPECT_EQ(run({"install", "--dry-run", "-o", "json"}), 0) << err_;
    EXPECT_EQ(nlohmann::json::parse(out_)["kind"], "List");
}

TEST_F(InstallProgram, InstallsTwiceAndUninstallsTwice) {
    ASSERT_EQ(run({"install", "--no-wait", "-o", "json"}), 0) << err_;
    const auto count = nlohmann::json::parse(out_)["objects"].size();
    EXPECT_TRUE(is_there(kAgent));
    ASSERT_EQ(run({"install", "--no-wait", "-o", "json"}), 0) << err_;
    const auto second = nlohmann::json::parse(out_);
    EXPECT_EQ(second["objects"].size(), count);
    for (const auto& one : second["objects"]) {
        EXPECT_EQ(one["result"], one["kind"] == "ConfigMap" ? "kept" : "unchanged") << one;
    }
    ASSERT_EQ(run({"uninstall", "-o", "json", "--timeout", "20"}), 0) << err_;
    EXPECT_GE(nlohmann::json::parse(out_)["removed"].size(), count);
    EXPECT_FALSE(is_there(kAgent));
    EXPECT_FALSE(is_there("/api/v1/namespaces/aliquot-system"));
    ASSERT_EQ(run({"uninstall", "-o", "json"}), 0) << err_;
    EXPECT_TRUE(nlohmann::json::parse(out_)["removed"].empty());
}

TEST_F(InstallProgram, BringsTheServerOfMetricsAndTakesItAway) {
    ASSERT_EQ(run({"install", "--no-wait", "--metrics-api"}), 0) << err_;
    const std::string service =
        "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io";
    EXPECT_TRUE(is_there(service)) << out_;
    ASSERT_EQ(run({"uninstall", "--timeout", "20"}), 0) << err_;
    EXPECT_FALSE(is_there(service));
    EXPECT_FALSE(
        is_there("/apis/rbac.authorization.k8s.io/v1/clusterroles/aliquot-metrics-reader"));
}

TEST_F(InstallProgram, AnotherDevicePluginStopsItUnlessBoth) {
    const auto made = server_->request(
        "POST", "/apis/apps/v1/namespaces/kube-system/daemonsets",
        R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"nvidia-device-plugin-daemonset"},
            "spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
            "spec":{"containers":[{"name":"c","image":"nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}]}}}})");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string status =
        "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-device-plugin-daemonset/status";
    ASSERT_EQ(server_
                  ->request("PATCH", status,
                            R"({"status":{"desiredNumberScheduled":2,"currentNumberScheduled":2,
                                   "numberMisscheduled":0,"numberReady":2}})",
                            "application/merge-patch+json")
                  .status,
              200);
    EXPECT_EQ(run({"install", "--no-wait"}), 1);
    EXPECT_THAT(err_,
                HasSubstr("kube-system/nvidia-device-plugin-daemonset is NVIDIA's device plugin"));
    EXPECT_THAT(err_, HasSubstr("migrate-from-nvidia-device-plugin.md"));
    EXPECT_FALSE(is_there(kAgent));
    EXPECT_EQ(run({"install", "--no-wait", "--beside"}), 0) << err_;
    EXPECT_TRUE(is_there(kAgent));
}

TEST_F(InstallProgram, AConflictIsToldWithItsOwner) {
    ASSERT_EQ(run({"install", "--no-wait"}), 0) << err_;
    ASSERT_EQ(server_
                  ->request("PATCH", kAgent + "?fieldManager=kubectl-edit",
                            R"([{"op":"replace","path":"/spec/template/spec/containers/0/image",
                                   "value":"registry.example/mine:1"}])",
                            "application/json-patch+json")
                  .status,
              200);
    EXPECT_EQ(run({"install", "--no-wait"}), 1);
    EXPECT_THAT(err_, HasSubstr("image belongs to kubectl-edit"));
    EXPECT_THAT(err_, HasSubstr("--force-conflicts"));
    EXPECT_EQ(run({"install", "--no-wait", "--force-conflicts", "--diff"}), 0) << err_;
    EXPECT_THAT(out_, HasSubstr("image: registry.example/mine:1"));
}

TEST_F(InstallProgram, AConfigurationThatTheAgentWouldNotTakeIsRefusedBeforeAnythingIsDone) {
    const auto file = directory_.path() / "sharing.yaml";
    std::ofstream(file) << "version: v1\nsharing:\n  timeSlicing:\n    replicas: 2\n";
    EXPECT_EQ(run({"install", "--no-wait", "--config", file.native()}), 2);
    EXPECT_THAT(err_, HasSubstr("configuration default:4:5: "));
    EXPECT_FALSE(is_there("/api/v1/namespaces/aliquot-system"));
    EXPECT_EQ(run({"install", "--config", "a2=/nowhere.yaml"}), 2);
    EXPECT_EQ(run({"install", "--profile", "gke"}), 2);
    EXPECT_EQ(run({"install", "--image", "a b"}), 2);
}

TEST_F(InstallProgram, AnAgentThatDoesNotComeIsSaid) {
    EXPECT_EQ(run({"install", "--timeout", "1"}), 1);
    EXPECT_THAT(err_, HasSubstr("no controller has looked at the DaemonSet"));
}

}  // namespace
}  // namespace aliquot
