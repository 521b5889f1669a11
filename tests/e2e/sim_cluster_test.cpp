// SPDX-License-Identifier: Apache-2.0
//
// `aliquot sim cluster` as a user has it: the program, a client beside it, its end.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "kube_client/connect.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
namespace resources = kube_client::resources;

class SimCluster : public testing::Test {
protected:
    /// Begins `aliquot sim cluster ...`.
    os::Process start(std::vector<std::string> words) {
        words.insert(words.begin(), {ALIQUOT_BIN_DIR "/aliquot", "sim", "cluster", "--state",
                                     (temporary_.path() / "state").native()});
        output_ = (temporary_.path() / ("output" + std::to_string(++runs_))).native();
        auto process = os::Process::start({.argv = std::move(words),
                                           .environment = os::current_environment(),
                                           .output_path = output_});
        EXPECT_TRUE(process) << process.error().message;
        return *std::move(process);
    }
    [[nodiscard]] std::string said() const {
        std::ifstream file(output_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    template <class Holds>
    static bool soon(const Holds& holds) {
        const auto limit = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < limit) {
            if (holds()) return true;
            std::this_thread::sleep_for(20ms);
        }
        return false;
    }

    const os::TemporaryDirectory temporary_;
    std::string output_;
    unsigned runs_ = 0;
};

TEST_F(SimCluster, PodsRunOnItUntilItEnds) {
    auto cluster = start({"--nodes", "20", "--gpu", "h100-80:8", "--zones", "2"});
    ASSERT_TRUE(soon([&] { return said().contains("20 nodes with 160 GPUs is up"); })) << said();
    const std::string kubeconfig = (temporary_.path() / "state" / "kubeconfig").native();
    EXPECT_TRUE(said().contains("export KUBECONFIG=" + kubeconfig)) << said();
    auto connected = kube_client::connect({.kubeconfig = kubeconfig});
    ASSERT_TRUE(connected) << connected.error().message;
    kube_client::Api& api = *connected->api;
    for (unsigned i = 0; i < 40; ++i) {
        const Json container{{"name", "main"},
                             {"image", "none.invalid/c:1"},
                             {"resources", {{"limits", {{"nvidia.com/gpu", "4"}}}}}};
        const Json pod{{"metadata", {{"name", "p" + std::to_string(i)}}},
                       {"spec", {{"containers", Json::array({container})}}}};
        ASSERT_TRUE(api.create(resources::pods(), "default", pod.dump()));
    }
    const auto running = [&] {
        const auto list = api.list(resources::pods(), {.namespace_name = "default"});
        unsigned count = 0;
        for (const auto& pod : list ? list->items : std::vector<kube_client::Object>{})
            count += kube_client::string_at(pod.json, "/status/phase") == "Running" ? 1 : 0;
        return count;
    };
    EXPECT_TRUE(soon([&] { return running() == 40; })) << running();
    const auto node = api.get(resources::nodes(), {"", "node-1"});
    ASSERT_TRUE(node);
    EXPECT_EQ(kube_client::string_at(node->json, "/metadata/labels/topology.kubernetes.io~1zone"),
              "zone-1");
    cluster.signal(SIGTERM);
    const auto end = cluster.wait(60s);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 0) << said();
}

TEST_F(SimCluster, WrongInputsAreOneLineEach) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"--gpu", "a2", "--nodes", "0"}, "--nodes 0: expected 1 to 20000"},
        {{"--gpu", "a3"}, "there is no GPU model 'a3'; did you mean a30?"},
        {{}, "--gpu is required"},
        {{"--gpu", "a2", "--listen", "nowhere"}, "'nowhere' is not an address to listen on"},
        {{"--gpu", "a2", "--kubeconfig", "/nonexistent"}, "there is no such kubeconfig"},
    };
    for (const auto& [words, expected] : cases) {
        auto process = start(words);
        const auto end = process.wait(60s);
        ASSERT_TRUE(end) << expected;
        EXPECT_TRUE(end->code == 2 || end->code == 3) << end->code << said();
        EXPECT_TRUE(said().contains(expected)) << said();
        EXPECT_EQ(std::ranges::count(said(), '\n'), 1) << said();
    }
}

}  // namespace
}  // namespace aliquot
