// SPDX-License-Identifier: Apache-2.0
#include "doctor/cluster.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "doctor/text.h"
#include "k8s/label_selector.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"

namespace aliquot::doctor {
namespace {

constexpr std::size_t kLastLines = 400;  // of a container's log
constexpr std::size_t kMostSaid = 50'000;

/// "k8s/resourcequotas.json" when the objects do not say their kind.
std::string kind_of_file(std::string_view path) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kKinds{
        {{"nodes", "Node"},
         {"pods", "Pod"},
         {"events", "Event"},
         {"daemonsets", "DaemonSet"},
         {"configmaps", "ConfigMap"},
         {"runtimeclasses", "RuntimeClass"},
         {"clusterpolicies", "ClusterPolicy"},
         {"clusterpolicy", "ClusterPolicy"},
         {"quotas", "ResourceQuota"},
         {"resourcequotas", "ResourceQuota"},
         {"jobs", "Job"},
         {"cronjobs", "CronJob"},
         {"deployments", "Deployment"},
         {"replicasets", "ReplicaSet"},
         {"deviceclasses", "DeviceClass"},
         {"devicetaintrules", "DeviceTaintRule"},
         {"resourceslices", "ResourceSlice"},
         {"resourceclaims", "ResourceClaim"},
         {"resourceclaimtemplates", "ResourceClaimTemplate"},
         {"limitranges", "LimitRange"},
         {"persistentvolumeclaims", "PersistentVolumeClaim"},
         {"priorityclasses", "PriorityClass"},
         {"networkpolicies", "NetworkPolicy"},
         {"persistentvolumes", "PersistentVolume"}}};
    path = path.substr(path.rfind('/') + 1);
    path = path.substr(0, path.rfind('.'));
    for (const auto& [file, kind] : kKinds) {
        if (path == file) return std::string(kind);
    }
    return {};
}

class ClusterReader {
public:
    explicit ClusterReader(const Tree& tree) : tree_(tree) {}

    ClusterFacts run() {
        for (const auto& [path, entry] : tree_.entries()) {
            if (!path.starts_with("k8s/")) continue;
            if (entry.kind == Entry::Kind::kUnreadable) refuse(path, entry.content);
            if (entry.kind != Entry::Kind::kFile) continue;
            if (!path.ends_with(".json") && !path.ends_with(".yaml") && !path.ends_with(".yml")) {
                continue;
            }
            if (entry.cut) {
                facts_.problems.push_back(path +
                                          ": longer than 32 MiB, of which a part tells "
                                          "nothing; expected fewer objects, of one namespace "
                                          "or node for instance");
                continue;
            }
            auto root = document::parse_object(entry.content);
            if (!root) {
                facts_.problems.push_back(path + ": " + root.error().message);
                continue;
            }
            const std::string kind = kind_of_file(path);
            if (!kind.empty()) facts_.objects.try_emplace(kind);
            take(std::move(*root), path, kind);
        }
        facts_.known = !facts_.objects.empty();
        logs();
        for (const Object& event : facts_.all("Event")) take_event(event);
        for (const Object& pod : facts_.all("Pod")) take_pod(pod);
        for (const ContainerLog& log : facts_.logs) take_log(log);
        return std::move(facts_);
    }

private:
    void refuse(const std::string& path, const std::string& why) {
        facts_.refused.emplace(kind_of_file(path), why);
        facts_.problems.push_back(path + ": " + why);
    }

    void take(Value node, const std::string& path, const std::string& kind) {
        if (node.is_sequence()) {
            for (Value& item : node.items) take(std::move(item), path, kind);
            return;
        }
        if (!node.is_mapping()) return;
        const std::string own = text_at(node, {"kind"});
        if (own.ends_with("List")) {
            const std::string of_items = own == "List" ? kind : own.substr(0, own.size() - 4);
            if (!of_items.empty()) facts_.objects.try_emplace(of_items);
            for (Value::Entry& entry : node.entries) {
                if (entry.first.scalar == "items") take(std::move(entry.second), path, of_items);
            }
            return;
        }
        if (own.empty() && node.find("items") != nullptr && node.find("metadata") == nullptr) {
            for (Value::Entry& entry : node.entries) {
                if (entry.first.scalar == "items") take(std::move(entry.second), path, kind);
            }
            return;
        }
        Object object{.kind = own.empty() ? kind : own, .path = path};
        object.name = text_at(node, {"metadata", "name"});
        object.space = text_at(node, {"metadata", "namespace"});
        object.body = std::move(node);
        if (!object.kind.empty()) facts_.objects[object.kind].push_back(std::move(object));
    }

