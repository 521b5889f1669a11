// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/claims_node.h"

#include <algorithm>

namespace aliquot {

void Claims::SetUp() {
    ClusterNode::SetUp();
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    const auto rules = Json::parse(R"([
        {"apiGroups":["resource.k8s.io"],"resources":["resourceslices"],
         "verbs":["get","list","watch","create","update","delete"]},
        {"apiGroups":["resource.k8s.io"],"resources":["resourceclaims"],"verbs":["get"]},
        {"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
    ask("POST", rbac + "/clusterroles", {{"metadata", {{"name", "claims"}}}, {"rules", rules}});
    ask("POST", rbac + "/clusterrolebindings", Json::parse(R"({"metadata":{"name":"claims"},
            "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"claims"},
            "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"agent"}]})"));
    make();
}

std::vector<Json> Claims::devices() {
    std::vector<Json> found;
    const Json list = ask("GET", kSlices);
    for (const Json& slice : list["items"]) {
        for (const Json& device : slice["spec"].value("devices", Json::array())) {
            found.push_back(device);
        }
    }
    return found;
}

testing::AssertionResult Claims::is_ready() {
    return soon([&] {
        const auto drivers = kubelet_->claim_drivers();
        return !drivers.empty() && drivers.front() == kDriver && devices().size() == 2;
    });
}

sim::ClaimReference Claims::allocate(const std::string& name, const std::string& device,
                                     const std::string& memory, const std::string& compute) {
    const Json capacity{{"memory", memory}, {"compute", compute}};
    Json made = ask(
        "POST", kClaims,
        {{"apiVersion", "resource.k8s.io/v1"},
         {"kind", "ResourceClaim"},
         {"metadata", {{"name", name}}},
         {"spec",
          {{"devices",
            {{"requests",
              {{{"name", "gpu"},
                {"exactly",
                 {{"deviceClassName", kDriver}, {"capacity", {{"requests", capacity}}}}}}}}}}}}});
    made["status"] = {
        {"allocation",
         {{"devices",
           {{"results",
             {{{"request", "gpu"},
               {"driver", kDriver},
               {"pool", "gpu-1"},
               {"device", device},
               {"shareID", "8f2c9a44-0f0e-4e6c-9f3e-0d8f8f1f2a3" + std::to_string(++shares_ % 10)},
               {"consumedCapacity", capacity}}}}}}}},
        {"reservedFor", {{{"resource", "pods"}, {"name", "p-" + name}, {"uid", "u-" + name}}}}};
    const Json kept = ask("PUT", std::string(kClaims) + "/" + name + "/status", made);
    return {.claim_namespace = "default",
            .name = name,
            .uid = kept["metadata"]["uid"].get<std::string>(),
            .drivers = {kDriver}};
}

std::string Claims::cdi_path(const std::string& uid) {
    return "/var/run/cdi/k8s.gpu.aliquot.dev-claim-" + uid + ".json";
}

sim::ClaimReference DynamicMig::allocate_all(const std::string& name, const std::string& device) {
    auto claim = allocate(name, device, "1", "1");
    Json made = ask("GET", std::string(kClaims) + "/" + name);
    Json& result = made["status"]["allocation"]["devices"]["results"][0];
    result.erase("shareID");
    result.erase("consumedCapacity");
    ask("DELETE", std::string(kClaims) + "/" + name);
    made["metadata"] = {{"name", name}};
    const Json status = made["status"];
    made = ask("POST", kClaims, made);
    made["status"] = status;
    const Json kept = ask("PUT", std::string(kClaims) + "/" + name + "/status", made);
    claim.uid = kept["metadata"]["uid"].get<std::string>();
    return claim;
}

std::string DynamicMig::cut(unsigned gpu) {
    std::string text;
    const sim::GpuView view = gpus_->gpus().at(gpu);
    for (const sim::MigDeviceView& one : view.mig_devices) {
        text += (text.empty() ? "" : " ") + one.profile;
    }
    return text;
}

Json DynamicMig::published(const std::string& name) {
    for (const Json& device : devices()) {
        if (device["name"] == name) return device;
    }
    return nullptr;
}

testing::AssertionResult DynamicMig::is_cuttable() {
    return soon([&] {
        const auto drivers = kubelet_->claim_drivers();
        return !drivers.empty() && devices().size() == 52;
    });
}

}  // namespace aliquot
