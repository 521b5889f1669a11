// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/kubelets.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/json_value.h"
#include "base/time_text.h"
#include "kube_client/informer.h"
#include "kube_client/object.h"
#include "kube_client/work_queue.h"
#include "scheduling/gpu_pod.h"
#include "sim/fleet/node_lease.h"
#include "sim/fleet/pod_status.h"

namespace aliquot::sim::fleet {
namespace {

using Json = nlohmann::json;
using kube_client::ObjectKey;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
namespace resources = kube_client::resources;

constexpr char kFieldManager[] = "kubelet";
constexpr std::chrono::seconds kCall{10};

kube_client::PatchOptions patch_of(std::string subresource) {
    return {.write = {.field_manager = kFieldManager,
                      .subresource = std::move(subresource),
                      .call = {.deadline = kCall}}};
}

std::string now_text() { return rfc3339(std::chrono::system_clock::now()); }

bool is_done(const kube_client::Outcome<kube_client::Object>& written) {
    return written || written.failure().reason == kube_client::Reason::kNotFound;
}

}  // namespace

class Kubelets::Work {
public:
    Work(kube_client::Api& api, const KubeletOptions& options)
        : api_(api),
          options_(options),
          pods_(api, resources::pods(), {.field_selector = "spec.nodeName!="},
                [this](const ObjectKey& key, const auto&, const auto&) { (void)queue_.add(key); }) {
    }

    Result<Done> add(LightNode node, const std::string& zone) {
        const auto made = api_.create(resources::nodes(), "", node.object(zone));
        if (!made) return Error{ErrorCode::kUnavailable, made.failure().message};
        const std::string name = node.name();
        const std::scoped_lock lock(mutex_);
        nodes_.emplace(name, Place{.node = std::move(node)});
        (void)queue_.add({"", name});
        return Done{};
    }

    void start() {
        pods_.start();
        for (unsigned i = 0; i < options_.workers; ++i)
            threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
        if (options_.heartbeat.count() > 0)
            threads_.emplace_back([this](const std::stop_token& stop) { beat(stop); });
    }
    void stop() { threads_.clear(); }

    /// Changes a node and lets everything about it be looked at again.
    template <class Change>
    void change(const std::string& name, const Change& change) {
        std::vector<ObjectKey> keys{{"", name}};
        {
            const std::scoped_lock lock(mutex_);
            const auto place = nodes_.find(name);
            if (place == nodes_.end()) return;
            change(place->second);
            for (const auto& [key, seen] : seen_) {
                if (seen.node == name) keys.push_back(key);
            }
        }
        for (const ObjectKey& key : keys) (void)queue_.add(key);
        for (const auto& pod : pods_.store().all()) {
            if (kube_client::string_at(pod->json, "/spec/nodeName") == name)
                (void)queue_.add(pod->key());
        }
    }

    void visit(const std::function<void(const LightNode&, bool)>& look) const {
        const std::scoped_lock lock(mutex_);
        for (const auto& [name, place] : nodes_) look(place.node, place.lost_at.has_value());
    }

private:
    friend class Kubelets;
    struct Place {
        LightNode node;
        std::optional<Steady::time_point> lost_at;
        bool is_marked = true;  // the API server's Node has taints; a new one is not ready
    };
    struct Seen {
        std::string uid;
        std::string node;
        std::optional<Steady::time_point> starts;  // admitted
        std::optional<Steady::time_point> ends;
    };

    void run(const std::stop_token& stop);
    void beat(const std::stop_token& stop);
    bool tend_node(const std::string& name);
    bool mark(const std::string& name, bool lost);
    bool evict(const std::string& name);
    bool tend_pod(const ObjectKey& key);
    void forget(const ObjectKey& key);
    bool begin(const ObjectKey& key, const scheduling::GpuPod& pod);
    bool go_on(const ObjectKey& key, const kube_client::Object& object);
    bool write_status(const ObjectKey& key, const std::string& uid, const std::string& patch);
    static std::vector<std::string> containers_of(const std::string& json);

