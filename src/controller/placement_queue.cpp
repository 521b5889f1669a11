// SPDX-License-Identifier: Apache-2.0
// The leader's work of the role `placement`.
#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "controller/placement_work.h"
#include "scheduling/plan.h"
#include "scheduling/release.h"

namespace aliquot::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kFieldManager[] = "aliquot-controller";
constexpr char kHostnameLabel[] = "kubernetes.io/hostname";
constexpr std::size_t kMostAtOnce = 8;      // PATCHes
constexpr milliseconds kAfterFailure{500};  // before the same pod is tried again
constexpr seconds kUntilTold{5};            // how long a pod waits before its events say why
constexpr seconds kBetweenNotes{60};
constexpr seconds kSizesHold{30};     // how many pods a gang has is asked anew
constexpr std::size_t kMostTold = 8;  // pods of one gang whose events say why it waits

}  // namespace

// ---- the leader's work ----------------------------------------------------------------------------

std::map<std::string, std::string> PlacementWork::hostnames(const Decision& decision) const {
    std::map<std::string, std::string> names;
    for (const scheduling::Target& target : decision.targets) {
        const auto node = served_nodes_.find(target.node);
        if (node == served_nodes_.end()) continue;
        const auto label = node->second.labels.find(kHostnameLabel);
        if (label != node->second.labels.end()) names[target.node] = label->second;
    }
    return names;
}

/// Empty: the pod has changed, and is looked at again later.
std::optional<PlacementWork::Release> PlacementWork::release_of(Waiting& waiting,
                                                                const Decision& decision) {
    const kube_client::ObjectKey key{waiting.pod.name_space, waiting.pod.name};
    waiting.not_before = Steady::now() + kAfterFailure;  // unless it goes
    const auto object = pods_.store().find(key);
    if (object == nullptr || object->uid != waiting.pod.uid) return std::nullopt;
    const scheduling::Plan plan{
        .generation = ++generation_, .asked = waiting.pod.devices, .targets = decision.targets};
    const auto patch = scheduling::release_patch(object->json, plan, hostnames(decision));
    if (!patch) return std::nullopt;
    return Release{
        .waiting = &waiting, .decision = decision, .key = key, .patch = *patch, .failure = {}};
}

/// From any thread; of PlacementWork nothing else is touched.
void PlacementWork::send(Release& one, const std::stop_token& stop) const {
    const auto call = world_.elector.call(stop);
    if (!call) return;
    const auto done = world_.api.patch(kube_client::resources::pods(), one.key, one.patch,
                                       {.kind = kube_client::PatchKind::kJson,
                                        .write = {.field_manager = kFieldManager, .call = *call}});
    one.is_done = static_cast<bool>(done);
    if (!done) one.failure = done.failure().message;
}

/// True: it is no longer in `waiting_`. False: it stays gated, and is not tried again at once.
bool PlacementWork::finish(const Release& one) {
    Waiting& waiting = *one.waiting;
    if (!one.is_done) {
        waiting.not_before = Steady::now() + kAfterFailure;
        if (one.failure.empty()) return false;
        counters_.add_failure();
        log::warning("placement.not_released",
                     {{"pod", waiting.pod.full_name()}, {"reason", one.failure}});
        return false;
    }
    const auto& targets = one.decision.targets;
    counters_.add_release(one.decision.kind, Steady::now() - waiting.seen);
    log::info("placement.released", {{"pod", waiting.pod.full_name()},
                                     {"how", release_reason(one.decision.kind)},
                                     {"node", targets.empty() ? "" : targets.front().node},
                                     {"nodes", targets.size()}});
    const std::string uid = waiting.pod.uid;
    tell_moved(waiting.pod, one.decision);
    gangs_.let_go(uid);
    waiting_.erase(uid);
    let_go_[uid] = Steady::now();
    return true;
}

bool PlacementWork::release(Waiting& waiting, const Decision& decision,
                            const std::stop_token& stop) {
    auto one = release_of(waiting, decision);
    if (!one) return false;
    send(*one, stop);
    return finish(*one);
}

