// SPDX-License-Identifier: Apache-2.0
// aliquot-controller --pools as a process, with the rights that an installation gives it and no others: a Pool becomes
// what autoscalers read, its status says why, and what belongs to somebody else is left alone.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/time_text.h"
#include "install/render.h"
#include "kube_client/connect.h"
#include "os/temporary_directory.h"
#include "sim/apiserver/api_server.h"
#include "tests/contract/controller_process.h"

namespace aliquot::contract {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using testing::HasSubstr;

const kube_client::Resource kPools{"aliquot.dev", "v1alpha1", "pools", "Pool", false};
const kube_client::Resource kNodePools{"karpenter.sh", "v1", "nodepools", "NodePool", false};
constexpr const char* kSpace = "aliquot-system";

/// As far as a server needs it to keep NodePools.
constexpr const char* kNodePoolDefinition = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodepools.karpenter.sh}
spec:
  group: karpenter.sh
  scope: Cluster
  names: {plural: nodepools, singular: nodepool, kind: NodePool, listKind: NodePoolList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
)";

class PoolsContract : public testing::Test {
protected:
    void SetUp() override {
        auto server = sim::ApiServer::start(
            {.directory = directory_.path().string(), .rbac = true, .bookmark_interval = 200ms});
        ASSERT_TRUE(server) << server.error().message;
        server_ = *std::move(server);
        const auto installed =
            server_->apply(install::to_yaml(install::render({.pools = true})), kSpace);
        ASSERT_TRUE(installed) << installed.error().message;
        ASSERT_TRUE(server_->apply(kNodePoolDefinition));
        auto connection = kube_client::connect({.kubeconfig = server_->kubeconfig_file()});
        ASSERT_TRUE(connection) << connection.error().message;
        connection_ = *std::move(connection);
        kubeconfig_ = (directory_.path() / "controller.kubeconfig").native();
        std::ofstream(kubeconfig_)
            << server_->kubeconfig_for(sim::service_account(kSpace, "aliquot-controller"));
    }

    std::unique_ptr<ControllerProcess> start() {
        return std::make_unique<ControllerProcess>(kubeconfig_, kSpace, "aliquot",
                                                   std::vector<std::string>{"--pools"});
    }
    kube_client::Api& api() { return *connection_.api; }

    void apply(const std::string& yaml) {
        const auto applied = server_->apply(yaml);
        ASSERT_TRUE(applied) << applied.error().message;
    }
    void apply_pool(const std::string& spec) {
        apply("apiVersion: aliquot.dev/v1alpha1\nkind: Pool\nmetadata: {name: ci}\nspec:\n" + spec);
    }
    void put_status(const kube_client::Resource& resource, const kube_client::ObjectKey& key,
                    const Json& status) {
        const auto put = api().patch(resource, key, Json{{"status", status}}.dump(),
                                     {.write = {.subresource = "status"}});
        ASSERT_TRUE(put) << put.failure().message;
    }
    void add_node(const std::string& name, const std::string& annotations = "") {
        apply("apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
              ", labels: {aliquot.dev/pool: ci}, annotations: {" + annotations + "}}\n");
        const Json devices{{"cpu", "8"}, {"nvidia.com/gpu", "1"}};
        put_status(kube_client::resources::nodes(), {"", name},
                   {{"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                    {"allocatable", devices},
                    {"capacity", devices}});
    }
    void add_pod(const std::string& name, const std::string& spec) {
        apply("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
              ", namespace: default}\nspec: {" + spec +
              ", containers: [{name: c, image: 'none.invalid/c:1', resources: {limits: "
              "{nvidia.com/gpu: '1'}}}]}\n");
        put_status(kube_client::resources::pods(), {"default", name},
                   {{"phase", "Pending"},
                    {"conditions", Json::array({{{"type", "PodScheduled"},
                                                 {"status", "False"},
                                                 {"reason", "Unschedulable"}}})}});
    }
    Json object(const kube_client::Resource& resource, const kube_client::ObjectKey& key) {
        const auto found = api().get(resource, key);
        return found ? Json::parse(found->json) : Json();
    }
    Json pool() { return object(kPools, {"", "ci"}); }
    Json placeholder() {
        return object(kube_client::resources::deployments(), {kSpace, "ci-placeholder"});
    }
    Json node(const std::string& name) {
        return object(kube_client::resources::nodes(), {"", name});
    }
    static Json at(const Json& object, const std::string& pointer) {
        const Json::json_pointer where(pointer);
        return object.contains(where) ? object.at(where) : Json();
    }
    template <class Holds>
    bool comes(const Holds& holds) {
        const auto limit = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < limit) {
            if (holds()) return true;
            std::this_thread::sleep_for(20ms);
        }
        return false;
    }
    std::string condition(const std::string& type) {
        for (const Json& one : at(pool(), "/status/conditions")) {
            if (one["type"] == type) {
                return one.value("status", "") + " " + one.value("message", "");
            }
        }
        return "";
    }