    kube_client::Api& api_;
    const KubeletOptions options_;
    kube_client::WorkQueue queue_;  // pods; nodes without a namespace
    mutable std::mutex mutex_;
    std::map<std::string, Place> nodes_;
    std::map<ObjectKey, Seen> seen_;
    kube_client::Informer pods_;
    std::vector<std::jthread> threads_;  // last: they use the others
};

// ---- nodes ----------------------------------------------------------------------------------------

/// Says on the Node that it is lost or back, as kube-controller-manager does.
bool Kubelets::Work::mark(const std::string& name, bool lost) {
    const Json taints =
        lost ? Json::array({{{"key", "node.kubernetes.io/unreachable"}, {"effect", "NoExecute"}},
                            {{"key", "node.kubernetes.io/unreachable"}, {"effect", "NoSchedule"}}})
             : Json(nullptr);
    const Json spec{{"spec", {{"taints", taints}}}};
    if (!is_done(api_.patch(resources::nodes(), {"", name}, dumped(spec), patch_of(""))))
        return false;
    if (!lost) return true;
    const Json unknown{{"type", "Ready"},
                       {"status", "Unknown"},
                       {"reason", "NodeStatusUnknown"},
                       {"message", "Kubelet stopped posting node status."}};
    const Json status{{"status", {{"conditions", Json::array({unknown})}}}};
    return is_done(api_.patch(resources::nodes(), {"", name}, dumped(status), patch_of("status")));
}

/// The pods of a lost node are deleted; without its kubelet they stay for as long as it is away.
bool Kubelets::Work::evict(const std::string& name) {
    bool all = true;
    for (const auto& pod : pods_.store().all()) {
        if (kube_client::string_at(pod->json, "/spec/nodeName") != name ||
            kube_client::string_at(pod->json, "/metadata/deletionTimestamp"))
            continue;
        const auto gone =
            api_.remove(resources::pods(), pod->key(), {.uid = pod->uid, .call = {kCall}});
        all = all && (gone || gone.failure().reason == kube_client::Reason::kNotFound);
    }
    return all;
}

bool Kubelets::Work::tend_node(const std::string& name) {
    std::string status;
    std::string told;
    bool lost = false;
    bool mark_it = false;
    milliseconds until_evicted{0};
    {
        const std::scoped_lock lock(mutex_);
        const auto found = nodes_.find(name);
        if (found == nodes_.end()) return true;
        const Place& place = found->second;
        lost = place.lost_at.has_value();
        mark_it = lost != place.is_marked;
        if (lost) {
            const auto since =
                std::chrono::duration_cast<milliseconds>(Steady::now() - *place.lost_at);
            until_evicted = std::max(milliseconds{0}, options_.evict_after - since);
        } else {
            status = place.node.status();
            if (place.node.has_agent()) told = place.node.told();
        }
    }
    if (mark_it) {
        if (!mark(name, lost)) return false;
        const std::scoped_lock lock(mutex_);
        nodes_.at(name).is_marked = lost;
    }
    if (lost) {
        if (until_evicted.count() > 0) {
            (void)queue_.add_after({"", name}, until_evicted);
            return true;
        }
        return evict(name);
    }
    if (!is_done(api_.patch(resources::nodes(), {"", name}, status, patch_of("status"))))
        return false;
    return told.empty() || is_done(api_.patch(resources::nodes(), {"", name}, told, patch_of("")));
}

void Kubelets::Work::beat(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    while (!stop.stop_requested()) {
        std::vector<std::string> up;
        visit([&](const LightNode& node, bool is_lost) {
            if (!is_lost) up.push_back(node.name());
        });
        for (const std::string& name : up) {
            if (stop.stop_requested()) return;
            renew_lease(api_, name);
        }
        std::unique_lock lock(mutex);
        changed.wait_for(lock, stop, options_.heartbeat, [] { return false; });
    }
}

// ---- pods -----------------------------------------------------------------------------------------

std::vector<std::string> Kubelets::Work::containers_of(const std::string& json) {
    std::vector<std::string> names;
    const Json pod = parse_json<Json>(json);
    const auto containers = pod.is_object() && pod.contains("spec")
                                ? pod["spec"].value("containers", Json::array())
                                : Json::array();
    for (const Json& one : containers) names.push_back(one.value("name", ""));
    return names;
}

bool Kubelets::Work::write_status(const ObjectKey& key, const std::string& uid,
                                  const std::string& patch) {
    Json body = parse_json<Json>(patch);
    body["metadata"]["uid"] = uid;  // another pod of this name is refused; the watch tells of it
    return is_done(api_.patch(resources::pods(), key, dumped(body), patch_of("status")));
}

void Kubelets::Work::forget(const ObjectKey& key) {
    const std::scoped_lock lock(mutex_);
    const auto seen = seen_.find(key);
    if (seen == seen_.end()) return;
    const auto place = nodes_.find(seen->second.node);
    if (place != nodes_.end()) {
        if (place->second.lost_at) return;  // its kubelet does not know yet
        if (place->second.node.release(seen->second.uid)) (void)queue_.add({"", seen->second.node});
    }
    seen_.erase(seen);
}

/// Admission and start.
bool Kubelets::Work::begin(const ObjectKey& key, const scheduling::GpuPod& pod) {
    Result<Done> admitted = Done{};
    {
        const std::scoped_lock lock(mutex_);
        Place& place = nodes_.at(pod.node);
        std::vector<LightNode::Asked> asked;
        for (const auto& one : pod.devices)
            asked.push_back({one.container, one.resource, one.count});
        admitted = place.node.admit(pod.uid, asked);
        if (admitted) {
            seen_.at(key).starts = Steady::now() + options_.start_delay;
            (void)queue_.add({"", pod.node});
        }
    }
    if (!admitted)
        return write_status(key, pod.uid, refused_status(admitted.error().message, now_text()));
    (void)queue_.add_after(key, options_.start_delay);
    return true;
}

/// What comes with time: Running, and the end of a pod that says how long it runs.
bool Kubelets::Work::go_on(const ObjectKey& key, const kube_client::Object& object) {
    const auto now = Steady::now();
    bool starts = false;
    bool ends = false;
    milliseconds wait{0};
    {
        const std::scoped_lock lock(mutex_);
        Seen& seen = seen_.at(key);
        if (!seen.starts) return true;
        starts = now >= *seen.starts;
        if (!starts) wait = std::chrono::ceil<milliseconds>(*seen.starts - now);
        if (starts && !seen.ends) {
            const auto text = kube_client::string_at(
                object.json, "/metadata/annotations/sim.aliquot.dev~1run-for");
            const auto length = text ? parse_duration(*text) : std::nullopt;
            if (length) seen.ends = *seen.starts + *length;
        }
        ends = seen.ends && now >= *seen.ends;
        if (starts && seen.ends && !ends) wait = std::chrono::ceil<milliseconds>(*seen.ends - now);
    }
    if (wait.count() > 0) (void)queue_.add_after(key, wait);
    if (!starts) return true;
    const bool runs = kube_client::string_at(object.json, "/status/phase") == "Running";
    if (ends)
        return write_status(key, object.uid,
                            succeeded_status(containers_of(object.json), now_text()));
    return runs ||
           write_status(key, object.uid, running_status(containers_of(object.json), now_text()));
}

bool Kubelets::Work::tend_pod(const ObjectKey& key) {
    const auto object = pods_.store().find(key);
    const auto pod = object ? scheduling::read_gpu_pod(object->json)
                            : Result<scheduling::GpuPod>(Error{ErrorCode::kNotFound, ""});
    if (!pod) {
        forget(key);
        return true;
    }
    bool holds = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto known = seen_.find(key);
        const bool is_other = known != seen_.end() && known->second.uid != pod->uid;
        const auto place = nodes_.find(pod->node);
        if (place == nodes_.end() || place->second.lost_at) return true;
        if (is_other) {
            const auto before = nodes_.find(known->second.node);
            if (before != nodes_.end() && before->second.node.release(known->second.uid))
                (void)queue_.add({"", before->first});
            seen_.erase(known);
        }
        Seen& seen = seen_[key];
        seen.uid = pod->uid;
        seen.node = pod->node;
        LightNode& node = place->second.node;
        if (pod->is_over || pod->is_leaving) {
            if (node.release(pod->uid)) (void)queue_.add({"", pod->node});
        } else if (const auto plan = scheduling::parse_plan(pod->plan)) {
            node.plan(pod->uid, pod->created, *plan);
        }
        holds = seen.starts.has_value();
    }
    if (pod->is_leaving) {
        const auto gone = api_.remove(resources::pods(), key,
                                      {.uid = pod->uid, .grace_seconds = 0, .call = {kCall}});
        return gone || gone.failure().reason == kube_client::Reason::kNotFound;
    }
    if (pod->is_over) return true;
    return holds ? go_on(key, *object) : begin(key, *pod);
}

