// SPDX-License-Identifier: Apache-2.0
#include "agent/node_writer.h"

#include <algorithm>

#include "base/json_text.h"
#include "base/log.h"
#include "kube_client/object.h"
#include "node/names.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::seconds kHeartbeat{300};
constexpr std::chrono::milliseconds kLook{60'000};      // at the Node, though nothing has changed
constexpr std::chrono::milliseconds kCacheGlance{300};  // at caches that are not filled yet
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
void keep_standing(const k8s::Node& node, node::DesiredNode& desired) {
    for (const std::string& key : node::owned_names(node, node::kOwnedLabels)) {
        if (const auto value = node.label(key)) desired.labels[key] = *value;
    }
    const auto taints = node::owned_names(node, node::kOwnedTaints);
    for (const auto& present : node.taints) {
        const std::string slot = present.key + ":" + present.effect;
        if (std::ranges::find(taints, slot) != taints.end()) desired.taints.push_back(present);
    }
}

void add_taint(node::DesiredNode& desired, const k8s::Taint& taint) {
    if (std::ranges::find(desired.taints, taint) == desired.taints.end())
        desired.taints.push_back(taint);
}

std::string feature_name(const std::string& node) { return "aliquot-features-for-" + node; }

}  // namespace

std::string node_feature(const std::string& node, const std::string& namespace_name,
                         const labels::Labels& labels) {
    std::string text =
        R"({"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature","metadata":{"name":)" +
        json_quoted(feature_name(node)) + R"(,"namespace":)" + json_quoted(namespace_name) +
        R"(,"labels":{"nfd.node.kubernetes.io/node-name":)" + json_quoted(node) +
        R"(}},"spec":{"labels":{)";
    bool first = true;
    for (const auto& [key, value] : labels) {
        text += (first ? "" : ",") + json_quoted(key) + ":" + json_quoted(value);
        first = false;
    }
    return text + "}}}";
}

NodeWriter::NodeWriter(kube_client::Api& api, NodeRequests& requests, std::string node,
                       const ClusterOptions& options)
    : api_(api), requests_(requests), node_(std::move(node)), options_(options) {}

NodeWriter::~NodeWriter() = default;

void NodeWriter::start() {
    thread_ = std::jthread([this](const std::stop_token& token) { run(token); });
}

void NodeWriter::wake() {
    ++wanted_;
    changed_.notify_all();
}

std::optional<NodeFacts> NodeWriter::set(NodeFacts facts) {
    const std::scoped_lock lock(mutex_);
    wake();
    return std::exchange(facts_, std::move(facts));
}

std::optional<node::ConfigStatus> NodeWriter::set(const node::ConfigStatus& status) {
    const std::scoped_lock lock(mutex_);
    if (config_status_ != status) wake();
    return std::exchange(config_status_, status);
}

node::MigStatus NodeWriter::set(const node::MigStatus& status) {
    const std::scoped_lock lock(mutex_);
    if (mig_status_ != status) wake();
    return std::exchange(mig_status_, status);
}

void NodeWriter::set_limits_problem(const std::string& problem) {
    const std::scoped_lock lock(mutex_);
    if (limits_problem_ == problem) return;
    limits_problem_ = problem;
    wake();
}

void NodeWriter::set_granted(std::string granted) {
    const std::scoped_lock lock(mutex_);
    if (granted_ == granted) return;
    granted_ = std::move(granted);
    wake();
}

void NodeWriter::look_again() {
    const std::scoped_lock lock(mutex_);
    wake();
}

bool NodeWriter::flush(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    const std::uint64_t goal = wanted_;
    return changed_.wait_for(lock, limit, [&] { return written_ >= goal; });
}

/// What the agent has to say of its GPUs; empty: nothing, since nothing is known, or the Node is
/// none of ours. `mutex_` is held.
std::optional<node::DesiredNode> NodeWriter::desired(const k8s::Node& node) const {
    node::DesiredNode desired;
    if (!facts_->inventory.gpus.empty()) {
        if (options_.labels == ClusterOptions::Labels::kNode) desired.labels = facts_->labels;
        if (options_.node_taint) desired.taints.push_back(*options_.node_taint);
        for (const k8s::Taint& taint : node::health_taints(
                 options_.unhealthy_taint, facts_->inventory, facts_->driver_problem)) {
            desired.taints.push_back(taint);
        }
        auto gpus = node::gpu_statuses(facts_->inventory);
        for (node::GpuStatus& gpu : gpus) {
            const auto offers = facts_->offers.find(gpu.uuid);
            if (offers != facts_->offers.end()) gpu.offers = offers->second;
        }
        desired.annotations[node::kGpus] = node::to_json(gpus);
        if (granted_) desired.annotations[node::kGranted] = *granted_;
        desired.annotations[node::kShares] = node::to_json(facts_->shares);
        return desired;
    }
    const bool ours = node.annotations.contains(node::kAgent);
    if (facts_->driver_problem.empty() || (!ours && !facts_->has_board)) return std::nullopt;
    // A driver that has told of no GPU since this agent began: what it told before stays.
    keep_standing(node, desired);
    if (options_.unhealthy_taint != node::TaintPolicy::kOff) {
        add_taint(desired, {node::kUnhealthyTaint, "true", "NoSchedule"});
    }
    return desired;
}

