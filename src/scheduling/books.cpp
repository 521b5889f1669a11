// SPDX-License-Identifier: Apache-2.0
#include "scheduling/books.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "placement/workload.h"
#include "scheduling/booking_rows.h"
#include "scheduling/bookings.h"
#include "scheduling/fit.h"
#include "scheduling/gang_fit.h"
#include "scheduling/near_miss.h"
#include "scheduling/neighbours.h"

namespace aliquot::scheduling {
namespace {

constexpr std::uint64_t kLearnEvery = 64;  // decisions
constexpr unsigned kFirstLook = 32;        // candidates, before all are asked for

struct Candidate {
    std::int64_t cost = 0;
    Target target;
    NodeRank rank;
};

/// What other pods mean for a pod, as long as this lives.
class Seen {
public:
    Seen(GpuPod& pod, const Bookings& bookings) : pod_(pod) {
        if (!Neighbours::matter(pod, bookings)) return;
        neighbours_.emplace(pod, bookings);
        pod.neighbours = &*neighbours_;
    }
    ~Seen() { pod_.neighbours = nullptr; }
    Seen(const Seen&) = delete;
    Seen& operator=(const Seen&) = delete;

private:
    GpuPod& pod_;
    std::optional<Neighbours> neighbours_;
};

}  // namespace

class Books::State {
public:
    explicit State(Options options) : options_(options) {}

    Decision decide(const GpuPod& pod, bool keep);
    std::map<std::string, std::int64_t> costs(const GpuPod& pod);
    std::string keep_for(const GpuPod& pod);
    GangDecision decide_gang(const GangAsk& ask);
    std::set<std::string> keep_for_gang(const GangAsk& ask);
    std::vector<NearMiss> gang_misses(const GangAsk& ask, const GangDecision& decision,
                                      std::size_t most);
    [[nodiscard]] Bookings& bookings() { return bookings_; }

private:
    std::vector<Candidate> candidates(const GpuPod& pod, unsigned wanted);
    void add_candidates(const GpuPod& pod, const placement::Request& request, unsigned wanted,
                        std::vector<Candidate>& found);
    [[nodiscard]] std::optional<Target> target_of(const GpuPod& pod,
                                                  const placement::Request& request,
                                                  const placement::Placement& place) const;
    [[nodiscard]] std::vector<Target> choose(const GpuPod& pod, std::vector<Candidate> found,
                                             unsigned wanted) const;
    [[nodiscard]] bool could_ever(const GpuPod& pod) const;
    void learn(const GpuPod& pod);

    const Options options_;
    Bookings bookings_;
    placement::ArrivalHistory history_;
};

// ---- the next place -------------------------------------------------------------------------------

std::optional<Target> Books::State::target_of(const GpuPod& pod, const placement::Request& request,
                                              const placement::Placement& place) const {
    const Pool& pool = bookings_.pools().of(place.node);
    const ServedNode& node = bookings_.nodes().at(pool.node);
    if (!keeps_off(pod, node).empty()) return std::nullopt;
    Target target{.node = node.name};
    const DeviceRequest& main = pod.devices.front();
    const bool apart = pool.units > 1 && main.count > 1 && !node.on_one_gpu.contains(pool.resource);
    // Asked for was room for all units on one GPU, or for one of those that go to several.
    const bool asked_apart =
        pool.units > 1 && request.milli < placement::kWholeGpu && request.mib == 1;
    if (pool.units > 1 && main.count > 1 && apart != asked_apart) return std::nullopt;
    if (pod.devices.size() > 1 || apart) {
        auto units = fit_on(pod, node, bookings_.pools());
        if (!units) return std::nullopt;
        target.units = *std::move(units);
        return target;
    }
    const unsigned each = pool.units > 1 ? main.count : 1;
    for (const std::uint8_t device : place.devices)
        target.units[pool.resource][pool.gpus[device]] = each;
    return target;
}

void Books::State::add_candidates(const GpuPod& pod, const placement::Request& request,
                                  unsigned wanted, std::vector<Candidate>& found) {
    const auto all = bookings_.pools().engine().node_count();
    // What is cheapest may be what other pods and preferences make less good: then all are compared.
    const unsigned first = pod.neighbours != nullptr ? all : std::max(kFirstLook, wanted);
    for (unsigned count = std::min(first, all);; count = all) {
        const auto places = bookings_.pools().engine().alternatives(request, count);
        std::vector<Candidate> good;
        for (const placement::Placement& place : places) {
            if (auto target = target_of(pod, request, place))
                good.push_back({place.cost.total, *std::move(target), {}});
        }
        if (good.size() >= wanted || places.size() < count || count == all) {
            std::move(good.begin(), good.end(), std::back_inserter(found));
            return;
        }
    }
}

std::vector<Candidate> Books::State::candidates(const GpuPod& pod, unsigned wanted) {
    std::vector<Candidate> found;
    const DeviceRequest& main = pod.devices.front();
    for (const unsigned units : bookings_.pools().units_of(main.resource)) {
        std::set<unsigned> counts = {main.count};
        if (units > 1 && main.count > 1) counts.insert(1);  // each on another GPU
        for (const unsigned count : counts) {
            if (units > 1 && count > units) continue;
            if (units <= 1 && count > placement::kMostDevices) continue;
            placement::Request request = request_of(main.resource, units, count);
            request.cpu_milli = pod.cpu_milli;
            request.memory_mib = pod.memory_mib;
            add_candidates(pod, request, wanted, found);
        }
    }
    if (pod.neighbours != nullptr) {
        for (Candidate& one : found)
            one.rank = pod.neighbours->rank(bookings_.nodes().at(one.target.node));
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return std::tie(a.rank, a.cost) < std::tie(b.rank, b.cost);
    });
    std::set<std::string> seen;
    std::erase_if(found,
                  [&](const Candidate& one) { return !seen.insert(one.target.node).second; });
    return found;
}

