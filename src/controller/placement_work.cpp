// SPDX-License-Identifier: Apache-2.0
// What the cluster tells, and the thread; what the leader does with it: placement_queue.cpp.
#include "controller/placement_work.h"

#include <algorithm>

#include "base/log.h"
#include "base/time_text.h"
#include "k8s/node.h"
#include "scheduling/plan.h"

namespace aliquot::controller {
namespace {

using scheduling::GpuPod;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kIdle{60};
constexpr milliseconds kGlance{1'000};  // while pods wait or are on their way
constexpr seconds kLetGo{60};           // until the watch surely shows what we wrote

void raise(std::atomic<std::uint64_t>& number, std::uint64_t least) {
    std::uint64_t now = number.load();
    while (now < least && !number.compare_exchange_weak(now, least)) {
    }
}

}  // namespace

// ---- news -----------------------------------------------------------------------------------------

void PlacementWork::take_node(const kube_client::ObjectKey& key) {
    const auto object = nodes_.store().find(key);
    const auto node =
        object ? k8s::parse_node(object->json) : Result<k8s::Node>(Error{ErrorCode::kNotFound, ""});
    auto served = node ? scheduling::read_served_node(*node) : std::nullopt;
    if (!served) {
        if (served_nodes_.erase(key.name) > 0) books_->remove_node(key.name);
        if (node)
            books_->set_labels(key.name, scheduling::topology_of(node->labels));
        else
            books_->remove_labels(key.name);
        return;
    }
    const auto known = served_nodes_.find(key.name);
    const bool same = known != served_nodes_.end() && known->second.granted == served->granted;
    const std::size_t holders = served->granted.size();
    served_nodes_[key.name] = *served;
    books_->set_node(*std::move(served));
    if (!same) log::debug("placement.told", {{"node", key.name}, {"holders", holders}});
}

void PlacementWork::drop_pod(const kube_client::ObjectKey& key) {
    const auto uid = uids_.find(key);
    if (uid == uids_.end()) return;
    books_->remove_pod(uid->second);
    gangs_.remove_pod(uid->second);
    waiting_.erase(uid->second);
    released_.erase(uid->second);
    let_go_.erase(uid->second);
    uids_.erase(uid);
}

void PlacementWork::take_pod(const kube_client::ObjectKey& key) {
    const auto object = pods_.store().find(key);
    auto pod = object ? scheduling::read_gpu_pod(object->json)
                      : Result<GpuPod>(Error{ErrorCode::kNotFound, ""});
    if (!pod) return drop_pod(key);
    const auto known = uids_.find(key);
    if (known != uids_.end() && known->second != pod->uid)
        drop_pod(key);  // another one of that name
    uids_[key] = pod->uid;
    if (pod->waits()) {
        const auto let_go = let_go_.find(pod->uid);
        if (let_go != let_go_.end() && Steady::now() - let_go->second < kLetGo)
            return;  // an older sight
        gangs_.set_pod(*pod);
        const auto [waiting, is_new] = waiting_.try_emplace(pod->uid);
        if (is_new) waiting->second.seen = Steady::now();
        waiting->second.pod = *std::move(pod);
        return;
    }
    gangs_.set_pod(*pod);
    moved_.set(*pod, world_.now());
    waiting_.erase(pod->uid);
    let_go_.erase(pod->uid);
    const bool on_its_way = pod->node.empty() && !pod->is_gated && !pod->is_over;
    if (on_its_way && !pod->plan.empty()) {
        if (const auto plan = scheduling::parse_plan(pod->plan)) {
            raise(generation_, plan->generation);
            if (!released_.contains(pod->uid)) books_->adopt(*pod, plan->targets);
            released_.set(*pod);
        }
    } else {
        released_.erase(pod->uid);
    }
    books_->set_pod(*pod);
}

/// What the claims of waiting pods mean now.
void PlacementWork::look_at_volumes() {
    for (auto& [uid, waiting] : waiting_) {
        if (waiting.pod.claims.empty()) continue;
        auto rules = volumes_.rules_of(waiting.pod);
        if (!rules) {
            waiting.not_before = Steady::now() + kGlance;
            continue;
        }
        waiting.pod.volumes = *std::move(rules);
        gangs_.set_pod(waiting.pod);
    }
}

void PlacementWork::take_news() {
    std::set<kube_client::ObjectKey> nodes;
    std::set<kube_client::ObjectKey> pods;
    std::uint64_t noted = 0;
    {
        const std::scoped_lock lock(mutex_);
        nodes.swap(changed_nodes_);
        pods.swap(changed_pods_);
        noted = noted_;
    }
    for (const auto& key : nodes) take_node(key);
    for (const auto& key : pods) take_pod(key);
    has_read_all_ = true;
    {
        const std::scoped_lock lock(mutex_);
        taken_ = noted;
    }
    changed_.notify_all();
    if (nodes.empty()) return;
    std::set<std::string, std::less<>> served;
    for (const auto& [name, node] : served_nodes_) {
        for (const auto& gpu : node.gpus) {
            for (const auto& offer : gpu.units) served.insert(offer.first);
        }
    }
    const std::scoped_lock lock(mutex_);
    served_.swap(served);
}

bool PlacementWork::catch_up(milliseconds patience) {
    std::unique_lock lock(mutex_);
    const std::uint64_t noted = noted_;
    return changed_.wait_for(lock, patience, [&] { return taken_ >= noted; });
}

void PlacementWork::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        tell_who_leads(stop);
        if (is_synced()) {
            take_news();
            if (world_.elector.leads()) {
                look_at_volumes();
                place(stop);
                tend_released(stop);
            }
            tend_seats();
            gauge();
        }
        const bool soon = !is_synced() || !waiting_.empty() || !released_.empty() ||
                          bindings_.has_seated() || told_to_lead_ != world_.elector.leads();
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, soon ? kGlance : milliseconds(kIdle), [this] {
            return look_ || !changed_nodes_.empty() || !changed_pods_.empty();
        });
        look_ = false;
    }
}

void PlacementWork::gauge() {
    std::chrono::seconds oldest{0};
    const auto now = world_.now();
    for (const auto& [uid, waiting] : waiting_) {
        const auto created = parse_rfc3339(waiting.pod.created);
        if (created) oldest = std::max(oldest, std::chrono::floor<seconds>(now - *created));
    }
    counters_.set_gated(waiting_.size(), oldest);
    counters_.set_overbooked(books_->overbooked());
}

}  // namespace aliquot::controller