/// All at once: what a PATCH takes is waiting.
void PlacementWork::send_releases(const std::stop_token& stop) {
    if (releases_.empty()) return;
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < releases_.size(); ++i)
            others.emplace_back([this, &stop, i] { send(releases_[i], stop); });
        send(releases_.front(), stop);
    }
    for (const Release& one : releases_) {
        const std::string uid = one.waiting->pod.uid;
        if (!finish(one)) books_->forget(uid);
    }
    releases_.clear();
}

/// A pod that came in place of one that was moved, where it was meant to be.
void PlacementWork::tell_moved(const GpuPod& pod, const Decision& decision) {
    if (decision.targets.size() != 1 || pod.preferred != decision.targets.front()) return;
    const std::string moved = moved_.fulfil(pod);
    if (moved.empty()) return;
    log::info("placement.moved", {{"pod", pod.full_name()}, {"node", pod.preferred->node}});
    events_.record({.regarding = {.api_version = "v1",
                                  .kind = "Pod",
                                  .namespace_name = pod.name_space,
                                  .name = pod.name,
                                  .uid = pod.uid},
                    .warning = false,
                    .reason = "MovedToMakeRoom",
                    .action = "Place",
                    .note = "comes to " + pod.preferred->node + " in place of " + moved +
                            ", which was moved so that GPUs there come free"});
}