    const os::TemporaryDirectory directory_;
    std::unique_ptr<sim::ApiServer> server_;
    kube_client::Connection connection_;
    std::string kubeconfig_;
};

// R81.
TEST_F(PoolsContract, KubectlScaleOnAPoolBecomesPlaceholderPods) {
    const auto controller = start();
    apply_pool("  max: 5\n  engine: placeholder\n  node: {resources: {nvidia.com/gpu: 1}}\n");
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/desired") == 0; })) << controller->said();
    // What kubectl scale pool/ci --replicas=3 does.
    const auto scale = api().set_scale(kPools, {"", "ci"}, 3);
    ASSERT_TRUE(scale) << scale.failure().message;
    ASSERT_TRUE(comes([&] { return at(placeholder(), "/spec/replicas") == 3; }))
        << controller->said();
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/desired") == 3; }));
    EXPECT_EQ(at(pool(), "/status/reasons/0"), "asked for by hand (spec.replicas): 3");
    EXPECT_EQ(at(placeholder(), "/spec/template/spec/priorityClassName"), "aliquot-placeholder");
    EXPECT_THAT(condition("Applied"), HasSubstr("True"));
    // More than max is max; nodes that come are in the scale's status.
    ASSERT_TRUE(api().set_scale(kPools, {"", "ci"}, 9));
    ASSERT_TRUE(comes([&] { return at(placeholder(), "/spec/replicas") == 5; }));
    add_node("n1");
    ASSERT_TRUE(comes([&] {
        const auto now = api().get_scale(kPools, {"", "ci"});
        return now && now->present == 1;
    })) << controller->said();
    ASSERT_TRUE(comes([&] {
        return at(node("n1"), "/metadata/annotations/aliquot.dev~1kept-by") == "ci";
    })) << controller->said();
    // The pool takes what it made with it.
    ASSERT_TRUE(api().remove(kPools, {"", "ci"}));
    EXPECT_TRUE(comes([&] { return placeholder().is_null(); }));
    EXPECT_TRUE(comes([&] {
        return at(node("n1"), "/metadata/annotations/aliquot.dev~1kept-by").is_null();
    })) << controller->said();
}

TEST_F(PoolsContract, APodThatWaitsForAutoscalersIsTheirsAndOneThatTheyDoNotSeeGetsAPlaceholder) {
    const auto controller = start();
    apply_pool("  max: 5\n  engine: placeholder\n  node: {resources: {nvidia.com/gpu: 1}}\n");
    add_pod("seen", "nodeSelector: {aliquot.dev/pool: ci}");
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/desired") == 1; })) << controller->said();
    EXPECT_EQ(at(placeholder(), "/spec/replicas"), 0);
    add_pod("unseen", "schedulingGates: [{name: aliquot.dev/placement}]");
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/desired") == 2; })) << controller->said();
    ASSERT_TRUE(comes([&] { return at(placeholder(), "/spec/replicas") == 1; }));
}

