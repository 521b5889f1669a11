// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json_text.h"
#include "base/thread_pool.h"
#include "verify/session.h"

namespace aliquot::verify {
namespace {

constexpr const char* kOwner = "aliquot-verify";

/// With the strictest Pod Security profile that the test pods fit, unless another one is asked for.
std::string space_json(const Options& options) {
    const std::string& name = options.space;
    std::string level = options.pod_security;
    if (level.empty()) level = options.user == 0 ? "baseline" : "restricted";
    return R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":)" + json_quoted(name) +
           R"(,"labels":{"app.kubernetes.io/managed-by":")" + kOwner +
           R"(","pod-security.kubernetes.io/enforce":")" + level + R"("}}})";
}

/// The namespace of the test pods, for as long as it is needed.
class Space {
public:
    explicit Space(Session& session) : session_(session) {}
    ~Space() {
        if (!ours_) return;
        const auto gone =
            session_.api.remove(kube_client::resources::namespaces(), {"", session_.options.space},
                                {.call = session_.last_call()});
        if (gone || gone.failure().is(kube_client::Reason::kNotFound)) {
            session_.ok("clean-up", "", "namespace " + session_.options.space + " is removed");
        } else {
            session_.failed("clean-up", "", gone.failure().message, "",
                            "kubectl delete namespace " + session_.options.space);
        }
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    /// False: it was said why there is none.
    bool make() {
        const std::string& name = session_.options.space;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(90);
        while (true) {
            const auto made =
                session_.api.create(kube_client::resources::namespaces(), "",
                                    space_json(session_.options), {.call = session_.call()});
            if (made) return ours_ = true;
            if (!made.failure().is(kube_client::Reason::kAlreadyExists)) {
                session_.failed("namespace", "", made.failure().message, "",
                                "the right needed is: create namespaces");
                return false;
            }
            const auto present =
                session_.api.get(kube_client::resources::namespaces(), {"", name}, session_.call());
            if (present && !is_leftover(*present)) {
                session_.failed("namespace", "",
                                "namespace " + name + " is there already and not ours", "",
                                "name another one: --namespace NAME");
                return false;
            }
            if (!session_.pause()) {
                session_.skipped("namespace", "", "stopped");
                return false;
            }
            if (std::chrono::steady_clock::now() > until) {
                session_.failed("namespace", "",
                                "namespace " + name + " of an earlier run does not go away", "",
                                "kubectl get namespace " + name + " -o yaml");
                return false;
            }
        }
    }

private:
    /// Of an earlier run: gone in a moment.
    bool is_leftover(const kube_client::Object& present) {
        const auto meta = kube_client::read_metadata(present.json);
        if (!meta) return false;
        const auto owner = meta->labels.find("app.kubernetes.io/managed-by");
        if (owner == meta->labels.end() || owner->second != kOwner) return false;
        if (!meta->deleting) {
            (void)session_.api.remove(kube_client::resources::namespaces(), present.key(),
                                      {.call = session_.call()});
        }
        return true;
    }

    Session& session_;
    bool ours_ = false;
};

void look_at_nodes(Session& session, const std::vector<node::GpuNode>& nodes) {
    for_each_in_parallel(nodes.size(), std::max(1U, session.options.nodes_at_once),
                         [&](std::size_t i) {
                             if (!session.stop.stop_requested()) look_at_node(session, nodes[i]);
                         });
}

}  // namespace

Report run(kube_client::Api& api, const Options& options, std::stop_token stop,
           const std::function<void(const Step&)>& on_step) {
    Session session(api, options, std::move(stop), on_step);
    Report report;
    const auto nodes = look_at_cluster(session);
    report.could_look = !session.has("nodes", "", Verdict::kFailed) ||
                        static_cast<bool>(api.get_raw("/version", session.call()));
    if (!nodes.empty() && !session.stop.stop_requested()) {
        Space space(session);
        if (space.make()) look_at_nodes(session, nodes);
    }
    report.stopped = session.stop.stop_requested();
    report.steps = session.take_steps();
    std::ranges::stable_sort(report.steps, {}, &Step::node);
    return report;
}

}  // namespace aliquot::verify
