// SPDX-License-Identifier: Apache-2.0
// Which connections the rendered NetworkPolicies allow, by an evaluator of our own: the rules of
// networking.k8s.io/v1 without ipBlock, matchExpressions and named ports, which we do not render.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "document/yaml.h"
#include "install/render.h"

namespace aliquot::install {
namespace {

using document::Value;
using Labels = std::map<std::string, std::string>;

/// One end of a connection: a pod, or somebody outside of the pod network.
struct End {
    std::string space;  // empty: outside
    Labels labels;
};

End agent() {
    return {.space = "aliquot-system",
            .labels = {{"app.kubernetes.io/name", "aliquot"},
                       {"app.kubernetes.io/component", "agent"}}};
}
End controller() {
    return {.space = "aliquot-system",
            .labels = {{"app.kubernetes.io/name", "aliquot"},
                       {"app.kubernetes.io/component", "controller"}}};
}
End metrics_api() {
    return {.space = "aliquot-system",
            .labels = {{"app.kubernetes.io/name", "aliquot-metrics-api"}}};
}
End pod_of(const std::string& space) { return {.space = space, .labels = {{"app", "x"}}}; }
End outside() { return {}; }

bool selects(const Value& selector, const Labels& labels) {
    EXPECT_EQ(selector.find("matchExpressions"), nullptr);
    const Value* const wanted = selector.find("matchLabels");
    if (wanted == nullptr) return true;
    for (const auto& [key, value] : wanted->entries) {
        const auto found = labels.find(key.scalar);
        if (found == labels.end() || found->second != value.scalar) return false;
    }
    return true;
}

bool peer_fits(const Value& peer, const End& end, const std::string& policy_space) {
    EXPECT_EQ(peer.find("ipBlock"), nullptr);
    if (end.space.empty()) return false;  // selectors mean pods only
    const Value* const spaces = peer.find("namespaceSelector");
    const Value* const pods = peer.find("podSelector");
    const bool space_fits = spaces == nullptr
                                ? end.space == policy_space
                                : selects(*spaces, {{"kubernetes.io/metadata.name", end.space}});
    return space_fits && (pods == nullptr || selects(*pods, end.labels));
}

bool rule_allows(const Value& rule, const std::string& peers_key, const End& other,
                 const std::string& space, int port, const std::string& protocol) {
    const Value* const peers = rule.find(peers_key);
    bool fits = peers == nullptr || peers->items.empty();
    for (const Value& peer : peers == nullptr ? std::vector<Value>() : peers->items) {
        fits = fits || peer_fits(peer, other, space);
    }
    const Value* const ports = rule.find("ports");
    bool port_fits = ports == nullptr || ports->items.empty();
    for (const Value& one : ports == nullptr ? std::vector<Value>() : ports->items) {
        port_fits = port_fits || (one.find("port")->scalar == std::to_string(port) &&
                                  one.find("protocol")->scalar == protocol);
    }
    return fits && port_fits;
}

class Policies {
public:
    explicit Policies(const Values& values) {
        for (const Manifest& one : render(values)) {
            if (one.kind == "NetworkPolicy") {
                all_.push_back(document::parse_yaml(one.yaml).documents.front());
            }
        }
    }

    [[nodiscard]] bool allow(const End& from, const End& to, int port,
                             const std::string& protocol = "TCP") const {
        return side("Egress", "egress", "to", from, to, port, protocol) &&
               side("Ingress", "ingress", "from", to, from, port, protocol);
    }
    [[nodiscard]] std::size_t size() const { return all_.size(); }

private:
    /// Whether what selects `mine` for this direction lets `other` through; nothing selects: yes.
    [[nodiscard]] bool side(const std::string& type, const std::string& rules_key,
                            const std::string& peers_key, const End& mine, const End& other,
                            int port, const std::string& protocol) const {
        bool isolated = false;
        for (const Value& policy : all_) {
            const Value& spec = *policy.find("spec");
            const std::string space = policy.find("metadata")->find("namespace")->scalar;
            if (mine.space != space || !selects(*spec.find("podSelector"), mine.labels)) continue;
            bool of_this_type = false;
            for (const Value& one : spec.find("policyTypes")->items) {
                of_this_type = of_this_type || one.scalar == type;
            }
            if (!of_this_type) continue;
            isolated = true;
            const Value* const rules = spec.find(rules_key);
            for (const Value& rule : rules == nullptr ? std::vector<Value>() : rules->items) {
                if (rule_allows(rule, peers_key, other, space, port, protocol)) return true;
            }
        }
        return !isolated;
    }

