// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "scheduling/plan.h"
#include "tests/contract/controller_process.h"
#include "tests/contract/kube_world.h"

namespace aliquot::contract {

using namespace std::chrono_literals;
using Json = nlohmann::json;
namespace resources = kube_client::resources;

inline const kube_client::Resource kWebhooks{.group = "admissionregistration.k8s.io",
                                             .version = "v1",
                                             .plural = "mutatingwebhookconfigurations",
                                             .kind = "MutatingWebhookConfiguration",
                                             .namespaced = false};

template <class Holds>
bool becomes_true(const Holds& holds, std::chrono::seconds patience = 60s) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < limit) {
        if (holds()) return true;
        std::this_thread::sleep_for(20ms);
    }
    return false;
}

/// aliquot-controller --placement as a process, before nodes that this test tells of.
class PlacementContract : public KubeContract {
protected:
    void SetUp() override {
        KubeContract::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        resource_ = space_ + ".example/gpu";
    }
    void TearDown() override {
        if (connection_.api && !space_.empty()) {
            (void)api().remove(kWebhooks, {"", space_});
            for (const std::string& node : nodes_)
                (void)api().remove(resources::nodes(), {"", node});
        }
        KubeContract::TearDown();
    }

    std::unique_ptr<ControllerProcess> start(std::vector<std::string> more = {}) {
        more.insert(more.begin(), "--placement");
        return std::make_unique<ControllerProcess>(world_->kubeconfig(), space_, space_, more);
    }

    /// A node with `gpus` GPUs of `units` units each, as an agent of ours tells it.
    std::string add_node(const std::string& suffix, unsigned gpus, unsigned units,
                         bool mps = true) {
        const std::string name = space_ + "-" + suffix;
        Json told = Json::array();
        for (unsigned i = 0; i < gpus; ++i) {
            told.push_back({{"index", i},
                            {"uuid", "GPU-" + suffix + "-" + std::to_string(i)},
                            {"healthy", true},
                            {"offers", {{resource_, units}}}});
        }
        const Json shares = Json::array({{{"resource", resource_},
                                          {"mechanism", mps ? "mps" : "time-slicing"},
                                          {"devices", gpus * units},
                                          {"perGpu", units}}});
        const std::string amount = std::to_string(gpus * units);
        make(resources::nodes(),
             Json{{"metadata",
                   {{"name", name},
                    {"labels", {{"kubernetes.io/hostname", name}}},
                    {"annotations",
                     {{"aliquot.dev/gpus", told.dump()}, {"aliquot.dev/shares", shares.dump()}}}}},
                  {"status",
                   {{"allocatable",
                     {{resource_, amount}, {"cpu", "64"}, {"memory", "256Gi"}, {"pods", "100"}}},
                    {"capacity",
                     {{resource_, amount}, {"cpu", "64"}, {"memory", "256Gi"}, {"pods", "100"}}},
                    {"conditions",
                     Json::array(
                         {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}})}}}}
                 .dump());
        nodes_.push_back(name);
        return name;
    }

    Json pod_of(const std::string& name, unsigned count, bool gated = true) {
        Json pod{{"metadata", {{"name", name}}},
                 {"spec",
                  {{"containers",
                    Json::array(
                        {{{"name", "main"},
                          {"image", "none.invalid/c:1"},
                          {"resources", {{"limits", {{resource_, std::to_string(count)}}}}}}})}}}};
        // On the real server a node that nobody heartbeats is tainted; that is not what is tested.
        pod["spec"]["tolerations"] = Json::array({{{"operator", "Exists"}}});
        if (gated)
            pod["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
        return pod;
    }
    void create(const Json& pod) { make(resources::pods(), pod.dump()); }
    void create(const std::string& name, unsigned count) { create(pod_of(name, count)); }

    Json pod(const std::string& name) {
        const auto found = api().get(resources::pods(), key(name));
        return found ? Json::parse(found->json) : Json();
    }
    bool is_released(const std::string& name) {
        const Json found = pod(name);
        return found.contains("spec") && !found["spec"].contains("schedulingGates");
    }
    std::optional<scheduling::Plan> plan_of(const std::string& name) {
        const Json::json_pointer where("/metadata/annotations/aliquot.dev~1plan");
        return scheduling::parse_plan(pod(name).value(where, std::string()));
    }
    /// What an agent does once kubelet has started the pod.
    void grant(const std::string& node, const Json& granted) {
        const Json patch{
            {"metadata", {{"annotations", {{"aliquot.dev/granted", granted.dump()}}}}}};
        ASSERT_TRUE(api().patch(resources::nodes(), {"", node}, patch.dump()));
    }

    std::string resource_;
    std::vector<std::string> nodes_;
};

}  // namespace aliquot::contract
