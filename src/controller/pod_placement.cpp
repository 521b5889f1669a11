// SPDX-License-Identifier: Apache-2.0
#include "controller/pod_placement.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/time_text.h"
#include "controller/placement_counters.h"
#include "controller/placement_informers.h"
#include "controller/released_pods.h"
#include "k8s/node.h"
#include "kube_client/event_recorder.h"
#include "kube_client/informer.h"
#include "scheduling/books.h"
#include "scheduling/plan.h"
#include "scheduling/release.h"

namespace aliquot::controller {
namespace {

using scheduling::Decision;
using scheduling::GpuPod;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr char kFieldManager[] = "aliquot-controller";
constexpr char kHostnameLabel[] = "kubernetes.io/hostname";
constexpr seconds kIdle{60};
constexpr milliseconds kGlance{1'000};      // while pods wait or are on their way
constexpr milliseconds kAfterFailure{500};  // before the same pod is tried again
constexpr seconds kUntilTold{5};            // how long a pod waits before its events say why
constexpr seconds kBetweenNotes{60};
constexpr seconds kLetGo{60};  // until the watch surely shows what we wrote

/// A gated pod.
struct Waiting {
    GpuPod pod;
    Steady::time_point seen;
    Steady::time_point not_before;  // after a PATCH that failed
    std::string why;                // it waits; as last told
    std::optional<Steady::time_point> told;
};

}  // namespace

class PodPlacement::Work {
public:
    Work(Dependencies dependencies, const PlacementOptions& options)
        : world_(std::move(dependencies)),
          options_(options),
          books_({.targets = options.targets}),
          events_(world_.api,
                  {.controller = "aliquot.dev/controller", .instance = "aliquot-controller"}),
          released_({world_.api, world_.elector, world_.now, events_}, options.unfit_patience),
          nodes_(world_.api, kube_client::resources::nodes(), nodes_of_cluster(),
                 [this](const auto& key, const auto&, const auto&) { note(changed_nodes_, key); }),
          pods_(world_.api, kube_client::resources::pods(), pods_of_cluster(),
                [this](const auto& key, const auto&, const auto&) { note(changed_pods_, key); }) {}

