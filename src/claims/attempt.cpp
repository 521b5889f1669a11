// SPDX-License-Identifier: Apache-2.0
#include "claims/attempt.h"

#include <algorithm>

#include "base/sentence.h"
#include "base/text.h"
#include "claims/capacity.h"

namespace aliquot::claims {
namespace {

constexpr std::size_t kMostSteps = 200'000;
constexpr std::size_t kMostRefusals = 1'000;
constexpr std::size_t kShownExpression = 100;

std::string taint_refuses(const SubRequest& subrequest, const Device& device) {
    for (const k8s::Taint& taint : device.taints) {
        if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
        if (!k8s::tolerates(subrequest.tolerations, taint)) {
            return "the taint " + k8s::to_text(taint) + " is not tolerated";
        }
    }
    return {};
}

std::string selector_refuses(const std::vector<Selector>& selectors, std::string_view owner,
                             const cel::Variables& variables, std::string& fatal) {
    for (const Selector& selector : selectors) {
        const auto said = selector.matches(variables);
        const std::string shown =
            std::string(owner) + " '" + one_line(selector.text(), kShownExpression) + "'";
        if (!said) {
            fatal = shown + " fails: " + said.error().message;
            return fatal;
        }
        if (!*said) return shown + " is false";
    }
    return {};
}

}  // namespace

Attempt::Attempt(const Cluster& cluster, const NodeView& node, const std::vector<Claim>& claims,
                 const std::function<std::string()>& new_share)
    : cluster_(cluster),
      node_(node),
      claims_(claims),
      new_share_(new_share),
      pools_(pools_of(cluster.slices, node)),
      books_(books_of(cluster.claims)),
      chosen_(claims.size()) {
    for (const Pool& pool : pools_) {
        for (const Pool::Place& place : pool.devices) {
            candidates_.push_back({&pool, place.device, place.local});
        }
        for (const auto& [name, device] : pool.all_devices) {
            const auto held = books_.holders.find({pool.id.driver, pool.id.pool, name});
            if (held == books_.holders.end()) continue;
            in_use_[held->first] = static_cast<unsigned>(held->second.size());
            count_counters(pool, *device, 1);
        }
    }
    for (const Claim& claim : claims) {
        std::vector<ConstraintState> states;
        for (const Constraint& constraint : claim.constraints) states.emplace_back(constraint);
        constraints_.push_back(std::move(states));
    }
}

Answer Attempt::run() {
    Answer answer;
    if (next({})) {
        answer.allocations = std::move(chosen_);
    } else {
        answer.failure = failure_text();
    }
    answer.refusals = std::move(refusals_);
    return answer;
}

std::vector<Refusal> Attempt::look() {
    for (std::size_t c = 0; c < claims_.size(); ++c) {
        for (std::size_t r = 0; r < claims_[c].requests.size(); ++r) {
            for (const SubRequest& subrequest : claims_[c].requests[r].subrequests) {
                for (const Candidate& candidate : candidates_) {
                    Amounts consumed;
                    std::string why = refusal(subrequest, candidate, consumed);
                    fatal_.clear();
                    if (!why.empty()) refuse({c, r}, subrequest, candidate.id(), std::move(why));
                }
            }
        }
    }
    return std::move(refusals_);
}

bool Attempt::next(Place place) {
    while (place.claim < claims_.size() && place.request >= claims_[place.claim].requests.size()) {
        place = {place.claim + 1, 0};
    }
    if (place.claim >= claims_.size()) return true;
    const Request& request = claims_[place.claim].requests[place.request];
    for (const SubRequest& subrequest : request.subrequests) {
        if (!cluster_.classes.contains(subrequest.device_class)) {
            refuse(place, subrequest, {}, "there is no DeviceClass " + subrequest.device_class);
            continue;
        }
        if (candidates_.empty()) {
            refuse(place, subrequest, {}, "no ResourceSlice has a device for this node");
            continue;
        }
        if (subrequest.all ? choose_all(place, subrequest) : choose(place, subrequest, 0, 0))
            return true;
        if (!fatal_.empty()) return false;
        if (!subrequest.all && subrequest.count > 1) {
            refuse(place, subrequest, {},
                   "no " + std::to_string(subrequest.count) + " devices of the node fit");
        }
    }
    return false;
}

bool Attempt::choose(Place place, const SubRequest& subrequest, std::size_t count,
                     std::size_t from) {
    if (count >= static_cast<std::size_t>(std::max<std::int64_t>(subrequest.count, 1))) {
        return done_with(place, subrequest);
    }
    for (std::size_t i = from; i < candidates_.size(); ++i) {
        if (take(place, subrequest, candidates_[i])) {
            if (choose(place, subrequest, count + 1, i + 1)) return true;
            give_back(place, subrequest);
        }
        if (!fatal_.empty()) return false;
    }
    return false;
}

bool Attempt::choose_all(Place place, const SubRequest& subrequest) {
    std::size_t count = 0;
    bool every = true;
    for (const Candidate& candidate : candidates_) {
        if (!selectors_refuse(subrequest, candidate).empty()) {
            if (!fatal_.empty()) break;
            continue;
        }
        every = take(place, subrequest, candidate);
        if (!every) break;
        ++count;
    }
    if (fatal_.empty() && every && count == 0) {
        refuse(place, subrequest, {}, "allocationMode All: no device of the node matches");
    }
    if (fatal_.empty() && every && count > 0 && done_with(place, subrequest)) return true;
    for (; count > 0; --count) give_back(place, subrequest);
    return false;
}

bool Attempt::done_with(Place place, const SubRequest& subrequest) {
    auto& configurations = chosen_[place.claim].configurations;
    const std::size_t before = configurations.size();
    configure(place, subrequest);
    if (next({place.claim, place.request + 1})) return true;
    configurations.resize(before);
    return false;
}

void Attempt::configure(Place place, const SubRequest& subrequest) {
    const Claim& claim = claims_[place.claim];
    const Request& request = claim.requests[place.request];
    auto& list = chosen_[place.claim].configurations;
    for (const Configuration& one : cluster_.classes.at(subrequest.device_class).configurations) {
        list.emplace_back("FromClass", Configuration{{request.name_of(subrequest)}, one.opaque});
    }
    const bool last = place.request + 1 == claim.requests.size();
    if (!last) return;
    for (const Configuration& one : claim.configurations) list.emplace_back("FromClaim", one);
}

bool Attempt::take(Place place, const SubRequest& subrequest, const Candidate& candidate) {
    if (++steps_ > kMostSteps) {
        fatal_ = "more than 200000 combinations of devices tried";
        return false;
    }
    const Request& request = claims_[place.claim].requests[place.request];
    Amounts consumed;
    std::string why = refusal(subrequest, candidate, consumed);
    auto& states = constraints_[place.claim];
    std::size_t added = 0;
    while (why.empty() && added < states.size()) {
        why = states[added].add(*candidate.device, request.name, subrequest.name);
        if (why.empty()) ++added;
    }
    if (!why.empty()) {
        while (added > 0) states[--added].remove(request.name, subrequest.name);
        refuse(place, subrequest, candidate.id(), std::move(why));
        return false;
    }
    Allocated device{.request = request.name_of(subrequest),
                     .device = candidate.id(),
                     .admin = subrequest.admin};
    if (candidate.device->shared && !subrequest.admin) device.share = new_share_();
    if (candidate.device->shared) device.consumed = std::move(consumed);
    device.tolerations_node = subrequest.tolerations_node;
    device.binding_conditions = candidate.device->binding_conditions;
    device.binding_failures = candidate.device->binding_failures;
    books_.take(claims_[place.claim].full_name(), device);
    if (!subrequest.admin && in_use_[device.device]++ == 0) {
        count_counters(*candidate.pool, *candidate.device, 1);
    }
    Allocation& allocation = chosen_[place.claim];
    if (candidate.local) allocation.node_name = node_.name;
    allocation.devices.push_back(std::move(device));
    return true;
}

void Attempt::give_back(Place place, const SubRequest& subrequest) {
    Allocation& allocation = chosen_[place.claim];
    const Allocated device = std::move(allocation.devices.back());
    allocation.devices.pop_back();
    const Request& request = claims_[place.claim].requests[place.request];
    for (ConstraintState& state : constraints_[place.claim])
        state.remove(request.name, subrequest.name);
    if (device.admin) return;
    books_.holders[device.device].pop_back();
    if (device.share.empty()) {
        books_.whole.erase(device.device);
    } else {
        subtract(books_.consumed[device.device], device.consumed);
    }
    if (--in_use_[device.device] > 0) return;
    const auto pool =
        std::ranges::find(pools_, PoolId{device.device.driver, device.device.pool}, &Pool::id);
    count_counters(*pool, *pool->all_devices.at(device.device.device), -1);
}

std::string Attempt::refusal(const SubRequest& subrequest, const Candidate& candidate,
                             Amounts& consumed) {
    std::string why = selectors_refuse(subrequest, candidate);
    if (why.empty()) why = taint_refuses(subrequest, *candidate.device);
    if (why.empty()) why = room_refuses(subrequest, candidate, consumed);
    return why;
}

std::string Attempt::selectors_refuse(const SubRequest& subrequest, const Candidate& candidate) {
    if (!candidate.pool->complete) {
        return "the pool is not usable: " + candidate.pool->why_incomplete;
    }
    const auto [found, is_new] = selected_.try_emplace({&subrequest, candidate.device});
    if (!is_new) return found->second;
    const auto device_class = cluster_.classes.find(subrequest.device_class);
    if (device_class == cluster_.classes.end()) {
        return found->second = "there is no DeviceClass " + subrequest.device_class;
    }
    const auto variables = variables_of(*candidate.device, candidate.pool->id.driver);
    const DeviceClass& named = device_class->second;
    found->second =
        selector_refuses(named.selectors, "the selector of class " + named.name, variables, fatal_);
    if (found->second.empty()) {
        found->second = selector_refuses(subrequest.selectors, "the selector", variables, fatal_);
    }
    return found->second;
}

std::string Attempt::room_refuses(const SubRequest& subrequest, const Candidate& candidate,
                                  Amounts& consumed) const {
    const std::string& driver = candidate.pool->id.driver;
    const Device& device = *candidate.device;
    const DeviceId id = candidate.id();
    auto amounts = taken_of(device, driver, subrequest.capacity);
    if (!amounts) return amounts.error().message;
    consumed = *std::move(amounts);
    if (subrequest.admin) return {};
    const auto held = books_.holders.find(id);
    const bool has_holders = held != books_.holders.end() && !held->second.empty();
    if (has_holders && (!device.shared || books_.whole.contains(id))) {
        return "it is allocated to claim " + join(held->second);
    }
    if (has_holders) {
        const auto used = books_.consumed.find(id);
        if (used != books_.consumed.end()) {
            std::string over = over_capacity(device, driver, used->second, consumed);
            if (!over.empty()) return over + " (held by claim " + join(held->second) + ")";
        }
        return {};
    }
    return counters_refuse(candidate);
}

std::string Attempt::counters_refuse(const Candidate& candidate) const {
    for (const auto& [set, counters] : candidate.device->consumes) {
        const auto known = candidate.pool->counters.find(set);
        if (known == candidate.pool->counters.end()) {
            return "the pool has no counter set " + set;
        }
        for (const auto& [name, amount] : counters) {
            const auto all = known->second.find(name);
            if (all == known->second.end()) return "the counter set " + set + " has no " + name;
            const auto used = counters_.find({candidate.pool->id, set, name});
            const Quantity::Nanos held = used == counters_.end() ? 0 : used->second;
            if (held + amount.nanos() <= all->second.nanos()) continue;
            const auto left = Quantity::of(all->second.nanos() - held, all->second.format());
            return "counter " + set + "/" + name + ": the device takes " + amount.canonical() +
                   ", " + left.canonical() + " of " + all->second.canonical() + " left" +
                   holders_text(*candidate.pool, set, name);
        }
    }
    return {};
}

/// " (held by claim ai/a, ai/b)": whose devices take of this counter.
std::string Attempt::holders_text(const Pool& pool, const std::string& set,
                                  const std::string& name) const {
    std::set<std::string> claims;
    for (const auto& [id, holders] : books_.holders) {
        if (id.driver != pool.id.driver || id.pool != pool.id.pool) continue;
        const auto device = pool.all_devices.find(id.device);
        if (device == pool.all_devices.end()) continue;
        const auto counters = device->second->consumes.find(set);
        if (counters == device->second->consumes.end() || !counters->second.contains(name))
            continue;
        claims.insert(holders.begin(), holders.end());
    }
    return claims.empty() ? "" : " (held by claim " + join(claims) + ")";
}

void Attempt::count_counters(const Pool& pool, const Device& device, int sign) {
    for (const auto& [set, counters] : device.consumes) {
        for (const auto& [name, amount] : counters) {
            counters_[{pool.id, set, name}] += sign * amount.nanos();
        }
    }
}

void Attempt::refuse(Place place, const SubRequest& subrequest, DeviceId device,
                     std::string reason) {
    const Claim& claim = claims_[place.claim];
    const std::string request = claim.requests[place.request].name_of(subrequest);
    if (refusals_.size() >= kMostRefusals) return;
    if (!refused_.emplace(claim.full_name(), request, device).second) return;
    refusals_.push_back({claim.full_name(), request, std::move(device), std::move(reason)});
}

std::string Attempt::failure_text() const {
    if (!fatal_.empty()) {
        return refusals_.empty() ? fatal_
                                 : "claim " + refusals_.back().claim + ": request " +
                                       refusals_.back().request + ": " + fatal_;
    }
    if (refusals_.empty()) return "cannot allocate all claims";
    const Refusal& first = refusals_.front();
    std::string text = "claim " + first.claim + ": request " + first.request + ": ";
    if (!first.device.device.empty()) text += "device " + to_text(first.device) + ": ";
    return text + first.reason;
}

Answer allocate(const Cluster& cluster, const NodeView& node, const std::vector<Claim>& claims,
                const std::function<std::string()>& new_share) {
    return Attempt(cluster, node, claims, new_share).run();
}

std::vector<Refusal> refusals_of(const Cluster& cluster, const NodeView& node, const Claim& claim) {
    const std::vector<Claim> one{claim};
    const std::function<std::string()> no_share = [] { return std::string(); };
    return Attempt(cluster, node, one, no_share).look();
}

}  // namespace aliquot::claims
