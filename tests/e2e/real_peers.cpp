// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/real_peers.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace aliquot::real_peers {
namespace {

using namespace std::chrono_literals;
namespace resources = kube_client::resources;

std::string from_environment(const char* variable) {
    const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? "" : text;
}

os::Process begin(const std::filesystem::path& directory, const std::string& kubeconfig,
                  const std::string& more) {
    const std::string file = directory / "config.yaml";
    std::ofstream(file) << "apiVersion: kubescheduler.config.k8s.io/v1\n"
                           "kind: KubeSchedulerConfiguration\n"
                           "leaderElection: {leaderElect: false}\n"
                           "clientConnection: {kubeconfig: "
                        << kubeconfig << "}\n"
                        << more;
    auto started = os::Process::start(
        {.argv = {kube_scheduler(), "--config", file, "--secure-port", "0", "-v", "2"},
         .environment = os::current_environment(),
         .output_path = directory / "output"});
    if (!started) throw std::runtime_error(started.error().message);
    return *std::move(started);
}

const kube_client::Resource& webhooks() {
    static const kube_client::Resource kResource{.group = "admissionregistration.k8s.io",
                                                 .version = "v1",
                                                 .plural = "mutatingwebhookconfigurations",
                                                 .kind = "MutatingWebhookConfiguration",
                                                 .namespaced = false};
    return kResource;
}

void remove_all(kube_client::Api& api, const kube_client::Resource& resource,
                const std::string& space) {
    const auto list = api.list(resource, {.namespace_name = space});
    if (!list) return;
    for (const auto& object : list->items)
        (void)api.remove(resource, object.key(), {.grace_seconds = 0});
}

}  // namespace

std::string kubeconfig() { return from_environment("ALIQUOT_TEST_KUBECONFIG"); }

std::string kube_scheduler() { return from_environment("ALIQUOT_TEST_KUBE_SCHEDULER"); }

std::string why_not() {
    if (kubeconfig().empty()) return "ALIQUOT_TEST_KUBECONFIG names no real API server";
    if (kube_scheduler().empty()) return "ALIQUOT_TEST_KUBE_SCHEDULER names no kube-scheduler";
    return {};
}

KubeScheduler::KubeScheduler(const std::string& kubeconfig, const std::string& more)
    : process_(begin(directory_.path(), kubeconfig, more)) {}

std::string KubeScheduler::said() const {
    std::ifstream file(directory_.path() / "output");
    return {std::istreambuf_iterator<char>(file), {}};
}

void clear_pods(kube_client::Api& api, const std::string& space) {
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < limit) {
        remove_all(api, resources::pods(), space);
        const auto list = api.list(resources::pods(), {.namespace_name = space});
        if (list && list->items.empty()) return;
        std::this_thread::sleep_for(50ms);
    }
}

void clear(kube_client::Api& api, const std::vector<std::string>& spaces) {
    remove_all(api, webhooks(), "");
    const kube_client::Resource budgets{.group = "policy",
                                        .version = "v1",
                                        .plural = "poddisruptionbudgets",
                                        .kind = "PodDisruptionBudget"};
    for (const std::string& space : spaces) {
        remove_all(api, budgets, space);
        remove_all(api, resources::leases(), space);
        clear_pods(api, space);
    }
    remove_all(api, resources::nodes(), "");
}

}  // namespace aliquot::real_peers