    void logs() {
        for (const auto& [path, entry] : tree_.entries()) {
            if (!path.starts_with("logs/") || entry.kind != Entry::Kind::kFile) continue;
            const auto parts = split(path, '/');
            std::string pod;
            if (parts.size() >= 4) pod = std::string(parts[1]) + "/" + std::string(parts[2]);
            if (parts.size() == 3) {
                pod = std::string(parts[1]) + "/" +
                      std::string(parts[2].substr(0, parts[2].rfind('.')));
            }
            if (parts.size() == 2) pod = std::string(parts[1].substr(0, parts[1].rfind('.')));
            std::string container(parts.back());
            if (container.ends_with(".log")) container.resize(container.size() - 4);
            facts_.logs.push_back({pod, container, path, &entry.content});
        }
    }

    void say(std::string pod, std::string_view text, const std::string& path, unsigned line) {
        if (facts_.said.size() >= kMostSaid || trim(text).empty()) return;
        facts_.said.push_back({std::move(pod), std::string(text.substr(0, 2000)), path, line});
    }

    void take_event(const Object& event) {
        const Value* object = at_path(event.body, {"involvedObject"});
        if (object == nullptr) object = at_path(event.body, {"regarding"});
        std::string pod;
        if (text_at(object, {"kind"}) == "Pod") {
            pod = text_at(object, {"namespace"}) + "/" + text_at(object, {"name"});
        }
        const Value* message = at_path(event.body, {"message"});
        if (message == nullptr) message = at_path(event.body, {"note"});
        if (message == nullptr) return;
        const std::string reason = text_at(event.body, {"reason"});
        const std::size_t before = facts_.said.size();
        say(pod, (reason.empty() ? "" : reason + ": ") + text_of(message), event.path,
            message->mark.line);
        const bool of_node = text_at(object, {"kind"}) == "Node";
        if (of_node && facts_.said.size() > before) {
            facts_.said.back().node = text_at(object, {"name"});
        }
    }

    void take_state(const std::string& pod, const std::string& path, const Value& status) {
        for (const char* const when : {"state", "lastState"}) {
            for (const char* const how : {"waiting", "terminated"}) {
                const Value* const state = at_path(status, {when, how});
                if (state == nullptr) continue;
                const Value* const message = state->find("message");
                const Value* const reason = state->find("reason");
                if (reason == nullptr && message == nullptr) continue;
                say(pod, text_of(reason) + ": " + text_of(message), path,
                    (message != nullptr ? message : reason)->mark.line);
            }
        }
    }

    /// What the scheduler wrote into the pod stays when its events are gone (after an hour).
    void take_scheduler(const Object& pod) {
        for (const Value& condition : items_at(pod.body, {"status", "conditions"})) {
            const Value* const message = condition.find("message");
            if (message == nullptr || text_at(condition, {"type"}) != "PodScheduled" ||
                text_at(condition, {"status"}) != "False") {
                continue;
            }
            say(pod.id(), text_at(condition, {"reason"}) + ": " + text_of(message), pod.path,
                message->mark.line);
        }
    }

