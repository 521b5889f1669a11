// SPDX-License-Identifier: Apache-2.0
// What the admission policies of placement and claims let be written, and by whom. Only a real API server obeys them:
// ALIQUOT_TEST_KUBECONFIG.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/contract/install_world.h"

namespace aliquot::install {
namespace {

using kube_client::Reason;
using kube_client::resources::namespaces;
using kube_client::resources::nodes;
using kube_client::resources::pods;
using Json = nlohmann::json;

const kube_client::Resource kClaims{.group = "resource.k8s.io",
                                    .version = "v1",
                                    .plural = "resourceclaims",
                                    .kind = "ResourceClaim"};
const kube_client::Resource kSlices{.group = "resource.k8s.io",
                                    .version = "v1",
                                    .plural = "resourceslices",
                                    .kind = "ResourceSlice",
                                    .namespaced = false};
constexpr char kTeam[] = "aliquot-contract-team";
constexpr char kPlan[] = R"({"v":1,"gen":1,"targets":[]})";

class InstallPlacing : public InstallContract {
protected:
    void SetUp() override {
        if (!real()) GTEST_SKIP() << "the simulated server does not obey admission policies";
        InstallContract::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        make(namespaces(), "",
             R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + std::string(kTeam) +
                 R"("}})");
        make(kube_client::resources::service_accounts(), kTeam,
             R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})");
        clear_team();
        make(nodes(), "", node_json("node-a"));
    }
    void TearDown() override {
        if (connection_.api) clear_team();
        InstallContract::TearDown();
    }
    void clear_team() {
        for (const auto& [resource, space] :
             {std::pair(pods(), std::string(kTeam)), std::pair(pods(), kSpace),
              std::pair(kClaims, std::string(kTeam)), std::pair(kSlices, std::string())}) {
            const auto list = api().list(resource, {.namespace_name = space});
            for (const auto& one : list ? list->items : std::vector<kube_client::Object>{})
                (void)api().remove(resource, one.key(), {.grace_seconds = 0});
        }
    }

    static Json pod(const std::string& name, const Json& annotations = Json::object()) {
        return {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", name}, {"annotations", annotations}}},
                {"spec",
                 {{"containers", Json::array({{{"name", "c"}, {"image", "none.invalid/c:1"}}})}}}};
    }
    static Json gated(const std::string& name) {
        Json made = pod(name);
        made["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
        return made;
    }
    static Json claim(const std::string& name) {
        return {{"apiVersion", "resource.k8s.io/v1"},
                {"kind", "ResourceClaim"},
                {"metadata", {{"name", name}}},
                {"spec",
                 {{"devices",
                   {{"requests",
                     Json::array({{{"name", "gpu"},
                                   {"exactly", {{"deviceClassName", "gpu.aliquot.dev"}}}}})}}}}}};
    }
    static Json slice(const std::string& name, const std::string& node, const std::string& driver) {
        return {{"apiVersion", "resource.k8s.io/v1"},
                {"kind", "ResourceSlice"},
                {"metadata", {{"name", name}}},
                {"spec",
                 {{"driver", driver},
                  {"nodeName", node},
                  {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                  {"devices", Json::array({{{"name", "gpu-0"}}})}}}};
    }
    /// A pod of ours with that account, in our namespace, and what its token can do.
    kube_client::Connection as(const std::string& account) {
        Json own = pod(account + "-0");
        own["spec"]["serviceAccountName"] = account;
        own["spec"]["nodeName"] = "node-a";
        const auto made = make(pods(), kSpace, own.dump());
        return with_token(token_of(account, &*made));
    }
    template <class Outcome>
    static std::string words(const Outcome& done) {
        return done ? "allowed" : done.failure().message;
    }
    /// A new policy takes a moment until the server obeys it.
    static void obeyed(const std::function<std::string()>& write, const std::string& says) {
        std::string said;
        for (int i = 0; i < 100; ++i) {
            said = write();
            if (said.contains(says)) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        ADD_FAILURE() << "the policy was never obeyed: " << said;
    }
    kube_client::Outcome<kube_client::Object> annotate(kube_client::Api& by,
                                                       const std::string& name,
                                                       const Json& annotations) {
        return by.patch(pods(), {kTeam, name},
                        Json{{"metadata", {{"annotations", annotations}}}}.dump());
    }
};

constexpr char kOnlyWriter[] = "only the controller of Aliquot writes";
constexpr char kOnlyGated[] = "only a pod that has the gate";
constexpr char kOnlyPlaced[] = "delete only a pod that it placed and that has no node";

TEST_P(InstallPlacing, PlansAreWrittenByTheControllerOnly) {
    install({.placement = true});
    const Json plan{{"aliquot.dev/plan", kPlan}};
    unsigned tries = 0;
    obeyed(
        [&] {
            return words(
                api().create(pods(), kTeam, pod("w" + std::to_string(++tries), plan).dump()));
        },
        kOnlyWriter);
    make(pods(), kTeam, pod("plain").dump());
    EXPECT_TRUE(words(annotate(api(), "plain", plan)).contains(kOnlyWriter));
    EXPECT_TRUE(annotate(api(), "plain", {{"example.com/other", "x"}}));
    // Whoever binds brings none along.
    const std::string binding =
        Json{{"apiVersion", "v1"},
             {"kind", "Binding"},
             {"metadata", {{"name", "plain"}, {"annotations", plan}}},
             {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "node-a"}}}}
            .dump();
    const auto forged =
        api().exchange({.method = "POST",
                        .path = "/api/v1/namespaces/" + std::string(kTeam) + "/pods/plain/binding",
                        .body = binding,
                        .content_type = "application/json",
                        .what = "bind"});
    ASSERT_TRUE(forged);
    EXPECT_EQ(forged->status, 403) << forged->body;
    EXPECT_TRUE(api().bind({kTeam, "plain"}, "node-a"));

    const auto controller = as("aliquot-controller");
    make(pods(), kTeam, gated("gated").dump());
    const auto planned = annotate(*controller.api, "gated", plan);
    EXPECT_TRUE(planned) << words(planned);
    EXPECT_TRUE(words(annotate(*controller.api, "plain", plan)).contains(kOnlyGated));
    // Others change what is theirs, and no plan.
    EXPECT_TRUE(annotate(api(), "gated", {{"example.com/other", "x"}}));
    EXPECT_TRUE(
        words(annotate(api(), "gated", {{"aliquot.dev/plan", nullptr}})).contains(kOnlyWriter));
    EXPECT_TRUE(
        words(annotate(api(), "gated", {{"aliquot.dev/plan", "{}"}})).contains(kOnlyWriter));
}

