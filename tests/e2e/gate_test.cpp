// SPDX-License-Identifier: Apache-2.0
//
// `aliquot gate watch` as a node has it: a simulated driver, what kubelet wrote down, an API server.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "sim/kubelet/claim_checkpoint.h"

namespace aliquot {
namespace {

using Json = nlohmann::json;

class NodeGateProgram : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(run({"sim", "up", "--gpu", "t4:2", "--state", state_}), 0) << said();
        const std::string gpus = said();
        for (auto at = gpus.find("GPU-"); at != std::string::npos; at = gpus.find("GPU-", at + 1)) {
            uuids_.push_back(gpus.substr(at, gpus.find_first_of(") \n", at) - at));
        }
        hold({});
        auto server = sim::ApiServer::start({.directory = temporary_.path().string()});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        ASSERT_TRUE(server_->apply(
            "apiVersion: v1\nkind: Node\nmetadata: {name: gpu-1}\nspec: {taints: [{key: "
            "nvidia.com/gpu, value: 'true', effect: NoSchedule}]}\n"));
    }
    void TearDown() override { (void)run({"sim", "down", "--state", state_}); }

    int run(std::vector<std::string> words) {
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        auto environment = os::current_environment();
        environment.erase("ALIQUOT_SIM_STATE");
        auto process = os::Process::start(
            {.argv = std::move(words), .environment = environment, .output_path = output_});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(std::chrono::seconds(60));
        return exit ? exit->code : -1;
    }
    int watch() {
        return run({"gate", "watch", "--once", "--settle", "100", "--node-state", state_,
                    "--quarantine", "gpu-1", "--kubeconfig", server_->kubeconfig_file()});
    }
    [[nodiscard]] std::string said() const {
        std::ifstream file(output_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// What kubelet writes down when a pod has these devices.
    void hold(const std::vector<std::string>& ids) {
        Json entries = Json::array();
        if (!ids.empty()) {
            entries.push_back({{"PodUID", "pod-1"},
                               {"ContainerName", "train"},
                               {"ResourceName", "nvidia.com/gpu"},
                               {"DeviceIDs", {{"-1", ids}}},
                               {"AllocResp", ""}});
        }
        const auto folder = std::filesystem::path(state_) / "var/lib/kubelet/device-plugins";
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "kubelet_internal_checkpoint") << Json{
            {"Data", {{"PodDeviceEntries", entries}, {"RegisteredDevices", Json::object()}}},
            {"Checksum", 0}}.dump();
    }
    std::vector<std::string> taints() {
        const Json node = Json::parse(server_->request("GET", "/api/v1/nodes/gpu-1").body);
        std::vector<std::string> keys;
        for (const Json& taint : node["spec"].value("taints", Json::array())) {
            // The server's own, of a node that is not ready yet.
            const std::string key = taint["key"];
            if (!key.starts_with("node.kubernetes.io/")) keys.push_back(key);
        }
        return keys;
    }
    std::string events() { return server_->request("GET", "/apis/events.k8s.io/v1/events").body; }

    const os::TemporaryDirectory temporary_;
    const std::string state_ = (temporary_.path() / "node").native();
    const std::string output_ = (temporary_.path() / "output").native();
    std::vector<std::string> uuids_;
    std::unique_ptr<sim::ApiServer> server_;
};
using Keys = std::vector<std::string>;

// R94.
TEST_F(NodeGateProgram, TaintsTheNodeWhileAFreeGpuIsNotCleanAndNoLonger) {
    EXPECT_EQ(watch(), 0) << said();
    EXPECT_EQ(taints(), Keys{"nvidia.com/gpu"});
    ASSERT_EQ(run({"sim", "fault", "xid", "48", "--gpu", "1", "--state", state_}), 0) << said();
    EXPECT_EQ(watch(), 1) << said();
    EXPECT_NE(said().find("GPU 1: "), std::string::npos) << said();
    EXPECT_EQ(taints(), (Keys{"nvidia.com/gpu", "aliquot.dev/gpu-gate"}));
    EXPECT_NE(events().find("GpuNotClean"), std::string::npos) << events();
    ASSERT_EQ(run({"sim", "fault", "clear", "--gpu", "1", "--state", state_}), 0) << said();
    EXPECT_EQ(watch(), 0) << said();
    EXPECT_EQ(taints(), Keys{"nvidia.com/gpu"});
}

TEST_F(NodeGateProgram, LeavesAGpuAloneThatAPodHas) {
    ASSERT_EQ(uuids_.size(), 2U);
    ASSERT_EQ(run({"sim", "fault", "xid", "48", "--gpu", "1", "--state", state_}), 0) << said();
    hold({uuids_[1] + "::3"});
    EXPECT_EQ(watch(), 0) << said();
    EXPECT_EQ(taints(), Keys{"nvidia.com/gpu"});
}

TEST_F(NodeGateProgram, LeavesAGpuAloneThatAClaimHasAlsoWhileKubeletIsAway) {
    ASSERT_EQ(uuids_.size(), 2U);
    ASSERT_EQ(run({"sim", "fault", "xid", "48", "--gpu", "1", "--state", state_}), 0) << said();
    const sim::ClaimEntry claim{
        .reference = {"ai", "train-gpu", "u1", {"gpu.aliquot.dev"}},
        .pods = {"p1"},
        .devices = {{"gpu.aliquot.dev",
                     {{.claim_uid = "u1",
                       .driver = "gpu.aliquot.dev",
                       .requests = {"gpu"},
                       .pool = "gpu-1",
                       .device = "gpu-1",
                       .cdi_devices = {"k8s.gpu.aliquot.dev/claim=u1-0.all." + uuids_[1]}}}}}};
    const auto file = std::filesystem::path(state_) / "var/lib/kubelet/dra_manager_state";
    std::ofstream(file) << sim::to_json({claim});
    EXPECT_EQ(watch(), 0) << said();
    EXPECT_EQ(taints(), Keys{"nvidia.com/gpu"});
    std::ofstream(file) << "torn";
    EXPECT_EQ(watch(), 0) << said();
    EXPECT_NE(said().find("dra_manager_state"), std::string::npos) << said();
    std::filesystem::remove(file);
    EXPECT_EQ(watch(), 1) << "nobody has it: " << said();
}

TEST_F(NodeGateProgram, EndsProcessesOfNamedGpusOnly) {
    for (const char* const phase : {"before", "after"}) {
        const std::vector<std::string> words{
            "gate",         phase, "--end-orphans", "--record", temporary_.path() / "record.json",
            "--node-state", state_};
        EXPECT_EQ(run(words), 2) << said();
        EXPECT_NE(said().find("name the job's GPUs by --gpu"), std::string::npos) << said();
        for (const char* const gpu : {"1", "all"}) {
            auto named = words;
            named.insert(named.end(), {"--gpu", gpu});
            EXPECT_EQ(run(named), 0) << said();
            EXPECT_NE(said().find(*gpu == '1' ? "1 GPU clean" : "2 GPUs clean"), std::string::npos)
                << said();
        }
    }
}

TEST_F(NodeGateProgram, TellsAWrongGpuFromADriverThatIsNotThere) {
    EXPECT_EQ(run({"gate", "before", "--gpu", "7", "--node-state", state_}), 2) << said();
    const std::string nowhere = (temporary_.path() / "no-driver").native();
    for (const char* phase : {"before", "after"})
        EXPECT_EQ(run({"gate", phase, "--gpu", "0", "--driver-root", nowhere}), 3) << said();
}

TEST_F(NodeGateProgram, TakesEveryGpuForHeldWhenNobodyCanSay) {
    ASSERT_EQ(run({"sim", "fault", "xid", "48", "--gpu", "1", "--state", state_}), 0) << said();
    std::filesystem::remove_all(std::filesystem::path(state_) / "var/lib/kubelet");
    EXPECT_EQ(watch(), 0) << said();
    EXPECT_NE(said().find("is not seen from here"), std::string::npos) << said();
    EXPECT_EQ(taints(), Keys{"nvidia.com/gpu"});
}

}  // namespace
}  // namespace aliquot
