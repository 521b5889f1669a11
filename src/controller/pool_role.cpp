// SPDX-License-Identifier: Apache-2.0
#include "controller/pool_role.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/log.h"
#include "controller/pool_writer.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/pod.h"
#include "k8s/resource_name.h"
#include "kube_client/informer.h"
#include "metrics/text.h"

namespace aliquot::controller {
namespace {

using document::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongestPause{10};
constexpr milliseconds kShortestPause{300};  // changes that come together are looked at together
/// What is older than that is no ground for a decision.
constexpr seconds kStale{120};

kube_client::InformerOptions nodes_of_pools() {
    return {.projection = kube_client::keep_fields(
                {"metadata.labels", "metadata.annotations", "metadata.creationTimestamp",
                 "metadata.deletionTimestamp", "spec.taints", "spec.unschedulable",
                 "status.allocatable", "status.conditions"})};
}

kube_client::InformerOptions pods_of_pools() {
    return {.projection = kube_client::keep_fields(
                {"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels",
                 "spec.nodeName", "spec.nodeSelector", "spec.affinity", "spec.tolerations",
                 "spec.schedulingGates", "spec.terminationGracePeriodSeconds",
                 "spec.containers.name", "spec.containers.resources", "spec.initContainers.name",
                 "spec.initContainers.resources", "spec.initContainers.restartPolicy",
                 "status.phase", "status.conditions"})};
}

bool wants_gpu(const Value& pod) {
    const auto requests = k8s::read_pod(pod).requests();
    return std::ranges::any_of(requests, [](const auto& one) {
        return one.second > 0 && k8s::is_gpu_resource(one.first);
    });
}

/// Objects of a kind, read once each time they change. Thread-safe.
class ReadObjects {
public:
    void note(const kube_client::ObjectKey& key, const kube_client::StoredObject& object,
              bool (*wanted)(const Value&)) {
        auto read = object == nullptr ? Result<Value>(Error{ErrorCode::kNotFound, ""})
                                      : document::parse_json(object->json);
        const std::scoped_lock lock(mutex_);
        if (read && (wanted == nullptr || wanted(*read))) {
            objects_[key] = *std::move(read);
        } else {
            objects_.erase(key);
        }
    }
    [[nodiscard]] std::vector<Value> all() const {
        const std::scoped_lock lock(mutex_);
        std::vector<Value> all;
        all.reserve(objects_.size());
        for (const auto& [key, object] : objects_) all.push_back(object);
        return all;
    }

private:
    mutable std::mutex mutex_;
    std::map<kube_client::ObjectKey, Value> objects_;
};

/// What was decided of a pool, for metrics.
struct Figures {
    pools::Desired desired;
    std::size_t waiting = 0;
};

}  // namespace

class PoolWork {
public:
    PoolWork(PoolWorld world, PoolOptions options)
        : world_(world),
          writer_(std::move(world), std::move(options)),
          pools_(world_.api, pool_objects(), {},
                 [this](const auto& key, const auto&, const auto& now) {
                     pool_objects_.note(key, now, nullptr);
                     wake();
                 }),
          nodes_(world_.api, kube_client::resources::nodes(), nodes_of_pools(),
                 [this](const auto& key, const auto&, const auto& now) {
                     node_objects_.note(key, now, nullptr);
                     wake();
                 }),
          pods_(world_.api, kube_client::resources::pods(), pods_of_pools(),
                [this](const auto& key, const auto&, const auto& now) {
                    pod_objects_.note(key, now, wants_gpu);
                    wake();
                }) {}