TEST_P(InstallPlacing, TheControllerDeletesWhatItPlacedAndNothingElse) {
    install({.placement = true, .placement_strict = true});
    const auto controller = as("aliquot-controller");
    const auto remove = [&](const char* name) {
        return words(controller.api->remove(pods(), {kTeam, name}, {.grace_seconds = 0}));
    };
    make(pods(), kTeam, pod("plain").dump());
    make(pods(), kTeam, gated("placed").dump());
    make(pods(), kTeam, gated("bound").dump());
    obeyed([&] { return words(annotate(*controller.api, "plain", {{"x", "y"}})); }, kOnlyGated);
    for (const char* const name : {"placed", "bound"})
        EXPECT_TRUE(annotate(*controller.api, name, {{"aliquot.dev/plan", kPlan}}));
    EXPECT_TRUE(remove("plain").contains(kOnlyPlaced)) << remove("plain");
    ASSERT_TRUE(api().patch(pods(), {kTeam, "bound"}, R"({"spec":{"schedulingGates":null}})"));
    ASSERT_TRUE(api().bind({kTeam, "bound"}, "node-a"));
    EXPECT_TRUE(remove("bound").contains(kOnlyPlaced)) << remove("bound");
    EXPECT_EQ(remove("placed"), "allowed");
    // That it leads it says on its own pod, and on no other of its namespace.
    make(pods(), kSpace, pod("another").dump());
    const std::string leads = R"({"metadata":{"labels":{"aliquot.dev/leads":"true"}}})";
    const auto own = controller.api->patch(pods(), {kSpace, "aliquot-controller-0"}, leads);
    EXPECT_TRUE(own) << words(own);
    EXPECT_TRUE(
        words(controller.api->patch(pods(), {kSpace, "another"}, leads)).contains(kOnlyGated));
    // A Binding that our webhook has put a plan on passes: here it is one that anybody sends.
    EXPECT_TRUE(annotate(api(), "plain", {{"example.com/other", "x"}}));
}