    std::vector<Value> all_;
};

TEST(NetworkPolicies, OnlyPrometheusNamespaceReadsMetrics) {
    const Policies policies({});
    EXPECT_TRUE(policies.allow(pod_of("monitoring"), agent(), 9400));
    EXPECT_FALSE(policies.allow(pod_of("default"), agent(), 9400));
    EXPECT_FALSE(policies.allow(pod_of("kube-system"), agent(), 9400));
    EXPECT_FALSE(policies.allow(controller(), agent(), 9400));
    EXPECT_FALSE(policies.allow(pod_of("monitoring"), agent(), 8080));
    EXPECT_FALSE(policies.allow(pod_of("monitoring"), agent(), 9400, "UDP"));
    const Policies other({.metrics_namespace = "observability"});
    EXPECT_TRUE(other.allow(pod_of("observability"), agent(), 9400));
    EXPECT_FALSE(other.allow(pod_of("monitoring"), agent(), 9400));
}

TEST(NetworkPolicies, TheAgentReachesTheApiServerAndNamesAndNothingElse) {
    const Policies policies({});
    EXPECT_TRUE(policies.allow(agent(), outside(), 443));
    EXPECT_TRUE(policies.allow(agent(), outside(), 6443));
    EXPECT_TRUE(policies.allow(agent(), pod_of("kube-system"), 53, "UDP"));
    EXPECT_FALSE(policies.allow(agent(), pod_of("default"), 53, "UDP"));
    EXPECT_FALSE(policies.allow(agent(), outside(), 80));
    EXPECT_FALSE(policies.allow(agent(), outside(), 16443));
    EXPECT_FALSE(policies.allow(agent(), pod_of("default"), 8080));
    EXPECT_FALSE(policies.allow(agent(), agent(), 9400));
    EXPECT_TRUE(Policies({.profile = Profile::kMicrok8s}).allow(agent(), outside(), 16443));
    EXPECT_TRUE(Policies({.api_port = 8443}).allow(agent(), outside(), 8443));
}

TEST(NetworkPolicies, TheWebhookIsAskedFromOutside) {
    const Policies policies({});
    EXPECT_TRUE(policies.allow(outside(), controller(), 8443));
    EXPECT_FALSE(policies.allow(outside(), controller(), 8081));
    EXPECT_FALSE(policies.allow(outside(), agent(), 8443));
    EXPECT_TRUE(policies.allow(controller(), outside(), 6443));
    EXPECT_FALSE(policies.allow(controller(), pod_of("default"), 8080));
}

TEST(NetworkPolicies, JobsAreAskedForByWhoeverHasATokenWhereTheyAreServed) {
    EXPECT_FALSE(Policies({}).allow(pod_of("default"), controller(), 8082));
    const Policies policies({.jobs_api = "jobs-tls"});
    EXPECT_TRUE(policies.allow(pod_of("default"), controller(), 8082));
    EXPECT_TRUE(policies.allow(outside(), controller(), 8082));
    EXPECT_FALSE(policies.allow(pod_of("default"), controller(), 8081));
}

TEST(NetworkPolicies, TheControllerAsksTheAgentsForWhomItLooksAtIdleGpus) {
    EXPECT_FALSE(Policies({.jobs = true}).allow(controller(), agent(), 9400));
    EXPECT_TRUE(
        Policies({.jobs = true, .jobs_idle_after = "30m"}).allow(controller(), agent(), 9400));
    EXPECT_TRUE(Policies({.cost_store = "temporary"}).allow(controller(), agent(), 9400));
}

TEST(NetworkPolicies, TheWebhookIsAskedByTheGivenAddressesOnly) {
    const std::string text = to_yaml(render({.api_server_cidrs = {"10.0.0.1/32", "fd00::1/128"}}));
    EXPECT_NE(text.find("- ipBlock:"), std::string::npos);
    EXPECT_NE(text.find("cidr: 10.0.0.1/32"), std::string::npos);
    EXPECT_NE(text.find("cidr: fd00::1/128"), std::string::npos);
    for (const char* wrong :
         {"10.0.0.1", "10.0.0.1/33", "host/8", "fd00::/129", "1.2.3.4/", "/8"}) {
        EXPECT_FALSE(check({.api_server_cidrs = {wrong}})) << wrong;
    }
}

TEST(NetworkPolicies, WhoeverElseIsInTheNamespaceIsAlone) {
    const Policies policies({});
    EXPECT_FALSE(policies.allow(pod_of("aliquot-system"), outside(), 443));
    EXPECT_FALSE(policies.allow(outside(), pod_of("aliquot-system"), 80));
    EXPECT_FALSE(policies.allow(metrics_api(), agent(), 9400));  // it may not leave
}

TEST(NetworkPolicies, AutoscalersGetMetricsByTheirServer) {
    const Policies policies({.metrics_api = true});
    EXPECT_TRUE(policies.allow(metrics_api(), agent(), 9400));
    EXPECT_TRUE(policies.allow(outside(), metrics_api(), 6443));
    EXPECT_TRUE(policies.allow(metrics_api(), outside(), 443));
    EXPECT_FALSE(policies.allow(pod_of("default"), metrics_api(), 9400));
}

TEST(NetworkPolicies, OtherNamespacesAreNotTouched) {
    const Policies policies({});
    EXPECT_TRUE(policies.allow(pod_of("default"), pod_of("default"), 80));
    EXPECT_EQ(Policies({.network_policy = false}).size(), 0U);
}

}  // namespace
}  // namespace aliquot::install