TEST_F(PoolsContract, ANodePoolThatSomebodyElseMadeIsLeftAlone) {
    apply("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: ci}\nspec: {weight: 7}\n");
    const auto controller = start();
    apply_pool("  max: 5\n  nodeClass: EC2NodeClass/gpu\n  instances: [g4dn.xlarge]\n");
    ASSERT_TRUE(comes([&] { return !condition("Applied").empty(); })) << controller->said();
    EXPECT_THAT(condition("Applied"),
                HasSubstr("False NodePool ci is there and this pool did not"));
    EXPECT_EQ(object(kNodePools, {"", "ci"})["spec"], (Json{{"weight", 7}}));
    ASSERT_TRUE(api().remove(kNodePools, {"", "ci"}));
    // A change of the pool is looked at at once.
    apply_pool("  max: 4\n  nodeClass: EC2NodeClass/gpu\n  instances: [g4dn.xlarge]\n");
    ASSERT_TRUE(comes([&] {
        return at(object(kNodePools, {"", "ci"}), "/spec/limits/nodes") == "4";
    })) << controller->said();
}

TEST_F(PoolsContract, AFieldThatSomebodyElseHasTakenStaysTheirsAndIsTold) {
    const auto controller = start();
    apply_pool("  max: 5\n  instances: [g4dn.xlarge]\n");
    ASSERT_TRUE(comes([&] {
        return !object(kNodePools, {"", "ci"}).is_null();
    })) << controller->said();
    const auto taken = api().apply(
        kNodePools, {"", "ci"},
        R"({"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"ci"},"spec":{"limits":{"nodes":"2"}}})",
        true, {.field_manager = "terraform"});
    ASSERT_TRUE(taken) << taken.failure().message;
    apply_pool("  max: 3\n  instances: [g4dn.xlarge]\n");
    ASSERT_TRUE(comes([&] { return condition("Applied").starts_with("False"); }))
        << controller->said();
    EXPECT_THAT(condition("Applied"), HasSubstr("terraform"));
    EXPECT_EQ(at(object(kNodePools, {"", "ci"}), "/spec/limits/nodes"), "2");
}

TEST_F(PoolsContract, ACapacityTypeThatGoesTakesItsNodePoolWithIt) {
    const auto controller = start();
    apply_pool("  max: 5\n  instances: [g4dn.xlarge]\n  capacity: [on-demand, spot]\n");
    ASSERT_TRUE(comes([&] {
        return !object(kNodePools, {"", "ci-spot"}).is_null();
    })) << controller->said();
    apply_pool("  max: 5\n  instances: [g4dn.xlarge]\n  capacity: [on-demand]\n");
    EXPECT_TRUE(comes([&] {
        return object(kNodePools, {"", "ci-spot"}).is_null() &&
               !object(kNodePools, {"", "ci"}).is_null();
    })) << controller->said();
}

TEST_F(PoolsContract, NodesAreKeptFromClusterAutoscalerAndSomebodyElsesWordStands) {
    const auto controller = start();
    add_node("n1");
    add_node("n2", "cluster-autoscaler.kubernetes.io/scale-down-disabled: 'false'");
    apply_pool("  max: 5\n  engine: external\n  node: {resources: {nvidia.com/gpu: 1}}\n");
    const std::string disabled =
        "/metadata/annotations/cluster-autoscaler.kubernetes.io~1scale-down-disabled";
    ASSERT_TRUE(comes([&] { return at(node("n1"), disabled) == "true"; })) << controller->said();
    ASSERT_TRUE(comes([&] {
        return !at(node("n2"), "/metadata/annotations/aliquot.dev~1empty-since").is_null();
    })) << controller->said();
    EXPECT_EQ(at(node("n2"), disabled), "false");
}