    void take_pod(const Object& pod) {
        for (const char* const list :
             {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
            for (const Value& status : items_at(pod.body, {"status", list})) {
                take_state(pod.id(), pod.path, status);
            }
        }
        take_scheduler(pod);
        const std::string reason = text_at(pod.body, {"status", "reason"});
        if (const Value* const message = at_path(pod.body, {"status", "message"})) {
            say(pod.id(), reason + ": " + text_of(message), pod.path, message->mark.line);
        }
    }

    /// The last lines: what a container said before it ended.
    void take_log(const ContainerLog& log) {
        const auto lines = static_cast<std::size_t>(std::ranges::count(*log.text, '\n')) + 1;
        for_each_line(*log.text, [&](std::string_view line, unsigned number) {
            if (number + kLastLines >= lines || number <= 50) {
                say(log.pod, line, log.path, number);
            }
        });
    }

    const Tree& tree_;
    ClusterFacts facts_;
};

}  // namespace

const std::vector<Object>& ClusterFacts::all(std::string_view kind) const {
    static const std::vector<Object> kNone;
    const auto found = objects.find(kind);
    return found == objects.end() ? kNone : found->second;
}

const Object* ClusterFacts::find(std::string_view kind, std::string_view space,
                                 std::string_view name) const {
    for (const Object& one : all(kind)) {
        if (one.name == name && one.space == space) return &one;
    }
    return nullptr;
}

std::vector<const Object*> ClusterFacts::pods_on(std::string_view node) const {
    std::vector<const Object*> pods;
    const auto found = pods_by_node.find(node);
    if (found == pods_by_node.end()) return pods;
    for (const std::size_t at : found->second) pods.push_back(&all("Pod")[at]);
    return pods;
}

void index_pods(ClusterFacts& facts) {
    facts.pods_by_node.clear();
    const auto& pods = facts.all("Pod");
    for (std::size_t i = 0; i < pods.size(); ++i) {
        const std::string node = node_of(pods[i]);
        if (!node.empty() && !is_finished(pods[i])) facts.pods_by_node[node].push_back(i);
    }
}

ClusterFacts cluster_of(const Tree& tree) {
    ClusterFacts facts = ClusterReader(tree).run();
    index_pods(facts);
    for (const auto& [node, pods] : facts.pods_by_node) {
        auto& held = facts.held[node];
        for (const std::size_t at : pods) {
            for (const auto& [name, count] : requests(facts.all("Pod")[at])) held[name] += count;
            held["pods"] += 1;
        }
    }
    return facts;
}

std::vector<const Value*> containers_of(const Object& pod) {
    std::vector<const Value*> all;
    for (const char* const list : {"initContainers", "containers"}) {
        for (const Value& one : items_at(pod.body, {"spec", list})) all.push_back(&one);
    }
    return all;
}

std::map<std::string, double> requests(const Object& pod) {
    return k8s::read_pod(pod.body).requests();
}

std::map<std::string, double> gpu_requests(const Object& pod) {
    auto all = requests(pod);
    std::erase_if(
        all, [](const auto& one) { return !k8s::is_nvidia_gpu(one.first) || one.second <= 0; });
    return all;
}

std::string phase_of(const Object& pod) { return text_at(pod.body, {"status", "phase"}); }

std::string node_of(const Object& pod) { return text_at(pod.body, {"spec", "nodeName"}); }

bool is_finished(const Object& pod) {
    const std::string phase = phase_of(pod);
    return phase == "Succeeded" || phase == "Failed";
}

std::map<std::string, std::string> labels_of(const Object& object) {
    return k8s::read_labels(at_path(object.body, {"metadata", "labels"}));
}

std::string environment_of(const Value& container, std::string_view name) {
    for (const Value& entry : items_at(container, {"env"})) {
        if (text_at(entry, {"name"}) == name) return text_at(entry, {"value"});
    }
    return {};
}

bool is_gpu_node(const Object& node) {
    for (const char* const list : {"capacity", "allocatable"}) {
        for (const Value::Entry& entry : entries_at(node.body, {"status", list})) {
            if (k8s::is_nvidia_gpu(entry.first.scalar)) return true;
        }
    }
    for (const auto& [name, value] : labels_of(node)) {
        if ((name == "nvidia.com/gpu.present" ||
             name.starts_with("feature.node.kubernetes.io/pci-10de") ||
             (name.starts_with("feature.node.kubernetes.io/pci-") && name.contains("10de"))) &&
            value == "true") {
            return true;
        }
    }
    return false;
}

bool is_plugin_name(std::string_view name) {
    const bool plugin = name.contains("device-plugin");
    return (plugin && (name.contains("nvidia") || name.contains("gpu") || name.contains("hami") ||
                       name.contains("volcano"))) ||
           name.contains("aliquot-agent");
}

}  // namespace aliquot::doctor