    void start() {
        for (auto* const informer : {&pools_, &nodes_, &pods_}) informer->start();
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    void stop() { thread_ = {}; }
    void wake() {
        {
            const std::scoped_lock lock(mutex_);
            changed_ = true;
        }
        change_.notify_all();
    }
    [[nodiscard]] std::string metrics() const;

private:
    [[nodiscard]] bool is_current() const {
        const auto now = std::chrono::steady_clock::now();
        return std::ranges::all_of(
            std::initializer_list<const kube_client::Informer*>{&pools_, &nodes_, &pods_},
            [&](const auto* informer) {
                const auto state = informer->state();
                return state.synced && (state.connected || now - state.last_heard < kStale);
            });
    }
    void run(const std::stop_token& stop);
    /// Returns when a schedule ticks next.
    std::optional<pools::Instant> look(const std::stop_token& stop);

    const PoolWorld world_;
    PoolWriter writer_;
    std::mutex mutex_;
    std::condition_variable_any change_;
    bool changed_ = true;  // under mutex_

    mutable std::mutex figures_mutex_;
    std::map<std::string, Figures> figures_;  // by pool

    ReadObjects pool_objects_;
    ReadObjects node_objects_;
    ReadObjects pod_objects_;
    kube_client::Informer pools_;
    kube_client::Informer nodes_;
    kube_client::Informer pods_;
    std::jthread thread_;  // last: it uses all the others
};

std::optional<pools::Instant> PoolWork::look(const std::stop_token& stop) {
    const auto now = std::chrono::floor<seconds>(world_.now());
    const auto nodes = node_objects_.all();
    auto pods = pod_objects_.all();
    if (world_.held) pods = pools::without_held(std::move(pods), world_.held);
    std::map<std::string, Figures> figures;
    std::set<std::string> taken;
    std::set<std::string> members;
    std::optional<pools::Instant> next;
    for (const Value& object : pool_objects_.all()) {
        if (stop.stop_requested() || !world_.elector.leads()) return next;
        if (document::at_path(object, {"metadata", "deletionTimestamp"}) != nullptr) continue;
        const auto round = pools::look_at_pool(object, nodes, pods, taken, now);
        writer_.write(round, object, stop);
        if (!round.is_valid) continue;
        taken.insert(round.served.begin(), round.served.end());
        for (const auto& node : round.observed.nodes) members.insert(node.name);
        const auto& tick = round.schedule.next;
        if (tick && (!next || *tick < *next)) next = tick;
        figures[round.pool.name] = {round.desired, round.observed.waiting.size()};
    }
    writer_.write_marks(pools::stray_marks(nodes, members), stop);
    const std::scoped_lock lock(figures_mutex_);
    for (const auto& [name, figure] : figures_) {
        if (!figures.contains(name)) writer_.forget(name);
    }
    figures_.swap(figures);
    return next;
}

void PoolWork::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        {
            const std::scoped_lock lock(mutex_);
            changed_ = false;
        }
        milliseconds pause = kLongestPause;
        if (is_current() && world_.elector.leads()) {
            if (const auto next = look(stop)) {
                const auto left = std::chrono::ceil<milliseconds>(*next - world_.now());
                pause = std::clamp(left, milliseconds(kShortestPause), pause);
            }
        }
        std::unique_lock lock(mutex_);
        change_.wait_for(lock, stop, pause, [this] { return changed_; });
        if (!changed_) continue;
        // More of the same may be on its way.
        change_.wait_for(lock, stop, kShortestPause, [] { return false; });
    }
}

std::string PoolWork::metrics() const {
    const std::scoped_lock lock(figures_mutex_);
    std::string out;
    metrics::Text text(out);
    text.family("aliquot_pool_nodes",
                "Nodes of a pool: those that it should have, and those that it has.", "gauge");
    for (const auto& [name, figure] : figures_) {
        const auto& desired = figure.desired;
        for (const auto& [state, count] : {std::pair{"desired", desired.nodes},
                                           {"present", desired.present},
                                           {"busy", desired.busy},
                                           {"starting", desired.starting},
                                           {"failed", desired.failed},
                                           {"sick", desired.sick},
                                           {"placeholder", desired.placeholders}}) {
            text.row("").label("pool", name).label("state", std::string_view(state)).is(count);
        }
    }
    text.family("aliquot_pool_waiting_pods", "Pods that wait for a node of the pool.", "gauge");
    for (const auto& [name, figure] : figures_) text.row("").label("pool", name).is(figure.waiting);
    text.single("aliquot_pool_failed_writes_total",
                "Writes of pools that the API server or another owner refused.", "counter",
                writer_.failures());
    text.single("aliquot_pool_evicted_pods_total",
                "Pods evicted because the cloud takes their node back.", "counter",
                writer_.evictions());
    return out;
}

PoolRole::PoolRole(PoolWorld world, PoolOptions options)
    : work_(std::make_unique<PoolWork>(std::move(world), std::move(options))) {}
PoolRole::~PoolRole() = default;
void PoolRole::start() { work_->start(); }
void PoolRole::stop() { work_->stop(); }
void PoolRole::wake() { work_->wake(); }
std::string PoolRole::metrics() const { return work_->metrics(); }

}  // namespace aliquot::controller