/// The best first; of a pod that is spread between zones one of each before a second of any.
std::vector<Target> Books::State::choose(const GpuPod& pod, std::vector<Candidate> found,
                                         unsigned wanted) const {
    std::vector<Target> targets;
    std::set<std::string> zones;
    for (const bool any_zone : {false, true}) {
        for (Candidate& one : found) {
            if (targets.size() >= wanted || one.target.node.empty()) continue;
            const auto& labels = bookings_.nodes().at(one.target.node).labels;
            const auto zone = labels.find(kZoneLabel);
            const bool fresh =
                zones.insert(zone == labels.end() ? one.target.node : zone->second).second;
            if (pod.spreads && !any_zone && !fresh) continue;
            targets.push_back(std::move(one.target));
            one.target.node.clear();
        }
    }
    return targets;
}

bool Books::State::could_ever(const GpuPod& asked) const {
    GpuPod pod = asked;  // other pods end, and volumes come
    pod.neighbours = nullptr;
    pod.volumes.clear();
    return std::any_of(bookings_.nodes().begin(), bookings_.nodes().end(), [&](const auto& one) {
        ServedNode open = one.second;
        open.is_open = true;
        open.kept_for = {};
        std::erase_if(open.taints, ends_by_itself);
        return keeps_off(pod, open).empty() && fits_when_empty(pod, open);
    });
}

void Books::State::learn(const GpuPod& pod) {
    if (pod.devices.empty() || !bookings_.pools().serves(pod.devices.front().resource)) return;
    const DeviceRequest& main = pod.devices.front();
    placement::Request request =
        request_of(main.resource, *bookings_.pools().units_of(main.resource).begin(), main.count);
    request.cpu_milli = pod.cpu_milli;
    if (!placement::checked(request)) return;
    history_.arrived(request);
    if (history_.arrivals() % kLearnEvery == 1) bookings_.expect(history_.types());
}

Decision Books::State::decide(const GpuPod& asked, bool keep) {
    GpuPod pod = asked;
    std::erase_if(pod.devices, [&](const DeviceRequest& one) {
        return !bookings_.pools().serves(one.resource);
    });
    if (pod.devices.empty()) return {};
    const auto size = [](const DeviceRequest& one) { return one.count; };
    std::stable_sort(pod.devices.begin(), pod.devices.end(),
                     [&](const auto& a, const auto& b) { return size(a) > size(b); });
    if (keep) bookings_.forget(pod.uid);
    const Seen seen(pod, bookings_);
    const bool several =
        bookings_.pools().units_of(pod.devices.front().resource) == std::set<unsigned>{1} &&
        pod.devices.front().count > 1;
    const unsigned wanted = several ? 1 : pod.spreads ? options_.spread_targets : options_.targets;
    std::vector<Target> targets;
    if (auto target = fit_wish(pod, bookings_.nodes(), bookings_.pools())) {
        targets.push_back(*std::move(target));
    } else {
        targets = choose(pod, candidates(pod, wanted), wanted);
    }
    if (targets.empty()) {
        const bool ever = could_ever(pod);
        return {.kind = ever ? Decision::Kind::kWaits : Decision::Kind::kNever,
                .why = why_nowhere(pod, bookings_.nodes(), bookings_.pools())};
    }
    if (keep) {
        learn(pod);
        bookings_.plan(asked, targets);
    }
    return {.kind = Decision::Kind::kPlaced, .targets = std::move(targets)};
}