/// `mutex_` is held.
void NodeWriter::add_statuses(node::DesiredNode& desired) const {
    desired.annotations[node::kAgent] = ALIQUOT_VERSION;
    if (config_status_) {
        node::ConfigStatus told = *config_status_;
        told.waiting = facts_->waiting;
        desired.annotations[node::kConfig] = node::to_json(told);
        desired.conditions.push_back(
            node::config_condition(told, requests_.place(), limits_problem_));
        if (options_.labels == ClusterOptions::Labels::kNode && !desired.labels.empty()) {
            desired.labels[node::kConfigStateLabel] = node::state_text(told);
        }
    }
    desired.conditions.push_back(node::health_condition(facts_->inventory, facts_->driver_problem));
    if (facts_->toolkit) {
        desired.conditions.push_back(*facts_->toolkit);
    } else {
        desired.ended.emplace_back(node::kGpuToolkitReady);
    }
    const bool has_mig = mig_status_.state != node::MigStatus::State::kNone;
    if (has_mig) {
        desired.conditions.push_back(node::mig_condition(mig_status_));
    } else {
        desired.ended.emplace_back(node::kMigConfigServed);
    }
    if (options_.mig) desired.answers[node::kMigStateLabel] = to_text(mig_status_.state);
    desired.annotations[node::kMigProblem] = has_mig ? mig_status_.problem : "";
}

/// What the Node must be told; empty: nothing.
std::optional<node::Change> NodeWriter::change(const k8s::Node& node) const {
    const std::scoped_lock lock(mutex_);
    if (!facts_) return std::nullopt;
    auto desired = this->desired(node);
    if (desired) {
        add_statuses(*desired);
        return node::change_node(node, *desired, std::chrono::system_clock::now(), kHeartbeat);
    }
    const bool cleared = facts_->inventory.gpus.empty() && facts_->driver_problem.empty() &&
                         node.annotations.contains(node::kAgent);
    return cleared ? std::optional(node::clear_node(node)) : std::nullopt;
}

void NodeWriter::complain(const std::string& problem) {
    if (problem != complained_of_ && !problem.empty()) {
        log::warning("cluster.not_written", {{"node", node_}, {"why", problem}});
    }
    complained_of_ = problem;
}

bool NodeWriter::patch(const std::string& body, Part part, const std::stop_token& stop) {
    if (body.empty()) return true;
    const bool status = part == Part::kStatus;
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

bool NodeWriter::write_feature(const std::stop_token& stop) {
    std::string wanted;
    {
        const std::scoped_lock lock(mutex_);
        if (options_.labels != ClusterOptions::Labels::kNodeFeature || !facts_ ||
            facts_->inventory.gpus.empty()) {
            return true;
        }
        wanted = node_feature(node_, options_.namespace_name, facts_->labels);
    }
    if (wanted == feature_) return true;
    const auto done = api_.apply(
        node_features(), {options_.namespace_name, feature_name(node_)}, wanted, true,
        {.field_manager = kFieldManager, .call = {.deadline = kWriteDeadline, .stop = stop}});
    if (!done) {
        complain(done.failure().message);
        return false;
    }
    feature_ = wanted;
    return true;
}

void NodeWriter::note_foreign(const std::vector<std::string>& keys) {
    if (keys == foreign_) return;
    foreign_ = keys;
    for (const std::string& key : foreign_) {
        log::warning(
            "cluster.foreign",
            {{"node", node_}, {"key", key}, {"why", "somebody else has set it; it stays"}});
    }
}

bool NodeWriter::write(const std::stop_token& stop) {
    const bool feature = write_feature(stop);
    const auto node = requests_.node();
    if (!node) {
        if (requests_.has_no_node()) complain("there is no Node " + node_);
        return false;
    }
    const auto change = this->change(*node);
    if (!change) return feature;
    note_foreign(change->foreign);
    // Both are tried: a right that is missing for one must not keep the other back.
    const bool merged = patch(change->merge, Part::kMetadataAndSpec, stop);
    const bool told = patch(change->status, Part::kStatus, stop);
    if (merged && told && feature) complain("");
    return merged && told && feature;
}

void NodeWriter::wait_for_work(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit,
                               const std::stop_token& stop, const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!stop.stop_requested()) {
        const bool known = requests_.config().version > 0;
        const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (rest.count() <= 0) return;
        if (changed_.wait_for(lock, stop, known ? rest : std::min(rest, kCacheGlance), so)) return;
        if (known) continue;
        lock.unlock();
        requests_.look_again();
        lock.lock();
    }
}

void NodeWriter::run(const std::stop_token& stop) {
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
