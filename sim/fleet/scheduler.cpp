// SPDX-License-Identifier: Apache-2.0
#include "sim/fleet/scheduler.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "base/json_value.h"
#include "base/time_text.h"
#include "kube_client/informer.h"
#include "scheduling/gpu_pod.h"
#include "sim/fleet/room.h"

namespace aliquot::sim::fleet {
namespace {

using Json = nlohmann::json;
using kube_client::ObjectKey;
using Steady = std::chrono::steady_clock;
namespace resources = kube_client::resources;

constexpr std::chrono::seconds kBindWait{10};
constexpr std::chrono::milliseconds kGlance{1'000};
constexpr std::chrono::milliseconds kAfterFailure{200};
constexpr std::chrono::milliseconds kAfterRefusal{1'000};  // of a webhook: kube-scheduler's own
constexpr char kOurName[] = "default-scheduler";

/// One that is to be bound.
struct Waiting {
    scheduling::GpuPod head;
    k8s::Pod pod;
    std::string told;               // the words of the condition
    Steady::time_point not_before;  // after a bind that failed
};

}  // namespace

class Scheduler::Work {
public:
    Work(kube_client::Api& api, const SchedulerOptions& options)
        : api_(api),
          options_(options),
          nodes_(api, resources::nodes(), {},
                 [this](const auto& key, const auto&, const auto&) { note(changed_nodes_, key); }),
          pods_(api, resources::pods(), {},
                [this](const auto& key, const auto&, const auto&) { note(changed_pods_, key); }) {}

    void start() {
        nodes_.start();
        pods_.start();
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    void stop() { thread_ = {}; }
    [[nodiscard]] std::uint64_t bound() const { return bound_.load(); }

private:
    void note(std::set<ObjectKey>& changed, const ObjectKey& key) {
        {
            const std::scoped_lock lock(mutex_);
            changed.insert(key);
        }
        changed_.notify_all();
    }
    void run(const std::stop_token& stop);
    bool take_news();
    void take_pod(const ObjectKey& key);
    void drop(const ObjectKey& key);
    void schedule(const std::stop_token& stop);
    void bind(Waiting& waiting, const std::string& node);
    void tell(Waiting& waiting, const std::string& why);

    kube_client::Api& api_;
    const SchedulerOptions options_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::set<ObjectKey> changed_nodes_;  // guarded by mutex_
    std::set<ObjectKey> changed_pods_;   // guarded by mutex_
    std::atomic<std::uint64_t> bound_{0};

    // Of the thread.
    Room room_;
    std::map<ObjectKey, std::string> uids_;
    std::map<std::string, Waiting> waiting_;  // by uid
    Steady::time_point next_bind_;

    kube_client::Informer nodes_;
    kube_client::Informer pods_;
    std::jthread thread_;  // last: it uses the others
};

void Scheduler::Work::drop(const ObjectKey& key) {
    const auto uid = uids_.find(key);
    if (uid == uids_.end()) return;
    room_.give_back(uid->second);
    waiting_.erase(uid->second);
    uids_.erase(uid);
}

void Scheduler::Work::take_pod(const ObjectKey& key) {
    const auto object = pods_.store().find(key);
    if (object == nullptr) return drop(key);
    auto head = scheduling::read_gpu_pod(object->json);
    auto pod = k8s::parse_pod(object->json);
    if (!head || !pod) return drop(key);
    const auto known = uids_.find(key);
    if (known != uids_.end() && known->second != head->uid) drop(key);
    uids_[key] = head->uid;
    if (head->is_over) {
        waiting_.erase(head->uid);
        return room_.give_back(head->uid);
    }
    if (!head->node.empty()) {
        waiting_.erase(head->uid);
        return room_.take(head->uid, head->node, pod->requests());
    }
    const auto by = kube_client::string_at(object->json, "/spec/schedulerName");
    const bool gated = head->is_gated || head->is_gated_else;
    if (gated || head->is_leaving || by.value_or(kOurName) != kOurName) {
        waiting_.erase(head->uid);
        return;
    }
    Waiting& waiting = waiting_[head->uid];
    waiting.head = *std::move(head);
    waiting.pod = *std::move(pod);
}

/// Whether there were any.
bool Scheduler::Work::take_news() {
    std::set<ObjectKey> nodes;
    std::set<ObjectKey> pods;
    {
        const std::scoped_lock lock(mutex_);
        nodes.swap(changed_nodes_);
        pods.swap(changed_pods_);
    }
    for (const ObjectKey& key : nodes) {
        const auto object = nodes_.store().find(key);
        auto node = object ? k8s::parse_node(object->json)
                           : Result<k8s::Node>(Error{ErrorCode::kNotFound, ""});
        if (node)
            room_.set_node(*std::move(node));
        else
            room_.remove_node(key.name);
    }
    for (const ObjectKey& key : pods) take_pod(key);
    return !nodes.empty() || !pods.empty();
}

void Scheduler::Work::bind(Waiting& waiting, const std::string& node) {
    const ObjectKey key{waiting.head.name_space, waiting.head.name};
    const auto done = api_.bind(key, node, {.call = {.deadline = kBindWait}}, waiting.head.uid);
    if (!done) {
        const bool is_denied = done.failure().message.contains("denied the request");
        waiting.not_before = Steady::now() + (is_denied ? kAfterRefusal : kAfterFailure);
        return;
    }
    ++bound_;
    room_.take(waiting.head.uid, node, waiting.pod.requests());
    waiting_.erase(waiting.head.uid);  // the last use of it
}

void Scheduler::Work::tell(Waiting& waiting, const std::string& why) {
    if (waiting.told == why) return;
    const std::string now = rfc3339(std::chrono::system_clock::now());
    const Json condition{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", why},
                         {"lastTransitionTime", now}};
    const Json patch{{"metadata", {{"uid", waiting.head.uid}}},
                     {"status", {{"conditions", Json::array({condition})}}}};
    const auto written = api_.patch(
        resources::pods(), {waiting.head.name_space, waiting.head.name}, dumped(patch),
        {.kind = kube_client::PatchKind::kStrategic,
         .write = {
             .field_manager = "kube-scheduler", .subresource = "status", .call = {kBindWait}}});
    if (written) waiting.told = why;
}

void Scheduler::Work::schedule(const std::stop_token& stop) {
    std::vector<std::string> queue;
    const auto now = Steady::now();
    for (const auto& [uid, waiting] : waiting_) {
        if (waiting.not_before <= now) queue.push_back(uid);
    }
    std::ranges::sort(queue, [this](const std::string& a, const std::string& b) {
        return scheduling::comes_before(waiting_.at(a).head, waiting_.at(b).head);
    });
    for (const std::string& uid : queue) {
        if (stop.stop_requested()) return;
        Waiting& waiting = waiting_.at(uid);
        const Room::Choice choice = room_.choose(waiting.pod);
        if (choice.node.empty()) {
            tell(waiting, choice.why);
            continue;
        }
        if (options_.binds_per_second > 0) {
            const auto at = std::max(next_bind_, Steady::now());
            std::unique_lock lock(mutex_);
            changed_.wait_until(lock, stop, at, [] { return false; });
            next_bind_ = at + std::chrono::microseconds(1'000'000 / options_.binds_per_second);
        }
        bind(waiting, choice.node);
    }
}

void Scheduler::Work::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const bool synced = nodes_.state().synced && pods_.state().synced;
        if (synced && (take_news() || !waiting_.empty())) schedule(stop);
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, kGlance,
                          [this] { return !changed_nodes_.empty() || !changed_pods_.empty(); });
    }
}

Scheduler::Scheduler(kube_client::Api& api, const SchedulerOptions& options)
    : work_(std::make_unique<Work>(api, options)) {}
Scheduler::~Scheduler() = default;
void Scheduler::start() { work_->start(); }
void Scheduler::stop() { work_->stop(); }
std::uint64_t Scheduler::bound() const { return work_->bound(); }

}  // namespace aliquot::sim::fleet