TEST_F(PoolsContract, ANodeLosesItsStartupTaintWhenItsDevicesAreThereAndKeepsTheOthers) {
    const auto controller = start();
    apply(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {aliquot.dev/pool: ci}}\n"
        "spec: {taints: [{key: startup-taint.cluster-autoscaler.kubernetes.io/aliquot, value: "
        "'true', effect: NoSchedule}, {key: theirs, value: x, effect: NoSchedule}]}\n");
    put_status(kube_client::resources::nodes(), {"", "n1"},
               {{"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                {"allocatable", {{"cpu", "8"}}}});
    apply_pool("  max: 5\n  engine: external\n  node: {resources: {nvidia.com/gpu: 1}}\n");
    const auto taints = [&] { return at(node("n1"), "/spec/taints").dump(); };
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/starting") == 1; })) << controller->said();
    EXPECT_THAT(taints(), HasSubstr("startup-taint"));
    put_status(kube_client::resources::nodes(), {"", "n1"},
               {{"allocatable", {{"cpu", "8"}, {"nvidia.com/gpu", "1"}}}});
    ASSERT_TRUE(comes([&] { return !taints().contains("startup-taint"); })) << controller->said();
    EXPECT_THAT(taints(), HasSubstr("theirs"));
}

TEST_F(PoolsContract, PodsLeaveANodeBeforeTheCloudTakesItAndAnotherIsAskedForFirst) {
    const auto controller = start();
    add_node("n1");
    add_pod("train", "nodeName: n1");
    apply_pool("  max: 5\n  engine: placeholder\n  node: {resources: {nvidia.com/gpu: 1}}\n");
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/busy") == 1; })) << controller->said();
    const auto mark = [&](std::chrono::seconds left) {
        const std::string when = rfc3339(std::chrono::system_clock::now() + left);
        apply(
            "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {aliquot.dev/pool: ci}, "
            "annotations: {aliquot.dev/leaves-at: '" +
            when + "'}}\n");
    };
    mark(3600s);
    ASSERT_TRUE(comes([&] { return at(placeholder(), "/spec/replicas") == 1; }))
        << controller->said();
    const Json pod = object(kube_client::resources::pods(), {"default", "train"});
    EXPECT_FALSE(pod.is_null());
    EXPECT_TRUE(at(pod, "/metadata/deletionTimestamp").is_null());
    mark(20s);
    EXPECT_TRUE(comes([&] {
        const Json now = object(kube_client::resources::pods(), {"default", "train"});
        return now.is_null() || !at(now, "/metadata/deletionTimestamp").is_null();
    })) << controller->said();
}

TEST_F(PoolsContract, ASpecThatIsWrongChangesNothingAndIsTold) {
    const auto controller = start();
    apply_pool(
        "  max: 2\n  replicas: 2\n  engine: placeholder\n"
        "  node: {resources: {nvidia.com/gpu: 1}}\n");
    ASSERT_TRUE(comes([&] { return at(placeholder(), "/spec/replicas") == 2; }))
        << controller->said();
    apply_pool(
        "  max: 2\n  min: 3\n  engine: placeholder\n"
        "  node: {resources: {nvidia.com/gpu: 1}}\n");
    ASSERT_TRUE(comes([&] { return condition("Valid").starts_with("False"); }))
        << controller->said();
    EXPECT_THAT(condition("Valid"), HasSubstr("spec.min"));
    EXPECT_EQ(at(placeholder(), "/spec/replicas"), 2);
}

TEST_F(PoolsContract, AControllerThatIsEndedAndBegunAgainWritesNothingTwice) {
    apply_pool(
        "  max: 5\n  replicas: 2\n  engine: placeholder\n"
        "  node: {resources: {nvidia.com/gpu: 1}}\n");
    std::string version;
    {
        const auto first = start();
        ASSERT_TRUE(comes([&] { return at(pool(), "/status/desired") == 2; })) << first->said();
        ASSERT_TRUE(comes([&] { return at(pool(), "/status/outputs").size() == 2; }));
        version = at(placeholder(), "/metadata/resourceVersion");
    }
    const auto second = start();
    ASSERT_TRUE(api().set_scale(kPools, {"", "ci"}, 2));
    apply_pool(
        "  max: 5\n  replicas: 2\n  warm: 0\n  engine: placeholder\n"
        "  node: {resources: {nvidia.com/gpu: 1}}\n");
    add_node("n1");
    ASSERT_TRUE(comes([&] { return at(pool(), "/status/nodes") == 1; })) << second->said();
    EXPECT_EQ(at(placeholder(), "/metadata/resourceVersion"), version);
}

}  // namespace
}  // namespace aliquot::contract