void Kubelets::Work::run(const std::stop_token& stop) {
    while (const auto key = queue_.take(stop)) {
        const bool is_node = key->namespace_name.empty();
        const bool done = is_node ? tend_node(key->name) : tend_pod(*key);
        if (!done) {
            (void)queue_.retry(*key);
            continue;
        }
        queue_.done(*key);
        // A request whose connection broke may come to the API server after the next one.
        if (is_node) (void)queue_.add_after(*key, options_.look_again);
    }
}

// ---- what is asked from outside ------------------------------------------------------------------

Kubelets::Kubelets(kube_client::Api& api, const KubeletOptions& options)
    : work_(std::make_unique<Work>(api, options)) {}
Kubelets::~Kubelets() = default;
Result<Done> Kubelets::add(LightNode node, const std::string& zone) {
    return work_->add(std::move(node), zone);
}
void Kubelets::start() { work_->start(); }
void Kubelets::stop() { work_->stop(); }
void Kubelets::stop_agent(const std::string& node) {
    work_->change(node, [](auto& place) { place.node.set_agent(false); });
}
void Kubelets::start_agent(const std::string& node) {
    work_->change(node, [](auto& place) { place.node.set_agent(true); });
}
void Kubelets::lose(const std::string& node) {
    work_->change(node, [](auto& place) {
        if (!place.lost_at) place.lost_at = Steady::now();
    });
}
void Kubelets::bring_back(const std::string& node) {
    work_->change(node, [](auto& place) { place.lost_at.reset(); });
}
void Kubelets::set_health(const std::string& node, unsigned gpu, bool healthy) {
    work_->change(node, [&](auto& place) { place.node.set_health(gpu, healthy); });
}
void Kubelets::visit(const std::function<void(const LightNode&, bool)>& look) const {
    work_->visit(look);
}
std::vector<std::string> Kubelets::names() const {
    std::vector<std::string> names;
    visit([&](const LightNode& node, bool) { names.push_back(node.name()); });
    return names;
}

}  // namespace aliquot::sim::fleet
