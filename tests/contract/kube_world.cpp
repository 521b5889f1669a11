// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/kube_world.h"

#include <cstdlib>

#include "kube_client/election.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"

namespace aliquot::contract {
namespace {

class RealWorld final : public KubeWorld {
public:
    [[nodiscard]] std::string kubeconfig() const override {
        const auto environment = os::current_environment();
        const auto found = environment.find("ALIQUOT_TEST_KUBECONFIG");
        return found == environment.end() ? "" : found->second;
    }
    [[nodiscard]] std::string why_not() const override {
        return "ALIQUOT_TEST_KUBECONFIG names no real API server";
    }
};

class SimulatedWorld final : public KubeWorld {
public:
    SimulatedWorld() {
        auto server = sim::ApiServer::start({.directory = directory_.path().string(),
                                             .bookmark_interval = std::chrono::milliseconds(200)});
        if (server) server_ = *std::move(server);
    }
    [[nodiscard]] std::string kubeconfig() const override {
        return server_ ? server_->kubeconfig_file() : "";
    }
    [[nodiscard]] std::string why_not() const override { return "it did not start"; }

private:
    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
};

}  // namespace

std::unique_ptr<KubeWorld> real_kube_world() { return std::make_unique<RealWorld>(); }

std::unique_ptr<KubeWorld> simulated_kube_world() { return std::make_unique<SimulatedWorld>(); }

void KubeContract::SetUp() {
    world_ = GetParam().make();
    if (world_->kubeconfig().empty()) GTEST_SKIP() << world_->why_not();
    auto connection = kube_client::connect({.kubeconfig = world_->kubeconfig()});
    ASSERT_TRUE(connection) << connection.error().message;
    connection_ = *std::move(connection);
    // A name that was never there: real servers take a while to remove a namespace.
    space_ = kube_client::unique_identity("aliquot-contract");
    for (char& c : space_) c = c == '_' ? '-' : c;
    make(kube_client::resources::namespaces(), R"({"metadata":{"name":")" + space_ + R"("}})");
    // Made by a controller, where there is one; pods need it.
    (void)api().create(kube_client::resources::service_accounts(), space_,
                       R"({"metadata":{"name":"default"}})");
}

void KubeContract::TearDown() {
    if (!connection_.api || space_.empty()) return;
    (void)api().remove(kube_client::resources::namespaces(), {"", space_});
}

kube_client::Object KubeContract::make(const kube_client::Resource& resource,
                                       const std::string& json) {
    std::string whole = json;
    whole.insert(1, R"("apiVersion":")" + resource.api_version() + R"(","kind":")" + resource.kind +
                        R"(",)");
    auto made = api().create(resource, resource.namespaced ? space_ : "", std::move(whole));
    EXPECT_TRUE(made) << made.failure().message;
    return made ? *std::move(made) : kube_client::Object{};
}

kube_client::Object KubeContract::make_pod(const std::string& name, const std::string& labels) {
    return make(kube_client::resources::pods(),
                R"({"metadata":{"name":")" + name + R"(","labels":)" + labels +
                    R"(},"spec":{"containers":[{"name":"c","image":"none.invalid/c:1"}]}})");
}

}  // namespace aliquot::contract
