// SPDX-License-Identifier: Apache-2.0
#include "doctor/cluster_api.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/json_text.h"
#include "doctor/cluster.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using kube_client::Reason;

constexpr unsigned kChunk = 500;
constexpr std::size_t kMostLogs = 24;

struct Kind {
    std::string file;  // "pods": k8s/pods.json
    kube_client::Resource resource;
    unsigned most_pages = 4;
};

/// Those that every cluster has. Nodes and pods are asked for by themselves.
std::vector<Kind> known_kinds() {
    const auto of = [](std::string group, std::string version, std::string plural, std::string kind,
                       bool namespaced = true) {
        return kube_client::Resource{std::move(group), std::move(version), std::move(plural),
                                     std::move(kind), namespaced};
    };
    return {{"events", kube_client::resources::core_events(), 20},
            {"runtimeclasses", of("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false)},
            {"quotas", of("", "v1", "resourcequotas", "ResourceQuota")},
            {"limitranges", of("", "v1", "limitranges", "LimitRange")},
            {"jobs", kube_client::resources::jobs()},
            {"cronjobs", of("batch", "v1", "cronjobs", "CronJob")},
            {"deployments", kube_client::resources::deployments()},
            {"replicasets", of("apps", "v1", "replicasets", "ReplicaSet")},
            {"persistentvolumeclaims",
             of("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")}};
}

/// Those that a cluster may not have, or in another version: found by discovery.
constexpr std::array<std::pair<const char*, const char*>, 6> kFoundKinds{
    {{"clusterpolicies", "ClusterPolicy"},
     {"deviceclasses", "DeviceClass"},
     {"devicetaintrules", "DeviceTaintRule"},
     {"resourceclaims", "ResourceClaim"},
     {"resourceclaimtemplates", "ResourceClaimTemplate"},
     {"resourceslices", "ResourceSlice"}}};

/// Where device plugins and their configurations live by habit.
constexpr std::array<std::string_view, 6> kStackNamespaces{
    "aliquot-system",       "gpu-operator", "gpu-operator-resources",
    "nvidia-device-plugin", "nvidia",       "kube-system"};

bool speaks_not(const kube_client::Failure& failure) {
    return failure.is(Reason::kUnreachable) || failure.is(Reason::kUnauthorized) ||
           failure.is(Reason::kCredentials) || failure.is(Reason::kDeadline) ||
           failure.is(Reason::kStopped);
}

std::string right(std::string_view verb, const kube_client::Resource& resource,
                  std::string_view space) {
    std::string text = std::string(verb) + " " + resource.plural;
    if (!resource.group.empty()) text += "." + resource.group;
    if (!space.empty()) text += " in the namespace " + std::string(space);
    return text;
}

class Gathering {
public:
    Gathering(kube_client::Api& api, const ClusterQuestion& question, Tree& tree)
        : api_(api),
          question_(question),
          tree_(tree),
          until_(Clock::now() + question.whole_deadline) {}

    kube_client::Outcome<ClusterNotes> run() {
        if (auto done = nodes(); !done) return done.failure();
        if (auto done = pods(); !done) return done.failure();
        daemon_sets();
        for (const Kind& kind : known_kinds()) take(kind, question_.pod_namespace);
        for (const auto& [file, name] : kFoundKinds) take_found(file, name);
        config_maps();
        logs();
        return std::move(notes_);
    }

private:
    [[nodiscard]] kube_client::Call call(Milliseconds most) const {
        const auto left = std::chrono::duration_cast<Milliseconds>(until_ - Clock::now());
        return {.deadline = std::max(std::min(left, most), Milliseconds(1))};
    }

    void refuse(const std::string& file, const std::string& why) {
        tree_.add("k8s/" + file + ".json", {.kind = Entry::Kind::kUnreadable, .content = why});
    }

    /// All pages up to the bound. What was read before a failure counts, with a note.
    kube_client::Outcome<std::vector<kube_client::Object>> list(const Kind& kind,
                                                                kube_client::ListOptions options) {
        options.chunk = kChunk;
        options.keep_managed_fields = false;
        const auto kind_until = Clock::now() + question_.kind_deadline;
        std::vector<kube_client::Object> all;
        std::string token;
        for (unsigned pages = 0; pages < kind.most_pages; ++pages) {
            const auto left = std::chrono::duration_cast<Milliseconds>(kind_until - Clock::now());
            auto page = api_.list_page(kind.resource, options, token, call(left));
            if (!page && all.empty()) return std::move(page).failure();
            if (!page) {
                notes_.push_back(kind.file + ": only the first " + std::to_string(all.size()) +
                                 " were read: " + page.failure().message);
                return all;
            }
            all.insert(all.end(), std::make_move_iterator(page->items.begin()),
                       std::make_move_iterator(page->items.end()));
            token = page->next;
            if (token.empty()) return all;
        }
        notes_.push_back(kind.file + ": only the first " + std::to_string(all.size()) +
                         " were read, there are more");
        return all;
    }

    void put(const Kind& kind, const std::vector<kube_client::Object>& items) {
        std::string text = "{\"apiVersion\":" + json_quoted(kind.resource.api_version()) +
                           ",\"kind\":\"" + kind.resource.kind + "List\",\"items\":[";
        for (const kube_client::Object& one : items) {
            if (&one != &items.front()) text += ",\n";
            text += one.json;
        }
        tree_.add_text("k8s/" + kind.file + ".json", text + "]}\n");
    }

    void take(const Kind& kind, const std::string& space) {
        const std::string where = kind.resource.namespaced ? space : "";
        auto items = list(kind, {.namespace_name = where});
        if (items) return put(kind, *items);
        give_reason(kind, where, items.failure());
    }

    void give_reason(const Kind& kind, const std::string& space,
                     const kube_client::Failure& failure) {
        if (failure.is(Reason::kNotFound)) return;  // no such kind here
        refuse(kind.file, failure.is(Reason::kForbidden)
                              ? "a role must allow: " + right("list", kind.resource, space)
                              : failure.message);
    }

    void take_found(const char* file, const char* name) {
        auto resource = api_.find_resource("", name, call(question_.kind_deadline));
        if (!resource) return;
        const Kind kind{file, *resource};
        // Claims of all namespaces hold devices.
        auto items = list(kind, {});
        if (items) return put(kind, *items);
        if (!resource->namespaced || question_.pod_namespace.empty()) {
            return give_reason(kind, "", items.failure());
        }
        if (items.failure().is(Reason::kForbidden)) {
            notes_.push_back(std::string(file) + " of other namespaces: a role must allow: " +
                             right("list", *resource, "") +
                             "; which devices they hold is not known");
        }
        take(kind, question_.pod_namespace);
    }

    kube_client::Outcome<Done> nodes() {
        const Kind kind{"nodes", kube_client::resources::nodes(), 10};
        auto items = list(kind, {});
        if (items) {
            put(kind, *items);
        } else if (speaks_not(items.failure())) {
            return items.failure();
        } else {
            give_reason(kind, "", items.failure());
        }
        return Done{};
    }

    kube_client::Outcome<Done> pods() {
        const Kind kind{"pods", kube_client::resources::pods(), 40};
        const bool one = !question_.pod.empty();
        // Finished pods hold nothing; those that failed still say why.
        const std::string selector =
            one ? "status.phase!=Succeeded,status.phase!=Failed" : "status.phase!=Succeeded";
        auto items = list(kind, {.field_selector = selector});
        if (!items && one && items.failure().is(Reason::kForbidden)) {
            notes_.push_back(
                "pods of other namespaces: a role must allow: list pods; what they "
                "hold of a node is not known");
            items =
                list(kind, {.namespace_name = question_.pod_namespace, .field_selector = selector});
        }
        if (!items && !one) {
            if (speaks_not(items.failure())) return items.failure();
            give_reason(kind, "", items.failure());
            return Done{};
        }
        if (items) pods_ = std::move(*items);
        if (one) {
            if (auto done = the_pod(); !done) return done;
        }
        put(kind, pods_);
        return Done{};
    }

    /// The pod itself, though it may be finished or beyond the bound.
    kube_client::Outcome<Done> the_pod() {
        const auto is_it = [&](const kube_client::Object& pod) {
            return pod.name == question_.pod && pod.namespace_name == question_.pod_namespace;
        };
        if (std::ranges::any_of(pods_, is_it)) return Done{};
        auto pod =
            api_.get(kube_client::resources::pods(), {question_.pod_namespace, question_.pod},
                     call(question_.kind_deadline));
        if (!pod) return std::move(pod).failure();
        pods_.push_back(*std::move(pod));
        return Done{};
    }

    /// Device plugins serve pods of all namespaces from one of their own.
    void daemon_sets() {
        const Kind kind{"daemonsets", kube_client::resources::daemon_sets()};
        auto items = list(kind, {});
        if (items) return put(kind, *items);
        if (!items.failure().is(Reason::kForbidden)) return give_reason(kind, "", items.failure());
        std::vector<kube_client::Object> all;
        for (const std::string_view space : kStackNamespaces) {
            auto some = list(kind, {.namespace_name = std::string(space)});
            if (!some) continue;
            all.insert(all.end(), std::make_move_iterator(some->begin()),
                       std::make_move_iterator(some->end()));
        }
        if (all.empty()) return give_reason(kind, "", items.failure());
        notes_.push_back(
            "daemonsets of other namespaces than those of GPU stacks: a role must allow: " +
            right("list", kind.resource, ""));
        put(kind, all);
    }

    /// Those of GPU stacks only: other people's are none of our business.
    void config_maps() {
        std::set<std::string, std::less<>> spaces(kStackNamespaces.begin(), kStackNamespaces.end());
        for (const kube_client::Object& pod : pods_) {
            if (is_plugin_name(pod.name) || pod.name.contains("gpu-operator")) {
                spaces.insert(pod.namespace_name);
            }
        }
        const Kind kind{"configmaps", kube_client::resources::config_maps(), 1};
        std::vector<kube_client::Object> all;
        std::optional<kube_client::Failure> failure;
        std::string refused_in;
        for (const std::string& space : spaces) {
            auto items = list(kind, {.namespace_name = space});
            if (!items) {
                failure = std::move(items).failure();
                refused_in = space;
                continue;
            }
            all.insert(all.end(), std::make_move_iterator(items->begin()),
                       std::make_move_iterator(items->end()));
        }
        if (failure && all.empty()) return give_reason(kind, refused_in, *failure);
        put(kind, all);
    }

    /// Whether a plugin's pod has something to tell.
    static bool is_unwell(const Value& pod) {
        if (text_at(pod, {"status", "phase"}) == "Failed") return true;
        for (const Value& status : items_at(pod, {"status", "containerStatuses"})) {
            if (!is_true(at_path(status, {"ready"})) || text_at(status, {"restartCount"}) != "0") {
                return true;
            }
        }
        return false;
    }

    void logs() {
        for (const kube_client::Object& pod : pods_) {
            const bool asked =
                pod.name == question_.pod && pod.namespace_name == question_.pod_namespace;
            const bool plugin = is_plugin_name(pod.name);
            if (!asked && !plugin) continue;
            const auto body = document::parse_json(pod.json);
            if (!body || (!asked && !is_unwell(*body))) continue;
            for (const char* const statuses : {"initContainerStatuses", "containerStatuses"}) {
                for (const Value& status : items_at(*body, {"status", statuses})) {
                    const std::string name = text_at(status, {"name"});
                    if (!text_at(status, {"containerID"}).empty()) log(pod, name, false);
                    if (text_at(status, {"restartCount"}) != "0") log(pod, name, true);
                }
            }
        }
    }

    void log(const kube_client::Object& pod, const std::string& container, bool previous) {
        constexpr Milliseconds kDeadline{5'000};
        if (logs_ >= kMostLogs || no_logs_ || container.empty()) return;
        ++logs_;
        auto text = api_.get_raw(
            kube_client::path_of(kube_client::resources::pods(), pod.key(), "log") +
                "?container=" + kube_client::encode_part(container) +
                "&tailLines=300&limitBytes=262144" + (previous ? "&previous=true" : ""),
            call(kDeadline));
        if (!text && text.failure().is(Reason::kForbidden)) {
            no_logs_ = true;
            notes_.emplace_back("logs: a role must allow: get pods/log");
        }
        if (!text || text->empty()) return;  // the kubelet has none any more
        tree_.add_text("logs/" + pod.namespace_name + "/" + pod.name + "/" + container +
                           (previous ? ".previous.log" : ".log"),
                       *std::move(text));
    }

    kube_client::Api& api_;
    const ClusterQuestion& question_;
    Tree& tree_;
    Clock::time_point until_;
    ClusterNotes notes_;
    std::vector<kube_client::Object> pods_;
    std::size_t logs_ = 0;
    bool no_logs_ = false;
};

}  // namespace

kube_client::Outcome<ClusterNotes> gather_cluster(kube_client::Api& api,
                                                  const ClusterQuestion& question, Tree& tree) {
    return Gathering(api, question, tree).run();
}

}  // namespace aliquot::doctor