    void start() {
        nodes_.start();
        pods_.start();
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    void stop() { thread_ = {}; }
    void wake() {
        {
            const std::scoped_lock lock(mutex_);
            look_ = true;
        }
        changed_.notify_all();
    }
    [[nodiscard]] bool is_synced() const { return nodes_.state().synced && pods_.state().synced; }
    [[nodiscard]] bool serves(const std::string& resource) const {
        const std::scoped_lock lock(mutex_);
        return served_.contains(resource);
    }
    [[nodiscard]] std::string metrics() const { return counters_.text(); }

private:
    void note(std::set<kube_client::ObjectKey>& changed, const kube_client::ObjectKey& key) {
        {
            const std::scoped_lock lock(mutex_);
            changed.insert(key);
        }
        changed_.notify_all();
    }
    void run(const std::stop_token& stop);
    void take_news();
    void take_node(const kube_client::ObjectKey& key);
    void take_pod(const kube_client::ObjectKey& key);
    void drop_pod(const kube_client::ObjectKey& key);
    void place(const std::stop_token& stop);
    void keep_nodes(const std::vector<Waiting*>& queue);
    bool release(Waiting& waiting, const Decision& decision, const std::stop_token& stop);
    void say_why(Waiting& waiting, const std::string& why);
    void tend_released(const std::stop_token& stop);
    [[nodiscard]] std::map<std::string, std::string> hostnames(const Decision& decision) const;
    void gauge();

    const Dependencies world_;
    const PlacementOptions options_;
    PlacementCounters counters_;

    mutable std::mutex mutex_;  // guards what follows, up to the thread's own
    std::condition_variable_any changed_;
    std::set<kube_client::ObjectKey> changed_nodes_;
    std::set<kube_client::ObjectKey> changed_pods_;
    std::set<std::string, std::less<>> served_;
    bool look_ = true;

    // Of the thread.
    scheduling::Books books_;
    std::map<std::string, scheduling::ServedNode> served_nodes_;
    std::map<kube_client::ObjectKey, std::string> uids_;
    std::map<std::string, Waiting> waiting_;            // by uid
    std::map<std::string, Steady::time_point> let_go_;  // by uid, until the watch shows it
    std::uint64_t generation_ = 0;
    std::set<std::string> kept_;  // uids of pods that a node is kept for

    kube_client::EventRecorder events_;
    ReleasedPods released_;
    kube_client::Informer nodes_;
    kube_client::Informer pods_;
    std::jthread thread_;  // last: it uses all the others
};

// ---- news -----------------------------------------------------------------------------------------

void PodPlacement::Work::take_node(const kube_client::ObjectKey& key) {
    const auto object = nodes_.store().find(key);
    const auto node =
        object ? k8s::parse_node(object->json) : Result<k8s::Node>(Error{ErrorCode::kNotFound, ""});
    auto served = node ? scheduling::read_served_node(*node) : std::nullopt;
    if (!served) {
        if (served_nodes_.erase(key.name) > 0) books_.remove_node(key.name);
        return;
    }
    const auto known = served_nodes_.find(key.name);
    const bool same = known != served_nodes_.end() && known->second.granted == served->granted;
    const std::size_t holders = served->granted.size();
    served_nodes_[key.name] = *served;
    books_.set_node(*std::move(served));
    if (!same) log::debug("placement.told", {{"node", key.name}, {"holders", holders}});
}

void PodPlacement::Work::drop_pod(const kube_client::ObjectKey& key) {
    const auto uid = uids_.find(key);
    if (uid == uids_.end()) return;
    books_.remove_pod(uid->second);
    waiting_.erase(uid->second);
    released_.erase(uid->second);
    let_go_.erase(uid->second);
    uids_.erase(uid);
}

void PodPlacement::Work::take_pod(const kube_client::ObjectKey& key) {
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
        const auto [waiting, is_new] = waiting_.try_emplace(pod->uid);
        if (is_new) waiting->second.seen = Steady::now();
        waiting->second.pod = *std::move(pod);
        return;
    }
    waiting_.erase(pod->uid);
    let_go_.erase(pod->uid);
    const bool on_its_way = pod->node.empty() && !pod->is_gated && !pod->is_over;
    if (on_its_way && !pod->plan.empty()) {
        if (const auto plan = scheduling::parse_plan(pod->plan)) {
            generation_ = std::max(generation_, plan->generation);
            if (!released_.contains(pod->uid)) books_.adopt(*pod, plan->targets);
            released_.set(*pod);
        }
    } else {
        released_.erase(pod->uid);
    }
    books_.set_pod(*pod);
}

void PodPlacement::Work::take_news() {
    std::set<kube_client::ObjectKey> nodes;
    std::set<kube_client::ObjectKey> pods;
    {
        const std::scoped_lock lock(mutex_);
        nodes.swap(changed_nodes_);
        pods.swap(changed_pods_);
    }
    for (const auto& key : nodes) take_node(key);
    for (const auto& key : pods) take_pod(key);
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

// ---- the leader's work ----------------------------------------------------------------------------

std::map<std::string, std::string> PodPlacement::Work::hostnames(const Decision& decision) const {
    std::map<std::string, std::string> names;
    for (const scheduling::Target& target : decision.targets) {
        const auto node = served_nodes_.find(target.node);
        if (node == served_nodes_.end()) continue;
        const auto label = node->second.labels.find(kHostnameLabel);
        if (label != node->second.labels.end()) names[target.node] = label->second;
    }
    return names;
}

/// False: it stays gated, and what was kept for it is given back.
bool PodPlacement::Work::release(Waiting& waiting, const Decision& decision,
                                 const std::stop_token& stop) {
    const kube_client::ObjectKey key{waiting.pod.name_space, waiting.pod.name};
    const auto object = pods_.store().find(key);
    const auto give_back = [&] {
        books_.forget(waiting.pod.uid);
        waiting.not_before = Steady::now() + kAfterFailure;
        return false;
    };
    if (object == nullptr || object->uid != waiting.pod.uid) return give_back();
    const scheduling::Plan plan{
        .generation = ++generation_, .asked = waiting.pod.devices, .targets = decision.targets};
    const auto patch = scheduling::release_patch(object->json, plan, hostnames(decision));
    const auto call = world_.elector.call(stop);
    if (!patch || !call) return give_back();
    const auto done = world_.api.patch(kube_client::resources::pods(), key, *patch,
                                       {.kind = kube_client::PatchKind::kJson,
                                        .write = {.field_manager = kFieldManager, .call = *call}});
    if (!done) {
        counters_.add_failure();
        log::warning("placement.not_released",
                     {{"pod", waiting.pod.full_name()}, {"reason", done.failure().message}});
        return give_back();
    }
    counters_.add_release(decision.kind, Steady::now() - waiting.seen);
    log::info("placement.released",
              {{"pod", waiting.pod.full_name()},
               {"how", release_reason(decision.kind)},
               {"node", decision.targets.empty() ? "" : decision.targets.front().node},
               {"nodes", decision.targets.size()}});
    return true;
}

void PodPlacement::Work::say_why(Waiting& waiting, const std::string& why) {
    const auto now = Steady::now();
    if (now - waiting.seen < kUntilTold) return;
    if (waiting.told && (waiting.why == why || now - *waiting.told < kBetweenNotes)) return;
    waiting.why = why;
    waiting.told = now;
    events_.record({.regarding = {.api_version = "v1",
                                  .kind = "Pod",
                                  .namespace_name = waiting.pod.name_space,
                                  .name = waiting.pod.name,
                                  .uid = waiting.pod.uid},
                    .warning = true,
                    .reason = "WaitsForGpu",
                    .action = "Place",
                    .note = why});
}

/// For the first of each resource that has waited long.
void PodPlacement::Work::keep_nodes(const std::vector<Waiting*>& queue) {
    if (options_.keep_after.count() == 0) return;
    const auto now = world_.now();
    std::set<std::string> resources;
    std::set<std::string> kept;
    for (const Waiting* const one : queue) {
        const auto created = parse_rfc3339(one->pod.created);
        if (!created || now - *created < options_.keep_after || one->pod.devices.empty()) continue;
        const std::string& resource = one->pod.devices.front().resource;
        if (resources.contains(resource)) continue;
        if (books_.what_if(one->pod).kind != Decision::Kind::kWaits) continue;
        const std::string node = books_.keep_for(one->pod);
        if (node.empty()) continue;
        if (!kept_.contains(one->pod.uid))
            log::info("placement.kept", {{"pod", one->pod.full_name()}, {"node", node}});
        resources.insert(resource);
        kept.insert(one->pod.uid);
    }
    if (kept != kept_) books_.keep_only_for(kept);
    kept_ = std::move(kept);
}

/// In the order of the queue; who does not fit keeps nobody else back.
void PodPlacement::Work::place(const std::stop_token& stop) {
    std::vector<Waiting*> queue;
    const auto now = Steady::now();
    for (auto& [uid, waiting] : waiting_) {
        if (waiting.not_before <= now) queue.push_back(&waiting);
    }
    std::sort(queue.begin(), queue.end(), [](const Waiting* a, const Waiting* b) {
        return scheduling::comes_before(a->pod, b->pod);
    });
    keep_nodes(queue);
    std::map<std::string, Decision> failed;  // by shape: what frees nothing changes no answer
    std::vector<std::string> gone;
    for (Waiting* const one : queue) {
        if (stop.stop_requested() || !world_.elector.leads()) break;
        // Only the pod that a node is kept for may get what others of its shape may not.
        const std::string shape =
            scheduling::shape_of(one->pod) + (kept_.contains(one->pod.uid) ? "\nkept" : "");
        const auto known = failed.find(shape);
        const Decision decision = known != failed.end() ? known->second : books_.decide(one->pod);
        if (decision.kind == Decision::Kind::kWaits) {
            failed.emplace(shape, decision);
            say_why(*one, decision.why);
            const bool is_long =
                options_.release_after.count() > 0 && now - one->seen >= options_.release_after;
            if (!is_long) continue;
        }
        if (release(*one, decision, stop)) gone.push_back(one->pod.uid);
    }
    for (const std::string& uid : gone) {
        waiting_.erase(uid);
        let_go_[uid] = Steady::now();
    }
}

void PodPlacement::Work::tend_released(const std::stop_token& stop) {
    const auto tended = released_.tend(stop);
    for (unsigned i = 0; i < tended.remade; ++i) counters_.add_remade();
    for (const std::string& uid : tended.stuck) books_.forget(uid);
}

void PodPlacement::Work::gauge() {
    std::chrono::seconds oldest{0};
    const auto now = world_.now();
    for (const auto& [uid, waiting] : waiting_) {
        const auto created = parse_rfc3339(waiting.pod.created);
        if (created) oldest = std::max(oldest, std::chrono::floor<seconds>(now - *created));
    }
    counters_.set_gated(waiting_.size(), oldest);
    counters_.set_overbooked(books_.overbooked());
}

void PodPlacement::Work::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (is_synced()) {
            take_news();
            if (world_.elector.leads()) {
                place(stop);
                tend_released(stop);
            }
            gauge();
        }
        const bool soon = !is_synced() || !waiting_.empty() || !released_.empty();
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, soon ? kGlance : milliseconds(kIdle), [this] {
            return look_ || !changed_nodes_.empty() || !changed_pods_.empty();
        });
        look_ = false;
    }
}

PodPlacement::PodPlacement(Dependencies dependencies, const PlacementOptions& options)
    : work_(std::make_unique<Work>(std::move(dependencies), options)) {}
PodPlacement::~PodPlacement() = default;
void PodPlacement::start() { work_->start(); }
void PodPlacement::stop() { work_->stop(); }
void PodPlacement::wake() { work_->wake(); }
bool PodPlacement::is_synced() const { return work_->is_synced(); }
bool PodPlacement::serves(const std::string& resource) const { return work_->serves(resource); }
std::string PodPlacement::metrics() const { return work_->metrics(); }

}  // namespace aliquot::controller
