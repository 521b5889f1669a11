// SPDX-License-Identifier: Apache-2.0
//
// The extender as Kubernetes' own kube-scheduler asks it: KubeSchedulerConfiguration with an entry for it, a client's
// certificate, its answers in kube-scheduler's words. Needs Kubernetes' own programs (real_peers.h).
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "base/base64.h"
#include "http/test_certificate.h"
#include "tests/e2e/fleet_world.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace resources = kube_client::resources;

class ExtenderFleet : public FleetWorld {
protected:
    ExtenderFleet() {
        real_ = true;
        sharing_ = "mps";
        const auto authority = http::TestCertificate::authority("clients");
        std::ofstream(file("clients.crt")) << authority.certificate;
        for (const char* const name : {"system:kube-scheduler", "somebody"}) {
            const auto client = authority.issue(name, "");
            std::ofstream(file(std::string(name) + ".crt")) << client.certificate;
            std::ofstream(file(std::string(name) + ".key")) << client.key;
        }
        more_words_ = {"--placement-extender", "127.0.0.1:0", "--placement-extender-client-ca",
                       file("clients.crt"),    "--log-level", "debug"};
    }
    [[nodiscard]] std::string file(const std::string& name) const {
        return (directory_.path() / name).native();
    }
    void SetUp() override {
        FleetWorld::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        const auto leads = [](const auto& one) { return one->said().contains("kube.leading"); };
        ASSERT_TRUE(soon([&] { return std::ranges::any_of(controllers_, leads); }));
        leader_ = controllers_[leads(controllers_[0]) ? 0 : 1].get();
        const kube_client::ObjectKey key{"aliquot-system", "aliquot-webhook"};
        ASSERT_TRUE(soon([&] { return api().get(resources::secrets(), key).ok(); }));
        const auto secret = api().get(resources::secrets(), key);
        std::ofstream(file("authority.crt"))
            << decode_base64(kube_client::string_at(secret->json, "/data/ca.crt").value_or(""))
                   .value_or("");
        std::this_thread::sleep_for(2s);  // within 1.2 s the controller shows its certificate
        ask_by("system:kube-scheduler");
    }
    /// kube-scheduler anew, which asks with that certificate.
    void ask_by(const std::string& client, const std::string& more = "  nodeCacheCapable: true\n") {
        kube_scheduler_.reset();
        const unsigned port = leader_->number_behind("extender_port=");
        scheduler_lines_ =
            "podMaxBackoffSeconds: 2\nextenders:\n- urlPrefix: https://127.0.0.1:" +
            std::to_string(port) +
            "/extender\n  filterVerb: filter\n  prioritizeVerb: prioritize\n"
            "  weight: 5\n  ignorable: true\n  httpTimeout: 1s\n  enableHTTPS: true\n" +
            more + "  tlsConfig: {caFile: " + file("authority.crt") + ", certFile: '" +
            file(client + ".crt") + "', keyFile: '" + file(client + ".key") +
            "'}\n  managedResources:\n  - {name: " + kShare + "}\n  - {name: " + kGpu + "}\n";
        start_scheduler();
    }
    bool runs(const std::string& owner) {
        tend_owners();
        const auto all = pods();
        const auto pod = all.find(owners_.at(owner).pod);
        return pod != all.end() && pod->second.phase == "Running";
    }
    std::string words_of(const std::string& owner) {
        const auto pod = api().get(resources::pods(), {kSpace, owners_.at(owner).pod});
        return pod ? kube_client::json_at(pod->json, "/status/conditions").value_or("") : "";
    }
    /// One share of each GPU of n0 is left: kube-scheduler counts two.
    void leave_one_of_each_gpu() {
        for (const char* const node : {"n1", "n2"}) cordon(node, true);
        for (const char* const owner : {"first", "second"}) {
            add_owner(owner, {.resource = kShare, .count = 3, .gated = false});
            ASSERT_TRUE(soon([&] { return runs(owner); })) << said();
        }
    }
    std::string said() { return kube_scheduler_->said() + "\n---\n" + leader_->said(); }

    contract::ControllerProcess* leader_ = nullptr;
};

TEST_F(ExtenderFleet, ANodeWithoutRoomOnOneGpuIsLeftOut) {
    leave_one_of_each_gpu();
    add_owner("third", {.resource = kShare, .count = 2, .gated = false});
    tend_owners();
    ASSERT_TRUE(soon([&] { return words_of("third").contains("at most 1 of one GPU"); }))
        << words_of("third") << said();
    EXPECT_EQ(node_of("third"), "");
    cordon("n1", false);
    ASSERT_TRUE(soon([&] { return runs("third"); })) << words_of("third") << said();
    EXPECT_EQ(node_of("third"), "n1");
}

TEST_F(ExtenderFleet, PodsGoWhereTheyFillUpBest) {
    // Without us kube-scheduler spreads them over the three nodes.
    for (unsigned i = 0; i < 4; ++i) {
        const std::string owner = "o" + std::to_string(i);
        add_owner(owner, {.resource = kShare, .count = 2, .gated = false});
        ASSERT_TRUE(soon([&] { return runs(owner); })) << said();
    }
    for (unsigned i = 1; i < 4; ++i)
        EXPECT_EQ(node_of("o" + std::to_string(i)), node_of("o0")) << i << nodes_text() << said();
}

TEST_F(ExtenderFleet, KubeSchedulerGoesOnWithoutUs) {
    leader_->process().signal(SIGKILL);
    ASSERT_TRUE(leader_->process().wait(30s));
    add_owner("away", {.resource = kShare, .count = 1, .gated = false});
    EXPECT_TRUE(soon([&] { return runs("away"); })) << words_of("away") << kube_scheduler_->said();
}

TEST_F(ExtenderFleet, WhoMayNotAskIsRefusedAndGoesOnWithoutUs) {
    leave_one_of_each_gpu();
    ask_by("somebody");
    add_owner("third", {.resource = kShare, .count = 2, .gated = false});
    tend_owners();
    // Nobody told kube-scheduler that no GPU has room; it goes on by counting.
    EXPECT_TRUE(soon([&] {
        return kube_scheduler_->said().contains(
            R"(Successfully bound pod to node" pod="team/third)");
    })) << said();
    EXPECT_THAT(kube_scheduler_->said(), HasSubstr("code 403"));
}

TEST_F(ExtenderFleet, WholeNodesAreRefusedWithWhatToSet) {
    ask_by("system:kube-scheduler", "");
    add_owner("plain", {.resource = kShare, .count = 2, .gated = false});
    ASSERT_TRUE(soon([&] { return runs("plain"); })) << said();
    EXPECT_THAT(kube_scheduler_->said(), HasSubstr("set nodeCacheCapable: true of the extender"));
}

}  // namespace
}  // namespace aliquot