std::map<std::string, std::int64_t> Books::State::costs(const GpuPod& asked) {
    GpuPod pod = asked;
    std::erase_if(pod.devices, [&](const DeviceRequest& one) {
        return !bookings_.pools().serves(one.resource);
    });
    std::map<std::string, std::int64_t> costs;
    if (pod.devices.empty()) return costs;
    std::ranges::stable_sort(pod.devices, std::greater<>(), &DeviceRequest::count);
    const unsigned all = bookings_.pools().engine().node_count();
    for (const Candidate& one : candidates(pod, all)) costs.emplace(one.target.node, one.cost);
    return costs;
}

std::string Books::State::keep_for(const GpuPod& asked) {
    GpuPod pod = asked;
    const Seen seen(pod, bookings_);
    for (const auto& [name, node] : bookings_.nodes()) {
        if (node.kept_for.holder == pod.holder() && keeps_off(pod, node).empty()) return name;
    }
    const auto misses =
        scheduling::near_misses(pod, bookings_, 1);  // a node that is kept for others is none
    if (misses.empty() || misses.front().ends.empty()) return {};
    bookings_.keep_nodes({misses.front().node}, {pod.holder(), pod.full_name(), pod.priority});
    return misses.front().node;
}

// ---- gangs ----------------------------------------------------------------------------------------

GangDecision Books::State::decide_gang(const GangAsk& ask) {
    for (const GpuPod& pod : ask.pods) bookings_.forget(pod.uid);
    GangDecision decision = fit_gang(ask, bookings_);
    if (decision.kind != Decision::Kind::kPlaced) return decision;
    for (std::size_t i = 0; i < ask.pods.size(); ++i) {
        if (decision.targets[i].node.empty()) continue;
        bookings_.plan(ask.pods[i], {decision.targets[i]});
        learn(ask.pods[i]);
    }
    return decision;
}

std::set<std::string> Books::State::keep_for_gang(const GangAsk& ask) {
    std::set<std::string> kept;
    for (const auto& [name, node] : bookings_.nodes()) {
        if (node.kept_for.holder == ask.id) kept.insert(name);
    }
    if (!kept.empty() || ask.pods.empty()) return kept;
    kept = nodes_to_keep(ask, bookings_);
    if (!kept.empty()) bookings_.keep_nodes(kept, {ask.id, ask.name, ask.pods.front().priority});
    return kept;
}

std::vector<NearMiss> Books::State::gang_misses(const GangAsk& ask, const GangDecision& decision,
                                                std::size_t most) {
    const auto missing = std::find(decision.fits.begin(), decision.fits.end(), false);
    if (missing == decision.fits.end()) return {};
    for (std::size_t i = 0; i < ask.pods.size(); ++i) {
        if (decision.fits[i] && !decision.targets[i].node.empty())
            bookings_.plan(ask.pods[i], {decision.targets[i]});
    }
    const auto index = static_cast<std::size_t>(missing - decision.fits.begin());
    auto misses = scheduling::near_misses(ask.pods[index], bookings_, most);
    for (const GpuPod& one : ask.pods) bookings_.forget(one.uid);
    return misses;
}

// ---- the public face ------------------------------------------------------------------------------

