// SPDX-License-Identifier: Apache-2.0
// The writing half of ClusterLink.
#include <algorithm>

#include "agent/cluster_link.h"
#include "base/log.h"
#include "node/names.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::seconds kHeartbeat{300};
constexpr std::chrono::milliseconds kLook{60'000};  // at the Node, though nothing has changed
constexpr std::chrono::milliseconds kGlance{300};   // at caches that are not filled yet
constexpr std::chrono::milliseconds kFirstWait{500};
constexpr std::chrono::milliseconds kLongestWait{60'000};
constexpr std::chrono::milliseconds kWriteDeadline{10'000};
constexpr char kFieldManager[] = "aliquot-agent";

kube_client::Resource node_features() {
    return {.group = "nfd.k8s-sigs.io",
            .version = "v1alpha1",
            .plural = "nodefeatures",
            .kind = "NodeFeature"};
}

/// The labels and taints of ours that stand on the Node.
void keep_standing(const node::NodeObject& node, node::DesiredNode& wish) {
    const auto owned = [&](const char* annotation) {
        const auto found = node.annotations.find(annotation);
        return found == node.annotations.end() ? std::vector<std::string>{}
                                               : node::split_list(found->second);
    };
    for (const std::string& key : owned(node::kOwnedLabels)) {
        if (const auto value = node.label(key)) wish.labels[key] = *value;
    }
    const auto taints = owned(node::kOwnedTaints);
    for (const auto& present : node.taints) {
        const std::string slot = present.taint.key + ":" + present.taint.effect;
        if (std::ranges::find(taints, slot) != taints.end()) wish.taints.push_back(present.taint);
    }
}

void add_taint(node::DesiredNode& wish, const node::Taint& taint) {
    if (std::ranges::find(wish.taints, taint) == wish.taints.end()) wish.taints.push_back(taint);
}

}  // namespace

/// What the Node must be told; empty: nothing, since nothing is known yet.
std::optional<node::Change> ClusterLink::change(const node::NodeObject& node) const {
    const std::scoped_lock lock(mutex_);
    if (!told_) return std::nullopt;
    const Told& told = *told_;
    const auto now = std::chrono::system_clock::now();
    node::DesiredNode wish;
    if (told.inventory.gpus.empty()) {
        const bool ours = node.annotations.contains(node::kAgent);
        if (told.driver_problem.empty()) {
            return ours ? std::optional(node::clear_node(node)) : std::nullopt;
        }
        if (!ours && !told.has_board) return std::nullopt;
        // A driver that has told of no GPU since this agent began: what it told before stays.
        keep_standing(node, wish);
        if (options_.unhealthy_taint != node::TaintPolicy::kOff) {
            add_taint(wish, {node::kUnhealthyTaint, "true", "NoSchedule"});
        }
    } else {
        if (options_.labels == ClusterOptions::Labels::kNode) wish.labels = told.labels;
        if (options_.node_taint) wish.taints.push_back(*options_.node_taint);
        for (const node::Taint& taint :
             node::health_taints(options_.unhealthy_taint, told.inventory, told.driver_problem)) {
            wish.taints.push_back(taint);
        }
        wish.annotations[node::kGpus] = node::to_json(node::gpu_statuses(told.inventory));
        wish.annotations[node::kShares] = node::to_json(told.shares);
    }
    wish.annotations[node::kAgent] = ALIQUOT_VERSION;
    if (config_known_) {
        wish.annotations[node::kConfig] = node::to_json(config_status_);
        wish.conditions.push_back(node::config_condition(config_status_, place_));
    }
    wish.conditions.push_back(node::health_condition(told.inventory, told.driver_problem));
    const bool has_mig = mig_status_.state != node::MigStatus::State::kNone;
    if (has_mig) {
        wish.conditions.push_back(node::mig_condition(mig_status_));
    } else {
        wish.ended.emplace_back(node::kMigConfigServed);
    }
    if (options_.mig) wish.answers[node::kMigStateLabel] = to_text(mig_status_.state);
    wish.annotations[node::kMigProblem] = has_mig ? mig_status_.problem : "";
    return node::change_node(node, wish, now, kHeartbeat);
}

void ClusterLink::complain(const std::string& problem) {
    if (problem != complained_of_ && !problem.empty()) {
        log::warning("cluster.not_written", {{"node", node_}, {"why", problem}});
    }
    complained_of_ = problem;
}

bool ClusterLink::patch(const std::string& body, bool status, const std::stop_token& stop) {
    if (body.empty()) return true;
    const auto done = api_.patch(
        kube_client::resources::nodes(), {"", node_}, body,
        {.kind = status ? kube_client::PatchKind::kStrategic : kube_client::PatchKind::kMerge,
         .write = {.field_manager = kFieldManager,
                   .subresource = status ? "status" : "",
                   .call = {.deadline = kWriteDeadline, .stop = stop}}});
    if (done) return true;
    // Somebody else was faster: his version comes by the watch, and then we look again.
    if (!done.failure().is(kube_client::Reason::kConflict)) complain(done.failure().message);
    return false;
}

bool ClusterLink::write_feature(const std::stop_token& stop) {
    std::string wanted;
    {
        const std::scoped_lock lock(mutex_);
        if (options_.labels != ClusterOptions::Labels::kNodeFeature || !told_ ||
            told_->inventory.gpus.empty()) {
            return true;
        }
        wanted = node_feature(node_, options_.namespace_name, told_->labels);
    }
    if (wanted == feature_) return true;
    const auto done = api_.apply(
        node_features(), {options_.namespace_name, "aliquot-features-for-" + node_}, wanted, true,
        {.field_manager = kFieldManager, .call = {.deadline = kWriteDeadline, .stop = stop}});
    if (!done) {
        complain(done.failure().message);
        return false;
    }
    feature_ = wanted;
    return true;
}

bool ClusterLink::write(const std::stop_token& stop) {
    const bool feature = write_feature(stop);
    const auto object = nodes_->store().find({"", node_});
    if (!object) {
        if (nodes_->state().synced) complain("there is no Node " + node_);
        return false;
    }
    const auto read = node::read_node(object->json);
    if (!read) return false;
    const auto change = this->change(*read);
    if (!change) return feature;
    if (change->foreign != foreign_) {
        foreign_ = change->foreign;
        for (const std::string& key : foreign_) {
            log::warning(
                "cluster.foreign",
                {{"node", node_}, {"key", key}, {"why", "somebody else has set it; it stays"}});
        }
    }
    // Both are tried: a right that is missing for one must not keep the other back.
    const bool merged = patch(change->merge, false, stop);
    const bool told = patch(change->status, true, stop);
    if (merged && told && feature) complain("");
    return merged && told && feature;
}

/// A cache that is filled without an object (there is no ConfigMap), or whose first list ends after
/// its last object was told of, calls nobody: until all are known they are looked at again.
void ClusterLink::wait_for_work(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit,
                                const std::stop_token& stop, const std::function<bool()>& so) {
    const os::TimePoint end = clock_.now() + limit;
    while (!stop.stop_requested()) {
        const bool known = supplied_.version > 0;
        const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock_.now());
        if (rest.count() <= 0) return;
        if (changed_.wait_for(lock, stop, known ? rest : std::min(rest, kGlance), so)) return;
        if (known) continue;
        lock.unlock();
        look_again();
        lock.lock();
    }
}

void ClusterLink::run(const std::stop_token& stop) {
    std::chrono::milliseconds wait = kFirstWait;
    bool done = true;
    while (!stop.stop_requested()) {
        std::uint64_t goal = 0;
        {
            std::unique_lock lock(mutex_);
            // After a failure not faster than this, whatever has changed meanwhile; a conflict's
            // answer comes by the watch.
            const std::uint64_t seen = wanted_;
            const bool conflict = !done && wait == kFirstWait;
            wait_for_work(lock, done ? kLook : wait, stop,
                          [&] { return done ? wanted_ != written_ : conflict && wanted_ != seen; });
            goal = wanted_;
        }
        if (stop.stop_requested()) break;
        done = write(stop);
        wait = done ? kFirstWait : std::min(2 * wait, kLongestWait);
        const std::scoped_lock lock(mutex_);
        if (done) written_ = goal;
        changed_.notify_all();
    }
}

}  // namespace aliquot::agent