void PlacementWork::say_why(Waiting& waiting, const std::string& why) {
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

void PlacementWork::say_why(const GangTurn& turn, const std::string& why) {
    for (std::size_t i = 0; i < std::min(turn.waiting.size(), kMostTold); ++i) {
        const auto waiting = waiting_.find(turn.waiting[i]->uid);
        if (waiting != waiting_.end()) say_why(waiting->second, turn.name + ": " + why);
    }
}

/// Half placed gangs first: what they hold is of use to nobody. Then as the pods come.
std::vector<PlacementWork::Queued> PlacementWork::queue_of(const std::vector<GangTurn>& turns) {
    std::vector<Queued> queue;
    for (auto& [uid, waiting] : waiting_) {
        if (waiting.pod.claim.key.empty()) queue.push_back({&waiting.pod, &waiting, nullptr});
    }
    for (const GangTurn& turn : turns) {
        if (!turn.id.empty()) {
            queue.push_back({turn.first, nullptr, &turn});
            continue;
        }
        for (const GpuPod* const pod : turn.ask) {
            const auto waiting = waiting_.find(pod->uid);
            if (waiting != waiting_.end()) queue.push_back({pod, &waiting->second, nullptr});
        }
    }
    const auto is_half = [](const Queued& one) {
        return one.turn != nullptr && one.turn->is_half_placed;
    };
    std::erase_if(queue, [&](const Queued& one) {
        if (!world_.held || is_half(one)) return false;
        const std::string why = world_.held(one.rank->name_space);
        if (why.empty()) return false;
        if (one.alone != nullptr) say_why(*one.alone, why);
        if (one.turn != nullptr) say_why(*one.turn, why);
        return true;
    });
    std::sort(queue.begin(), queue.end(), [&](const Queued& a, const Queued& b) {
        if (is_half(a) != is_half(b)) return is_half(a);
        return scheduling::comes_before(*a.rank, *b.rank);
    });
    return queue;
}

/// Nodes for it, for people; empty: none has to be kept, or none would do.
std::string PlacementWork::keep_for(const Queued& one) {
    if (one.alone != nullptr) {
        const GpuPod& pod = one.alone->pod;
        if (books_->what_if(pod).kind == Decision::Kind::kWaits) return books_->keep_for(pod);
        return kept_.contains(pod.uid) ? "as before" : "";  // until it has its place
    }
    const GangTurn& turn = *one.turn;
    // Some of its pods may have places that are kept for them: then it is tried again anyway.
    const bool has_places = std::any_of(turn.ask.begin(), turn.ask.end(), [&](const GpuPod* pod) {
        return books_->is_assumed(pod->uid);
    });
    const auto ask = books_->ask_of(turn, turn.ask);
    if (has_places || books_->what_if_gang(ask).kind != Decision::Kind::kWaits)
        return kept_.contains(turn.id) ? "as before" : "";
    return join(books_->keep_for_gang(ask), ",");
}

/// For the first of each resource that has waited long.
void PlacementWork::keep_nodes(const std::vector<Queued>& queue) {
    const auto now = world_.now();
    std::set<std::string> resources;
    std::set<std::string> kept =
        preemptor_.holders([&](const std::string& uid) { return waiting_.contains(uid); });
    for (const Queued& one : queue) {
        const bool is_gang = one.turn != nullptr;
        if (is_gang && one.turn->ask.empty()) continue;
        const GpuPod& asks = is_gang ? *one.turn->ask.front() : one.alone->pod;
        const auto created = parse_rfc3339(one.rank->created);
        const bool is_half = is_gang && one.turn->is_half_placed;
        if (options_.keep_after.count() == 0 || kept.contains(asks.uid)) continue;
        if (!is_half && (!created || now - *created < options_.keep_after)) continue;
        if (asks.devices.empty() || resources.contains(asks.devices.front().resource)) continue;
        const std::string nodes = keep_for(one);
        if (nodes.empty()) continue;
        const std::string& holder = is_gang ? one.turn->id : asks.uid;
        if (!kept_.contains(holder)) {
            log::info("placement.kept",
                      {{"pod", is_gang ? one.turn->name : asks.full_name()}, {"node", nodes}});
        }
        resources.insert(asks.devices.front().resource);
        kept.insert(holder);
    }
    if (kept != kept_) books_->keep_only_for(kept);
    kept_ = std::move(kept);
}

std::string PlacementWork::preempt(const GpuPod& pod, const std::stop_token& stop) {
    if (!options_.preemption) return {};
    const auto outcome = preemptor_.make_room(pod, books_, stop);
    counters_.add_evictions(outcome.evicted, outcome.refused);
    if (outcome.keeps_node) kept_.insert(pod.uid);
    return outcome.words;
}

void PlacementWork::place_alone(Waiting& waiting, std::map<std::string, Decision>& failed,
                                const std::stop_token& stop) {
    const auto now = Steady::now();
    if (waiting.not_before > now) return;
    // Only the pod that a node is kept for may get what others of its shape may not.
    const std::string uid = waiting.pod.uid;
    const std::string shape = books_->shape(waiting.pod) + (kept_.contains(uid) ? "\nkept" : "");
    const auto known = failed.find(shape);
    waiting.pod.preferred = moved_.target_of(waiting.pod, world_.now());
    const Decision decision = known != failed.end() ? known->second : books_->decide(waiting.pod);
    if (decision.kind == Decision::Kind::kWaits) {
        // One pod of each shape at a time: the others see what is left.
        const bool is_first = failed.emplace(shape, decision).second;
        const std::string done = is_first ? preempt(waiting.pod, stop) : std::string();
        say_why(waiting, decision.why + (done.empty() ? "" : "; " + done));
        const bool is_long =
            options_.release_after.count() > 0 && now - waiting.seen >= options_.release_after;
        if (!is_long) return;
    }
    if (auto one = release_of(waiting, decision))
        releases_.push_back(*std::move(one));
    else
        books_->forget(uid);
    if (releases_.size() >= kMostAtOnce) send_releases(stop);
}

/// False: they have no place now.
bool PlacementWork::place_together(const GangTurn& turn, const std::vector<const GpuPod*>& pods,
                                   const std::stop_token& stop) {
    const auto ask = books_->ask_of(turn, pods);
    const auto decision = books_->decide_gang(ask);
    if (decision.kind == Decision::Kind::kWaits || decision.kind == Decision::Kind::kNever) {
        say_why(turn, decision.why);
        return false;
    }
    // What was decided stays booked for those whose PATCH fails: they go with the next look.
    bool all = true;
    for (std::size_t i = 0; i < pods.size() && all; ++i) {
        const auto waiting = waiting_.find(pods[i]->uid);
        if (waiting == waiting_.end()) return false;
        Decision own{.kind = Decision::Kind::kNotServed};
        if (!decision.targets[i].node.empty())
            own = {.kind = Decision::Kind::kPlaced, .targets = {decision.targets[i]}};
        all = !stop.stop_requested() && release(waiting->second, own, stop);
    }
    if (!all) return true;
    if (turn.at_once) counters_.add_gang();
    log::info("placement.gang",
              {{"gang", turn.name}, {"pods", pods.size()}, {"domain", decision.domain}});
    return true;
}

void PlacementWork::place_gang(const GangTurn& turn, const std::stop_token& stop) {
    const auto now = Steady::now();
    if (turn.ask.empty()) {
        for (const GpuPod* const pod : turn.waiting) books_->forget(pod->uid);
        return say_why(turn, turn.why);
    }
    for (const GpuPod* const pod : turn.ask) {
        const auto waiting = waiting_.find(pod->uid);
        if (waiting == waiting_.end() || waiting->second.not_before > now) return;
    }
    if (turn.at_once) {
        place_together(turn, turn.ask, stop);
        return;
    }
    for (const GpuPod* const pod : turn.ask) {
        if (!place_together(turn, {pod}, stop)) return;
    }
}

/// Gangs that some of whose pods have held places for a while that are of no use without the others.
void PlacementWork::undo_half_placed(const std::vector<GangTurn>& turns,
                                     const std::stop_token& stop) {
    const auto now = Steady::now();
    std::map<std::string, Steady::time_point> half_placed;
    for (const GangTurn& turn : turns) {
        if (!turn.is_half_placed) continue;
        const auto known = half_placed_.find(turn.id);
        const auto since = known == half_placed_.end() ? now : known->second;
        half_placed[turn.id] = since;
        const bool placed = !turn.ask.empty() && !waiting_.contains(turn.ask.back()->uid);
        if (placed || now - since < options_.unfit_patience) continue;
        const auto tended = released_.undo(turn, stop);
        if (tended.remade > 0) counters_.add_undone_gang();
        for (unsigned i = 0; i < tended.remade; ++i) counters_.add_remade();
        for (const std::string& uid : tended.stuck) books_->forget(uid);
    }
    half_placed_ = std::move(half_placed);
}

/// In the order of the queue; who does not fit keeps nobody else back.
void PlacementWork::place(const std::stop_token& stop) {
    const auto now = Steady::now();
    if (now - looked_anew_ > kSizesHold) {
        gangs_.look_again();
        looked_anew_ = looked_ = now;
    } else if (now - looked_ > kUntilTold) {
        gangs_.forget_failures();
        looked_ = now;
    }
    const auto turns = gangs_.turns();
    const auto queue = queue_of(turns);
    keep_nodes(queue);
    preemptor_.begin_look();
    std::map<std::string, Decision> failed;  // by shape: what frees nothing changes no answer
    for (const Queued& one : queue) {
        if (stop.stop_requested() || !world_.elector.leads()) break;
        if (one.alone != nullptr) place_alone(*one.alone, failed, stop);
        if (one.turn == nullptr) continue;
        send_releases(stop);
        place_gang(*one.turn, stop);
    }
    send_releases(stop);
    if (world_.elector.leads()) undo_half_placed(turns, stop);
    gauge_gangs(turns);
}

void PlacementWork::gauge_gangs(const std::vector<GangTurn>& turns) {
    const auto now = world_.now();
    PlacementCounters::GangGauges gauges;
    for (const GangTurn& turn : turns) {
        bool waits = false;
        for (const GpuPod* const pod : turn.waiting) {
            const auto created = parse_rfc3339(pod->created);
            if (turn.id.empty() || !waiting_.contains(pod->uid)) continue;
            waits = true;
            if (created)
                gauges.oldest =
                    std::max(gauges.oldest, std::chrono::floor<seconds>(now - *created));
        }
        gauges.waiting += waits ? 1 : 0;
    }
    gauges.half_placed = half_placed_.size();
    counters_.set_gangs(gauges);
}

void PlacementWork::tend_released(const std::stop_token& stop) {
    const auto tended = released_.tend(stop);
    for (unsigned i = 0; i < tended.remade; ++i) counters_.add_remade();
    for (const std::string& uid : tended.stuck) books_->forget(uid);
}

}  // namespace aliquot::controller
