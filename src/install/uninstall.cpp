// SPDX-License-Identifier: Apache-2.0
#include "install/uninstall.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "install/host_cleaning.h"
#include "install/node_cleaning.h"
#include "install/render.h"

namespace aliquot::install {
namespace {

using Clock = std::chrono::steady_clock;
using kube_client::Reason;

constexpr std::string_view kOurs = "app.kubernetes.io/part-of=aliquot";
constexpr std::string_view kAgents =
    "app.kubernetes.io/name=aliquot,app.kubernetes.io/component=agent";

/// Kinds that we make, in the order in which they go: what calls us first, rights last.
struct Kind {
    std::string_view api_version;
    std::string_view kind;
};
constexpr std::array kKinds{
    Kind{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
    Kind{"apiregistration.k8s.io/v1", "APIService"},
    Kind{"monitoring.coreos.com/v1", "PrometheusRule"},
    Kind{"monitoring.coreos.com/v1", "ServiceMonitor"},
    Kind{"monitoring.coreos.com/v1", "PodMonitor"},
    Kind{"apps/v1", "DaemonSet"},
    Kind{"apps/v1", "Deployment"},
    Kind{"policy/v1", "PodDisruptionBudget"},
    Kind{"v1", "Service"},
    Kind{"networking.k8s.io/v1", "NetworkPolicy"},
    Kind{"resource.k8s.io/v1", "DeviceClass"},
    Kind{"v1", "ResourceQuota"},
    Kind{"v1", "ConfigMap"},
    Kind{"v1", "Secret"},
    Kind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"},
    Kind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"},
    Kind{"rbac.authorization.k8s.io/v1", "RoleBinding"},
    Kind{"rbac.authorization.k8s.io/v1", "Role"},
    Kind{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
    Kind{"rbac.authorization.k8s.io/v1", "ClusterRole"},
    Kind{"v1", "ServiceAccount"},
};

class Remover {
public:
    Remover(kube_client::Api& api, const UninstallOptions& options)
        : api_(api), options_(options) {}

    UninstallResult run() {
        look_at_agents();
        remove_agents();
        if (options_.clean_hosts) clean_hosts();
        clean_nodes();
        step("removing all objects");
        for (const Kind& kind : kKinds) remove_kind(kind);
        remove_unlabelled();
        remove_namespace();
        for (auto& [name, node] : nodes_) result_.nodes.push_back(std::move(node));
        return std::move(result_);
    }

private:
    [[nodiscard]] kube_client::Call call() const {
        return {.deadline = std::chrono::seconds(30), .stop = options_.stop};
    }

    void step(const std::string& text) const {
        if (options_.progress) options_.progress(text);
    }

    /// False when the caller's stop token ended the pause.
    bool pause() const {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        (void)never.wait_for(lock, options_.stop, std::chrono::milliseconds(500),
                             [] { return false; });
        return !options_.stop.stop_requested();
    }

    void problem(const kube_client::Failure& failure) {
        result_.problems.push_back(failure.message);
    }

    bool remove(const kube_client::Resource& resource, const kube_client::ObjectKey& key) {
        const std::string title = (resource.kind.empty() ? resource.plural : resource.kind) + " " +
                                  kube_client::to_text(key);
        const auto gone = api_.remove(resource, key, {.dry_run = options_.dry_run, .call = call()});
        if (gone) {
            result_.removed.push_back(title);
            return true;
        }
        if (!gone.failure().is(Reason::kNotFound)) problem(gone.failure());
        return false;
    }

    std::vector<kube_client::Object> pods(std::string_view selector) {
        auto found = api_.list(
            kube_client::resources::pods(),
            {.namespace_name = std::string(kNamespace), .label_selector = std::string(selector)},
            call());
        if (found) return std::move(found->items);
        problem(found.failure());
        return {};
    }

    void look_at_agents() {
        step("looking at the agents");
        const auto daemon_set = api_.get(kube_client::resources::daemon_sets(),
                                         {std::string(kNamespace), "aliquot-agent"}, call());
        values_.image = options_.image;
        if (daemon_set) read_agent(daemon_set->json);
        for (const kube_client::Object& pod : pods(kAgents)) {
            const auto node = kube_client::string_at(pod.json, "/spec/nodeName");
            if (node) hosts_.insert(*node);
        }
        const auto nodes =
            api_.list(kube_client::resources::nodes(), {.keep_managed_fields = false}, call());
        if (!nodes) return problem(nodes.failure());
        for (const kube_client::Object& node : nodes->items) {
            present_.insert(node.name);
            const auto agent =
                kube_client::string_at(node.json, "/metadata/annotations/aliquot.dev~1agent");
            if (agent) hosts_.insert(node.name);
        }
        std::erase_if(hosts_, [this](const std::string& one) { return !present_.contains(one); });
    }

    /// The clean-up pod is like the agent's.
    void read_agent(const std::string& json) {
        const std::string pod = "/spec/template/spec/";
        const auto text = [&](const std::string& pointer) {
            return kube_client::string_at(json, pod + pointer).value_or("");
        };
        if (options_.image.empty()) values_.image = text("containers/0/image");
        const std::string policy = text("containers/0/imagePullPolicy");
        if (!policy.empty()) values_.pull_policy = policy;
        values_.runtime_class = text("runtimeClassName");
        if (!kube_client::bool_at(json, pod + "containers/0/securityContext/privileged")
                 .value_or(false)) {
            values_.gpu_access = GpuAccess::kRuntime;
        }
        constexpr unsigned kMostVolumes = 30;
        constexpr std::string_view kPodResources = "/pod-resources";
        for (unsigned i = 0; i < kMostVolumes; ++i) {
            const std::string volume = "volumes/" + std::to_string(i) + "/";
            const std::string name = text(volume + "name");
            std::string path = text(volume + "hostPath/path");
            if (name == "driver-root") values_.driver_root = path;
            if (name == "pod-resources" && path.ends_with(kPodResources)) {
                path.resize(path.size() - kPodResources.size());
                values_.kubelet_root = path;
            }
        }
    }

    void remove_agents() {
        step("removing the agents");
        const bool had = remove(kube_client::resources::daemon_sets(),
                                {std::string(kNamespace), "aliquot-agent"});
        had_agents_ = had;
        if (options_.dry_run || (!had && hosts_.empty())) return;
        const auto until = Clock::now() + options_.limit;
        for (;;) {
            const auto left = pods(kAgents);
            if (left.empty() || !pause()) return;
            if (Clock::now() >= until) {
                result_.problems.push_back(
                    "pods of the agent still run after " + std::to_string(options_.limit.count()) +
                    " s, as " + left.front().name + ": is its node up? Run uninstall again");
                return;
            }
        }
    }

    void clean_hosts() {
        if (hosts_.empty()) return;
        step("cleaning up on " + std::to_string(hosts_.size()) + " nodes");
        if (options_.dry_run) {
            for (const std::string& node : hosts_) of(node).host = "would be cleaned";
            return;
        }
        for (auto& [node, answer] :
             install::clean_hosts(api_, values_, hosts_, options_.limit, options_.stop)) {
            of(node).host = answer.clean ? "cleaned" : "not cleaned: " + answer.why;
            if (answer.clean) continue;
            unclean_.insert(node);
            result_.remains.push_back(std::move(answer.remains));
        }
    }

    CleanedNode& of(const std::string& name) {
        CleanedNode& node = nodes_[name];
        node.name = name;
        return node;
    }

    void clean_nodes() {
        step("taking labels, taints and conditions off the nodes");
        for (const std::string& name : present_) {
            constexpr unsigned kTries = 5;  // somebody else may change the node meanwhile
            for (unsigned i = 0; i < kTries; ++i) {
                const auto tried = clean_one(name);
                if (tried) break;
                if (tried.failure().is(Reason::kConflict) && i + 1 < kTries) continue;
                if (!tried.failure().is(Reason::kNotFound)) problem(tried.failure());
                break;
            }
        }
    }

    kube_client::Outcome<Done> clean_one(const std::string& name) {
        const auto& resource = kube_client::resources::nodes();
        const auto node = api_.get(resource, {{}, name}, call());
        if (!node) return node.failure();
        // A node whose host is not clean keeps the mark by which the next uninstall finds it.
        auto cleaning =
            clean_node(node->json, unclean_.contains(name) ? AgentMark::kStays : AgentMark::kGoes);
        // kubelet puts back what it has not forgotten, some minutes after the agent's end.
        const auto offered = gpu_resources(node->json);
        if (had_agents_ && hosts_.contains(name) && !offered.empty()) {
            listed_[name] = offered.front().name;
            if (cleaning) cleaning->resources_patch.clear();
        }
        if (!cleaning) return Done{};
        const kube_client::WriteOptions write{.dry_run = options_.dry_run, .call = call()};
        if (!cleaning->patch.empty()) {
            const auto done = api_.patch(resource, {{}, name}, cleaning->patch, {.write = write});
            if (!done) return done.failure();
        }
        if (!cleaning->status_patch.empty()) {
            kube_client::PatchOptions patch{.kind = kube_client::PatchKind::kStrategic,
                                            .write = write};
            patch.write.subresource = "status";
            const auto done = api_.patch(resource, {{}, name}, cleaning->status_patch, patch);
            if (!done) return done.failure();
        }
        if (!cleaning->resources_patch.empty()) {
            kube_client::PatchOptions patch{.write = write};
            patch.write.subresource = "status";
            const auto done = api_.patch(resource, {{}, name}, cleaning->resources_patch, patch);
            if (!done) return done.failure();
            for (const std::string& one : cleaning->resources)
                cleaning->removed.push_back("resource " + one);
        }
        if (!cleaning->removed.empty()) of(name).removed = std::move(cleaning->removed);
        return Done{};
    }

    void remove_kind(const Kind& kind) {
        const auto resource = api_.find_resource(kind.api_version, kind.kind, call());
        if (!resource) {
            if (!resource.failure().is(Reason::kNotFound)) problem(resource.failure());
            return;
        }
        const auto all = api_.list(*resource, {.label_selector = std::string(kOurs)}, call());
        if (!all) return problem(all.failure());
        for (const kube_client::Object& one : all->items) {
            if (kind.kind == "ConfigMap" && options_.keep_config) {
                result_.kept.push_back("ConfigMap " + kube_client::to_text(one.key()));
            } else if (!std::ranges::count(result_.removed, std::string(kind.kind) + " " +
                                                                kube_client::to_text(one.key()))) {
                remove(*resource, one.key());
            }
        }
    }

    /// What the controller made itself.
    void remove_unlabelled() {
        remove(kube_client::resources::secrets(), {std::string(kNamespace), "aliquot-webhook"});
        remove(kube_client::resources::leases(), {std::string(kNamespace), "aliquot-controller"});
    }

    void remove_namespace() {
        const kube_client::ObjectKey key{{}, std::string(kNamespace)};
        if (options_.keep_config && !result_.kept.empty()) {
            result_.kept.push_back("Namespace " + key.name);
        } else {
            step("removing the namespace");
            if (remove(kube_client::resources::namespaces(), key) && !options_.dry_run) {
                wait_for_namespace(key);
            }
        }
        for (const auto& [node, resource] : listed_) {
            result_.remains.push_back(
                "node " + node + " lists " + resource +
                ", with 0: kubelet forgets a resource 5 minutes after the agent's end, and the "
                "Node "
                "keeps its name; run uninstall again after that to take it off");
        }
    }

    void wait_for_namespace(const kube_client::ObjectKey& key) {
        const auto until = Clock::now() + options_.limit;
        for (;;) {
            const auto found = api_.get(kube_client::resources::namespaces(), key, call());
            if (!found || !pause()) return;
            if (Clock::now() >= until) {
                result_.remains.push_back(
                    "Namespace " + key.name +
                    " is being removed; what holds it up: kubectl describe namespace " + key.name);
                return;
            }
        }
    }

    kube_client::Api& api_;
    const UninstallOptions& options_;
    UninstallResult result_;
    Values values_;
    std::set<std::string> hosts_;                // where agents run or ran
    std::set<std::string> present_;              // all nodes
    std::set<std::string> unclean_;              // hosts that keep files
    std::map<std::string, std::string> listed_;  // node -> a resource that its kubelet still knows
    bool had_agents_ = false;                    // until this run
    std::map<std::string, CleanedNode> nodes_;
};

}  // namespace

UninstallResult uninstall(kube_client::Api& api, const UninstallOptions& options) {
    return Remover(api, options).run();
}

}  // namespace aliquot::install
