// SPDX-License-Identifier: Apache-2.0
#include "install/apply.h"

#include <algorithm>

namespace aliquot::install {
namespace {

using kube_client::Outcome;
using kube_client::Reason;

constexpr std::string_view kConfigMap = "aliquot-config";
constexpr std::string_view kMigConfigMap = "aliquot-mig-config";

bool is_kept(const Manifest& one, const ApplyOptions& options) {
    if (one.kind != "ConfigMap") return false;
    return (one.name == kConfigMap && !options.replace_config) ||
           (one.name == kMigConfigMap && !options.replace_mig_config);
}

/// Whether the installation is whole without this object.
bool may_be_unknown(const Manifest& one) {
    return one.api_version.starts_with("monitoring.coreos.com/") ||
           one.kind.starts_with("ValidatingAdmissionPolicy");
}

std::string why_unknown(const Manifest& one) {
    if (one.kind.starts_with("ValidatingAdmissionPolicy")) {
        return "Kubernetes before 1.30 has no such policy: RBAC alone limits the agent";
    }
    return "the cluster has no " + one.kind + ": the Prometheus operator is not there";
}

/// Equal but for what every write changes.
bool same(const kube_client::Object& before, const kube_client::Object& after) {
    return before.resource_version == after.resource_version;
}

/// The manager in 'conflict with "kubectl-edit" using apps/v1'; the whole message when it is another.
std::string owner_of(const kube_client::Cause& cause) {
    const auto begin = cause.message.find('"');
    const auto end = begin == std::string::npos ? begin : cause.message.find('"', begin + 1);
    return end == std::string::npos ? cause.message
                                    : cause.message.substr(begin + 1, end - begin - 1);
}

/// Whether the object is ours by its labels, and all who own fields of it are `kubectl apply`, on the client's or
/// the server's side.
bool was_applied_by_kubectl(const kube_client::Object& before,
                            const kube_client::Failure& failure) {
    bool conflict = false;
    for (const kube_client::Cause& cause : failure.causes) {
        if (cause.type != "FieldManagerConflict") return false;
        const std::string owner = owner_of(cause);
        if (owner != "kubectl" && owner != "kubectl-client-side-apply") return false;
        conflict = true;
    }
    const std::string labels = "/metadata/labels/app.kubernetes.io~1";
    return conflict && kube_client::string_at(before.json, labels + "part-of") == "aliquot" &&
           kube_client::string_at(before.json, labels + "managed-by") == "aliquot";
}

}  // namespace

std::string_view to_text(Applied::What what) {
    switch (what) {
        case Applied::What::kCreated:
            return "created";
        case Applied::What::kChanged:
            return "changed";
        case Applied::What::kUnchanged:
            return "unchanged";
        case Applied::What::kKept:
            return "kept";
        case Applied::What::kSkipped:
            return "skipped";
    }
    return "unchanged";
}

ApplyResult apply(kube_client::Api& api, const std::vector<Manifest>& manifests,
                  const ApplyOptions& options) {
    ApplyResult result;
    bool namespace_there = false;
    for (const Manifest& one : manifests) {
        const auto stop = [&](kube_client::Failure failure) {
            result.stopped = ApplyFailure{.title = one.title(), .failure = std::move(failure)};
            return result;
        };
        Applied done{.manifest = one};
        const auto resource = api.find_resource(one.api_version, one.kind, options.call);
        if (!resource) {
            if (!resource.failure().is(Reason::kNotFound) || !may_be_unknown(one)) {
                return stop(resource.failure());
            }
            done.what = Applied::What::kSkipped;
            done.why = why_unknown(one);
            result.applied.push_back(std::move(done));
            continue;
        }
        const kube_client::ObjectKey key{one.namespace_name, one.name};
        const auto before = api.get(*resource, key, options.call);
        if (!before && !before.failure().is(Reason::kNotFound)) return stop(before.failure());
        if (before) done.before = before->json;
        if (one.kind == "Namespace" && before) namespace_there = true;
        if (before && is_kept(one, options)) {
            done.what = Applied::What::kKept;
            done.why = "it is there already; --config replaces it";
            result.applied.push_back(std::move(done));
            continue;
        }
        if (options.dry_run && !namespace_there && one.namespace_name == kNamespace) {
            done.what = Applied::What::kCreated;
            done.why = "not asked: the namespace is not there yet";
            result.applied.push_back(std::move(done));
            continue;
        }
        const kube_client::WriteOptions write{.dry_run = options.dry_run, .call = options.call};
        auto after = api.apply(*resource, key, to_json(one), options.force, write);
        if (!after && before && was_applied_by_kubectl(*before, after.failure())) {
            done.why = "taken over from kubectl apply";
            after = api.apply(*resource, key, to_json(one), true, write);
        }
        if (!after) return stop(after.failure());
        done.after = after->json;
        done.what = !before                 ? Applied::What::kCreated
                    : same(*before, *after) ? Applied::What::kUnchanged
                                            : Applied::What::kChanged;
        result.applied.push_back(std::move(done));
    }
    return result;
}

std::vector<std::string> conflicts(const kube_client::Failure& failure) {
    std::vector<std::string> sentences;
    for (const kube_client::Cause& cause : failure.causes) {
        if (cause.type != "FieldManagerConflict") continue;
        sentences.push_back(cause.field + " belongs to " + owner_of(cause));
    }
    return sentences;
}

Rollout read_rollout(std::string_view json) {
    const auto number = [json](std::string_view pointer) {
        const auto found = kube_client::integer_at(json, pointer);
        return static_cast<unsigned>(std::clamp<std::int64_t>(found.value_or(0), 0, 1'000'000));
    };
    return {.wished = number("/status/desiredNumberScheduled"),
            .updated = number("/status/updatedNumberScheduled"),
            .ready = number("/status/numberReady"),
            .observed = kube_client::integer_at(json, "/status/observedGeneration").value_or(-1) >=
                        kube_client::integer_at(json, "/metadata/generation").value_or(0)};
}

Outcome<Rollout> look_at_rollout(kube_client::Api& api, const kube_client::Call& call) {
    const auto found = api.get(kube_client::resources::daemon_sets(),
                               {std::string(kNamespace), "aliquot-agent"}, call);
    if (!found) return found.failure();
    return read_rollout(found->json);
}

std::vector<std::string> why_not_ready(kube_client::Api& api, const kube_client::Call& call,
                                       std::size_t limit) {
    std::vector<std::string> sentences;
    const auto pods = api.list(kube_client::resources::pods(),
                               {.namespace_name = std::string(kNamespace),
                                .label_selector = "app.kubernetes.io/name=aliquot,"
                                                  "app.kubernetes.io/component=agent"},
                               call);
    if (!pods) return {pods.failure().message};
    for (const kube_client::Object& pod : pods->items) {
        if (sentences.size() >= limit) break;
        const std::string status = "/status/containerStatuses/0/";
        if (kube_client::bool_at(pod.json, status + "ready").value_or(false)) continue;
        std::string text = "pod " + pod.name + " on " +
                           kube_client::string_at(pod.json, "/spec/nodeName").value_or("no node");
        for (const char* const state : {"state/waiting/", "state/terminated/"}) {
            const auto reason = kube_client::string_at(pod.json, status + state + "reason");
            const auto message = kube_client::string_at(pod.json, status + state + "message");
            if (reason) text += ": " + *reason;
            if (message) text += ": " + message->substr(0, 300);
        }
        const auto condition = kube_client::string_at(pod.json, "/status/conditions/0/message");
        if (!kube_client::json_at(pod.json, "/status/containerStatuses") && condition) {
            text += ": " + *condition;
        }
        sentences.push_back(std::move(text));
    }
    return sentences;
}

}  // namespace aliquot::install