TEST_P(InstallPlacing, ClaimsOfPodsAreNamedWithTheirWishAndMadeByTheController) {
    install({.dra = "consumable", .claims = true});
    const auto wants = [](const std::string& name, const Json& annotations,
                          const std::string& claim_name) {
        Json made = pod(name, annotations);
        made["spec"]["resourceClaims"] =
            Json::array({{{"name", "gpu"}, {"resourceClaimName", claim_name}}});
        return made.dump();
    };
    unsigned tries = 0;
    obeyed(
        [&] {
            return words(api().create(
                pods(), kTeam,
                wants("w" + std::to_string(++tries), Json::object(), "aq-0123456789abcdef")));
        },
        "only with the annotation aliquot.dev/claim");
    const auto wishing = api().create(
        pods(), kTeam,
        wants("wishing", {{"aliquot.dev/claim", "memory=1Gi"}}, "aq-0123456789abcdef"));
    EXPECT_TRUE(wishing) << words(wishing);
    const auto other = api().create(pods(), kTeam, wants("other", Json::object(), "theirs"));
    EXPECT_TRUE(other) << words(other);

    const auto controller = as("aliquot-controller");
    make(kClaims, kTeam, claim("theirs").dump());
    const auto mine = controller.api->create(kClaims, kTeam, claim("aq-0123456789abcdef").dump());
    EXPECT_TRUE(mine) << words(mine);
    constexpr char kOnlyOurs[] = "make and delete only claims aq-";
    EXPECT_TRUE(
        words(controller.api->create(kClaims, kTeam, claim("more").dump())).contains(kOnlyOurs));
    EXPECT_TRUE(words(controller.api->remove(kClaims, {kTeam, "theirs"})).contains(kOnlyOurs));
    const auto gone = controller.api->remove(kClaims, {kTeam, "aq-0123456789abcdef"});
    EXPECT_TRUE(gone) << words(gone);
}

TEST_P(InstallPlacing, AnAgentPublishesDevicesOfItsNodeOnly) {
    install({.dra = "consumable"});
    const auto agent = as("aliquot-agent");
    constexpr char kOwn[] = "only slices of gpu.aliquot.dev for the node it runs on";
    const auto create = [&](const Json& slice) {
        return words(agent.api->create(kSlices, "", slice.dump()));
    };
    unsigned tries = 0;
    obeyed(
        [&] { return create(slice("w" + std::to_string(++tries), "node-b", "gpu.aliquot.dev")); },
        kOwn);
    EXPECT_EQ(create(slice("own", "node-a", "gpu.aliquot.dev")), "allowed");
    EXPECT_TRUE(create(slice("nvidia", "node-a", "gpu.nvidia.com")).contains(kOwn));
    make(kSlices, "", slice("theirs", "node-b", "gpu.aliquot.dev").dump());
    EXPECT_TRUE(words(agent.api->remove(kSlices, {"", "theirs"})).contains(kOwn));
    EXPECT_EQ(words(agent.api->remove(kSlices, {"", "own"})), "allowed");
}

INSTANTIATE_TEST_SUITE_P(Cluster, InstallPlacing, testing::Values("Real"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace aliquot::install
