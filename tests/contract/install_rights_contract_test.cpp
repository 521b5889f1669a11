// SPDX-License-Identifier: Apache-2.0
// What agent and controller may do once they are installed: what is listed, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/json_text.h"
#include "tests/contract/install_world.h"

namespace aliquot::install {
namespace {

using kube_client::Reason;
using kube_client::resources::config_maps;
using kube_client::resources::daemon_sets;
using kube_client::resources::namespaces;
using kube_client::resources::nodes;
using kube_client::resources::pods;

class InstallRights : public InstallContract {
protected:
    /// Whether roles allow it.
    bool may(const std::string& account, const std::string& verb, const std::string& group,
             const std::string& resource, const std::string& subresource, const std::string& space,
             const std::string& name) {
        const auto quoted = [](const std::string& text) { return json_quoted(text); };
        const auto answer = api().exchange(
            {.method = "POST",
             .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
             .body =
                 R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{
                     "user":"system:serviceaccount:aliquot-system:)" +
                 account + R"(","groups":["system:serviceaccounts","system:authenticated"],
                     "resourceAttributes":{"verb":)" +
                 quoted(verb) + R"(,"group":)" + quoted(group) + R"(,"resource":)" +
                 quoted(resource) + R"(,"subresource":)" + quoted(subresource) +
                 R"(,"namespace":)" + quoted(space) + R"(,"name":)" + quoted(name) + "}}}",
             .content_type = "application/json",
             .what = "review"});
        EXPECT_TRUE(answer && answer->status == 201) << (answer ? answer->body : "");
        return answer && kube_client::bool_at(answer->body, "/status/allowed").value_or(false);
    }
};

/// "verb group/resource/subresource space/name"
struct Question {
    std::string verb, group, resource, subresource, space, name;
    [[nodiscard]] std::string text() const {
        return verb + " " + (group.empty() ? "" : group + "/") + resource +
               (subresource.empty() ? "" : "/" + subresource) + " " + space + "/" + name;
    }
};

/// All that somebody could want of what is worth wanting.
std::vector<Question> questions() {
    struct Kind {
        std::string group, resource, subresource;
        bool namespaced;
        std::vector<std::string> names;
    };
    const std::vector<Kind> kinds{
        {"", "nodes", "", false, {"node-a"}},
        {"", "nodes", "status", false, {"node-a"}},
        {"", "nodes", "proxy", false, {"node-a"}},
        {"", "namespaces", "", false, {"default"}},
        {"", "pods", "", true, {"web"}},
        {"", "pods", "exec", true, {"web"}},
        {"", "pods", "eviction", true, {"web"}},
        {"", "configmaps", "", true, {"aliquot-config", "aliquot-mig-config", "other"}},
        {"", "secrets", "", true, {"aliquot-webhook", "other"}},
        {"", "serviceaccounts", "", true, {"aliquot-agent"}},
        {"", "serviceaccounts", "token", true, {"aliquot-agent"}},
        {"", "events", "", true, {"e"}},
        {"events.k8s.io", "events", "", true, {"e"}},
        {"coordination.k8s.io", "leases", "", true, {"aliquot-controller", "other"}},
        {"apps", "daemonsets", "", true, {"aliquot-agent"}},
        {"nfd.k8s-sigs.io", "nodefeatures", "", true, {"node-a"}},
        {"rbac.authorization.k8s.io", "clusterroles", "", false, {"aliquot-agent"}},
        {"rbac.authorization.k8s.io", "clusterrolebindings", "", false, {"aliquot-agent"}},
        {"admissionregistration.k8s.io",
         "mutatingwebhookconfigurations",
         "",
         false,
         {"aliquot", "other"}},
        {"admissionregistration.k8s.io",
         "validatingadmissionpolicies",
         "",
         false,
         {"aliquot-agent-own-node"}}};
    std::vector<Question> all;
    for (const Kind& kind : kinds) {
        for (const char* const verb :
             {"get", "list", "watch", "create", "update", "patch", "delete"}) {
            for (const std::string& space :
                 kind.namespaced ? std::vector<std::string>{kSpace, "default", "kube-system"}
                                 : std::vector<std::string>{""}) {
                for (const std::string& name : kind.names) {
                    // A new object has no name yet when rights are asked.
                    const bool nameless =
                        std::string_view(verb) == "create" && kind.subresource.empty();
                    all.push_back({verb, kind.group, kind.resource, kind.subresource, space,
                                   nameless ? "" : name});
                }
            }
        }
    }
    return all;
}

std::set<std::string> expand(const std::string& verbs, const std::string& what) {
    std::set<std::string> made;
    std::istringstream words(verbs);
    for (std::string verb; words >> verb;) made.insert(verb + " " + what);
    return made;
}

std::set<std::string> all_of(std::initializer_list<std::set<std::string>> parts) {
    std::set<std::string> made;
    for (const auto& part : parts) made.insert(part.begin(), part.end());
    return made;
}

TEST_P(InstallRights, TheAgentMayDoWhatIsListedAndNothingElse) {
    install({.labels = "nodefeature"});
    std::set<std::string> allowed;
    for (const Question& one : questions()) {
        if (may("aliquot-agent", one.verb, one.group, one.resource, one.subresource, one.space,
                one.name)) {
            allowed.insert(one.text());
        }
    }
    EXPECT_EQ(
        allowed,
        all_of({expand("get list watch patch", "nodes /node-a"),
                expand("patch", "nodes/status /node-a"),
                expand("get list watch", "configmaps aliquot-system/aliquot-config"),
                expand("get list watch", "configmaps aliquot-system/aliquot-mig-config"),
                expand("get patch delete", "nfd.k8s-sigs.io/nodefeatures aliquot-system/node-a"),
                expand("create", "nfd.k8s-sigs.io/nodefeatures aliquot-system/"),
                expand("create", "events.k8s.io/events default/"),
                expand("patch", "events.k8s.io/events default/e")}));
    EXPECT_FALSE(may("aliquot-agent", "list", "", "pods", "", "", ""));
    install({.mig = true, .mig_drain = "evict"});
    EXPECT_TRUE(may("aliquot-agent", "list", "", "pods", "", "", ""));
    EXPECT_TRUE(may("aliquot-agent", "create", "", "pods", "eviction", "default", "web"));
    EXPECT_FALSE(may("aliquot-agent", "delete", "", "pods", "", "default", "web"));
}

TEST_P(InstallRights, TheControllerMayDoWhatIsListedAndNothingElse) {
    install();
    std::set<std::string> allowed;
    for (const Question& one : questions()) {
        if (may("aliquot-controller", one.verb, one.group, one.resource, one.subresource, one.space,
                one.name)) {
            allowed.insert(one.text());
        }
    }
    EXPECT_EQ(allowed,
              all_of({expand("list watch", "nodes /node-a"),
                      expand("list watch patch",
                             "admissionregistration.k8s.io/mutatingwebhookconfigurations /aliquot"),
                      expand("create", "secrets aliquot-system/"),
                      expand("list watch update", "secrets aliquot-system/aliquot-webhook"),
                      expand("create", "coordination.k8s.io/leases aliquot-system/"),
                      expand("get update",
                             "coordination.k8s.io/leases aliquot-system/aliquot-controller")}));
}

TEST_P(InstallRights, ADeniedVerbIsDenied) {
    install();
    make(nodes(), "", node_json("node-a"));
    const auto agent = with_token(token_of("aliquot-agent"));
    EXPECT_TRUE(agent.api->get(nodes(), {"", "node-a"}));
    const auto removed = agent.api->remove(nodes(), {"", "node-a"});
    ASSERT_FALSE(removed);
    EXPECT_TRUE(removed.failure().is(Reason::kForbidden)) << removed.failure().message;
    const auto secrets =
        agent.api->list(kube_client::resources::secrets(), {.namespace_name = kSpace});
    ASSERT_FALSE(secrets);
    EXPECT_TRUE(secrets.failure().is(Reason::kForbidden)) << secrets.failure().message;
    const auto config =
        agent.api->patch(config_maps(), {kSpace, "aliquot-config"}, R"({"data":{"x":"y"}})");
    ASSERT_FALSE(config);
    EXPECT_TRUE(config.failure().is(Reason::kForbidden)) << config.failure().message;
    EXPECT_TRUE(agent.api->get(config_maps(), {kSpace, "aliquot-config"}));
}

TEST_P(InstallRights, ItsNamespaceMustAllowPrivilegedPods) {
    install();
    const auto daemon_set = api().get(daemon_sets(), {kSpace, "aliquot-agent"});
    const std::string spec = *kube_client::json_at(daemon_set->json, "/spec/template/spec");
    const std::string pod =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"probe"},"spec":)" + spec + "}";
    const kube_client::WriteOptions dry{.dry_run = true};
    const auto allowed = api().create(pods(), kSpace, pod, dry);
    EXPECT_TRUE(allowed) << allowed.failure().message;
    for (const char* const level : {"restricted", "baseline"}) {
        const auto label = [this](const std::string& word) {
            const auto done =
                api().patch(namespaces(), {"", kSpace},
                            R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":")" +
                                word + R"("}}})");
            EXPECT_TRUE(done) << done.failure().message;
        };
        label(level);
        auto refused = api().create(pods(), kSpace, pod, dry);
        for (int i = 0; i < 100 && refused; ++i) {  // the server's view of namespaces lags
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            refused = api().create(pods(), kSpace, pod, dry);
        }
        label("privileged");
        ASSERT_FALSE(refused) << level;
        EXPECT_TRUE(refused.failure().message.contains("violates PodSecurity"))
            << refused.failure().message;
    }
}

INSTANTIATE_TEST_SUITE_P(Cluster, InstallRights, testing::Values("Simulated", "Real"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace aliquot::install