Books::Books() : Books(Options{}) {}
Books::Books(Options options) : state_(std::make_unique<State>(options)) {}
Books::~Books() = default;
Books::Books(Books&&) noexcept = default;
Books& Books::operator=(Books&&) noexcept = default;
void Books::set_node(ServedNode node) { state_->bookings().set_node(std::move(node)); }
void Books::remove_node(const std::string& name) { state_->bookings().remove_node(name); }
void Books::set_labels(const std::string& node, k8s::Labels labels) {
    state_->bookings().set_labels(node, std::move(labels));
}
void Books::remove_labels(const std::string& node) { state_->bookings().remove_labels(node); }
void Books::set_pod(const GpuPod& pod) { state_->bookings().set_pod(pod); }
void Books::remove_pod(const std::string& uid) { state_->bookings().remove_pod(uid); }
void Books::forget(const std::string& uid) { state_->bookings().forget(uid); }
void Books::adopt(const GpuPod& pod, const std::vector<Target>& targets) {
    state_->bookings().plan(pod, targets);
}
Seat Books::bind(const GpuPod& pod, const std::string& node) {
    return state_->bookings().bind(pod, node);
}
void Books::take_back(const std::string& uid) { state_->bookings().take_back(uid); }
std::vector<NodeVerdict> Books::judge(const GpuPod& pod,
                                      const std::vector<std::string>& nodes) const {
    std::vector<NodeVerdict> verdicts;
    verdicts.reserve(nodes.size());
    for (const std::string& node : nodes) verdicts.push_back(state_->bookings().judge(pod, node));
    return verdicts;
}
std::map<std::string, std::int64_t> Books::costs(const GpuPod& pod) { return state_->costs(pod); }
Decision Books::decide(const GpuPod& pod) { return state_->decide(pod, true); }
Decision Books::what_if(const GpuPod& pod) { return state_->decide(pod, false); }
std::vector<NearMiss> Books::near_misses(const GpuPod& asked, std::size_t most) const {
    GpuPod pod = asked;
    const Seen seen(pod, state_->bookings());
    return scheduling::near_misses(pod, state_->bookings(), most);
}
std::string Books::keep_for(const GpuPod& pod) { return state_->keep_for(pod); }
void Books::keep_only_for(const std::set<std::string>& holders) {
    state_->bookings().keep_only_for(holders);
}
GangAsk Books::ask_of(const GangTurn& turn, const std::vector<const GpuPod*>& pods) const {
    GangAsk ask{.id = turn.id, .name = turn.name};
    for (const GpuPod* const one : pods) {
        ask.pods.push_back(*one);
        ask.pods.back().gang = turn.id;
    }
    for (const GpuPod* const one : turn.let_go) {
        const std::string node =
            one->node.empty() ? state_->bookings().node_planned_for(one->uid) : one->node;
        if (!node.empty()) ask.near.insert(node);
    }
    return ask;
}
std::optional<Preemption> Books::preemption_for(const GpuPod& pod,
                                                const PreemptionRules& rules) const {
    GpuPod asks = pod;
    std::erase_if(asks.devices, [&](const DeviceRequest& one) { return !serves(one.resource); });
    return scheduling::preemption_for(asks, state_->bookings(), rules);
}
DefragPlan Books::plan_defrag(const MoveRules& rules) {
    return scheduling::plan_defrag(state_->bookings(), rules);
}
WhollyFree Books::wholly_free() const { return scheduling::wholly_free(state_->bookings()); }
Replay Books::replay(const MoveRules& rules, const std::vector<PlannedMove>& moves) {
    return scheduling::replay(state_->bookings(), rules, moves);
}
void Books::keep_node(const GpuPod& pod, const std::string& node) {
    state_->bookings().keep_nodes({node}, {pod.holder(), pod.full_name(), pod.priority});
}
GangDecision Books::decide_gang(const GangAsk& ask) { return state_->decide_gang(ask); }
GangDecision Books::what_if_gang(const GangAsk& ask) const {
    return fit_gang(ask, state_->bookings());
}
std::vector<GangDecision> Books::what_if_in_turn(const std::vector<GangAsk>& asks) {
    return fit_in_turn(asks, state_->bookings());
}
std::set<std::string> Books::keep_for_gang(const GangAsk& ask) {
    return state_->keep_for_gang(ask);
}
std::vector<NearMiss> Books::gang_misses(const GangAsk& ask, const GangDecision& decision,
                                         std::size_t most) {
    return state_->gang_misses(ask, decision, most);
}
bool Books::is_assumed(const std::string& uid) const { return state_->bookings().is_planned(uid); }
bool Books::serves(const std::string& resource) const {
    return state_->bookings().pools().serves(resource);
}
std::map<std::string, std::size_t> Books::placed_of(const std::set<std::string>& owners) const {
    std::map<std::string, std::size_t> placed;
    state_->bookings().visit([&](const GpuPod& pod, const std::vector<Target>&) {
        if (owners.contains(pod.owner)) ++placed[pod.owner];
    });
    return placed;
}
std::string Books::shape(const GpuPod& pod) const {
    return shape_of(pod, state_->bookings().has_pods_apart());
}
std::vector<GpuBooking> Books::gpus() const { return booking_rows(state_->bookings()); }
std::uint64_t Books::overbooked() const { return state_->bookings().overbooked(); }
std::string Books::self_check() { return state_->bookings().self_check(); }

}  // namespace aliquot::scheduling
