// SPDX-License-Identifier: Apache-2.0
#include "scheduling/bookings.h"

#include <algorithm>
#include <utility>

#include "scheduling/fit.h"
#include "scheduling/plan.h"

namespace aliquot::scheduling {

// ---- nodes ----------------------------------------------------------------------------------------

void Bookings::set_node(ServedNode node) {
    const auto found = nodes_.find(node.name);
    const bool is_new = found == nodes_.end();
    const bool same = !is_new && found->second.has_same_devices(node);
    const Granted before = is_new ? Granted() : std::move(found->second.granted);
    const std::string name = node.name;
    if (!is_new) node.kept_for = found->second.kept_for;
    ServedNode& kept = nodes_[name] = std::move(node);
    if (!same) {
        if (!is_new) return rebuild();
        pools_.add(kept);
    }
    std::vector<Entry*> moved;
    for (auto& [uid, entry] : entries_) {
        if (entry.pod.node != name) continue;
        const auto was = before.find(uid);
        const auto is = kept.granted.find(uid);
        const bool told = is != kept.granted.end();
        if (!is_new && (!told || (was != before.end() && was->second == is->second))) continue;
        moved.push_back(&entry);
    }
    settle(moved);
}

void Bookings::remove_node(const std::string& name) {
    if (nodes_.erase(name) > 0) rebuild();
}

void Bookings::rebuild() {
    pools_ = Pools();
    for (const auto& [name, node] : nodes_) pools_.add(node);
    pools_.engine().set_workload(workload_);
    unseated_.clear();
    gave_way_.clear();
    std::vector<Entry*> bound;
    for (auto& [uid, entry] : entries_) {
        entry.bookings.clear();
        if (entry.is_bound()) bound.push_back(&entry);
    }
    settle(bound);
    for (auto& [uid, entry] : entries_) {
        if (!entry.is_bound()) book(entry);
    }
}

// ---- pods -----------------------------------------------------------------------------------------

void Bookings::set_pod(const GpuPod& pod) {
    if (pod.is_over) return remove_pod(pod.uid);
    const auto found = entries_.find(pod.uid);
    if (pod.node.empty()) {
        if (found == entries_.end()) return;
        Entry& entry = found->second;
        const std::string seat = entry.pod.node;
        entry.pod = pod;
        entry.pod.node = seat;  // an older sight of one that is being bound: no pod loses its node
        return;
    }
    if (found != entries_.end() && found->second.pod.node == pod.node) {
        found->second.pod = pod;
        found->second.is_seated = false;
        return;
    }
    Entry& entry = entries_[pod.uid];
    entry.pod = pod;
    entry.is_seated = false;
    if (!pod.affinity.without.empty()) apart_.insert(pod.uid);
    settle_bound(entry);
}

void Bookings::remove_pod(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) return;
    apart_.erase(uid);
    unseated_.erase(uid);
    release(found->second);
    entries_.erase(found);
    for (const std::string& other : std::set<std::string>(unseated_))
        settle_bound(entries_.at(other));
}

void Bookings::forget(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found != entries_.end() && !found->second.is_bound()) remove_pod(uid);
}

void Bookings::plan(const GpuPod& pod, const std::vector<Target>& targets) {
    if (entries_.contains(pod.uid) || pod.is_over || !pod.node.empty()) return;
    Entry& entry = entries_[pod.uid];
    entry.pod = pod;
    entry.pod.neighbours = nullptr;
    entry.targets = targets;
    if (!pod.affinity.without.empty()) apart_.insert(pod.uid);
    book(entry);
}

// ---- where pods are -------------------------------------------------------------------------------

void Bookings::set_labels(const std::string& node, k8s::Labels labels) {
    labels_[node] = std::move(labels);
}

const k8s::Labels* Bookings::labels_of(const std::string& node) const {
    const auto served = nodes_.find(node);
    if (served != nodes_.end()) return &served->second.labels;
    const auto found = labels_.find(node);
    return found == labels_.end() ? nullptr : &found->second;
}

void Bookings::visit(
    const std::function<void(const GpuPod&, const std::vector<Target>&)>& look) const {
    for (const auto& [uid, entry] : entries_) look(entry.pod, entry.targets);
}

void Bookings::keep_nodes(const std::set<std::string>& names, const ServedNode::Keeping& keeping) {
    for (auto& [name, node] : nodes_) {
        if (names.contains(name)) {
            node.kept_for = keeping;
        } else if (node.kept_for.holder == keeping.holder) {
            node.kept_for = {};
        }
    }
}

void Bookings::keep_only_for(const std::set<std::string>& holders) {
    for (auto& [name, node] : nodes_) {
        if (!holders.contains(node.kept_for.holder)) node.kept_for = {};
    }
}

void Bookings::expect(std::vector<placement::TaskType> workload) {
    workload_ = std::move(workload);
    pools_.engine().set_workload(workload_);
}

/// What it holds: granted, else planned, else what an agent would most likely choose.
DeviceUnits Bookings::units_of_bound(const Entry& entry) const {
    const auto node = nodes_.find(entry.pod.node);
    if (node == nodes_.end()) return {};
    const auto told = node->second.granted.find(entry.pod.uid);
    if (told != node->second.granted.end()) return told->second;
    for (const Target& target : entry.targets) {
        if (target.node == entry.pod.node && !target.units.empty()) return target.units;
    }
    // Bound before we looked: what an earlier leader planned is what its agent will most likely grant.
    if (const auto plan = entry.pod.plan.empty() ? std::nullopt : parse_plan(entry.pod.plan)) {
        for (const Target& target : plan->targets) {
            if (target.node == entry.pod.node && !target.units.empty()) return target.units;
        }
    }
    return fit_on(entry.pod, node->second, pools_).value_or(DeviceUnits{});
}

bool Bookings::is_told(const Entry& entry) const {
    const auto node = nodes_.find(entry.pod.node);
    return node != nodes_.end() && node->second.granted.contains(entry.pod.uid);
}

/// All of them leave before one of them comes: they may have got each other's GPUs.
void Bookings::settle(std::vector<Entry*> entries) {
    for (Entry* const entry : entries) release(*entry);
    std::stable_partition(entries.begin(), entries.end(),
                          [this](const Entry* entry) { return is_told(*entry); });
    for (Entry* const entry : entries) settle_bound(*entry);
}

void Bookings::settle_bound(Entry& entry) {
    release(entry);
    Target here{.node = entry.pod.node, .units = units_of_bound(entry)};
    const auto node = nodes_.find(entry.pod.node);
    const bool seated =
        !here.units.empty() || node == nodes_.end() || !fits_when_empty(entry.pod, node->second);
    entry.targets = {std::move(here)};
    book(entry);
    if (!seated && entry.targets.front().units.empty()) unseated_.insert(entry.pod.uid);
}

// ---- bookings -------------------------------------------------------------------------------------

void Bookings::release(Entry& entry) {
    for (const Booking& one : entry.bookings) (void)pools_.engine().release(one.id);
    entry.bookings.clear();
    pools_.engine().commit();
}

void Bookings::book(Entry& entry) {
    for (Target& target : entry.targets) book_at(entry, target);
    pools_.engine().commit();
    if (!entry.is_bound() && entry.bookings.empty()) gave_way_.insert(entry.pod.uid);
}

bool Bookings::take(Entry& entry, std::size_t pool, placement::Request request,
                    std::vector<std::uint8_t> devices) {
    const placement::NodeId id = pools_.all()[pool].id;
    const placement::NodeState free = pools_.engine().state(id);
    request.cpu_milli = std::clamp(entry.pod.cpu_milli, 0, std::max(free.cpu_milli, 0));
    request.memory_mib = std::clamp(entry.pod.memory_mib, 0, std::max(free.memory_mib, 0));
    const auto taken =
        pools_.engine().restore(request, {.node = id, .devices = std::move(devices)});
    if (taken) entry.bookings.push_back({pool, *taken});
    return taken.ok();
}

/// The units of one resource. False: some are not free; then none of them is taken.
bool Bookings::take_units(Entry& entry, const std::string& node, const std::string& resource,
                          const std::map<std::string, unsigned>& gpus,
                          std::set<std::size_t>& touched) {
    const std::size_t before = entry.bookings.size();
    std::map<std::size_t, std::vector<std::uint8_t>> whole;  // by pool
    bool all = true;
    const auto claim = [&](std::size_t pool, const placement::Request& request,
                           std::vector<std::uint8_t> devices) {
        placement::Request one = request;
        if (touched.insert(pool).second) {
            all = all && take(entry, pool, std::move(one), std::move(devices));
            return;
        }
        // CPU and memory are counted once for each pool.
        const auto taken = pools_.engine().restore(
            one, {.node = pools_.all()[pool].id, .devices = std::move(devices)});
        if (taken) entry.bookings.push_back({pool, *taken});
        all = all && taken.ok();
    };
    for (const auto& [gpu, units] : gpus) {
        const auto place = pools_.find(node, resource, gpu);
        if (!place) continue;  // it is ill or gone: nothing of it is given to others either
        const Pool& pool = pools_.all()[place->first];
        if (pool.units <= 1) {
            whole[place->first].push_back(place->second);
        } else {
            claim(place->first, request_of(resource, pool.units, std::min(units, pool.units)),
                  {place->second});
        }
    }
    for (auto& [pool, devices] : whole) {
        std::sort(devices.begin(), devices.end());
        claim(pool, request_of(resource, 1, static_cast<unsigned>(devices.size())), devices);
    }
    if (all) return true;
    for (std::size_t i = before; i < entry.bookings.size(); ++i) {
        (void)pools_.engine().release(entry.bookings[i].id);
        touched.erase(entry.bookings[i].pool);
    }
    entry.bookings.resize(before);
    return false;
}

/// What is only planned there gives way to what is so. True: something did.
bool Bookings::push_planned_off(const Entry& by, const std::string& node) {
    bool pushed = false;
    for (auto& [uid, entry] : entries_) {
        if (&entry == &by || entry.is_bound()) continue;
        const auto target = std::find_if(entry.targets.begin(), entry.targets.end(),
                                         [&](const Target& one) { return one.node == node; });
        if (target == entry.targets.end() || entry.bookings.empty()) continue;
        release(entry);
        gave_way_.insert(uid);
        pushed = true;
    }
    return pushed;
}

/// What bound pods are only thought to have there gives way to what an agent has told.
std::vector<Bookings::Entry*> Bookings::push_untold_off(const Entry& by, const Target& target) {
    std::vector<Entry*> pushed;
    for (auto& [uid, entry] : entries_) {
        if (&entry == &by || entry.pod.node != target.node || is_told(entry)) continue;
        if (entry.bookings.empty()) continue;
        release(entry);
        pushed.push_back(&entry);
    }
    return pushed;
}

bool Bookings::take_all(Entry& entry, const Target& target, std::set<std::size_t>& touched) {
    bool all = true;
    for (const auto& [resource, gpus] : target.units)
        all = take_units(entry, target.node, resource, gpus, touched) && all;
    return all;
}

void Bookings::book_at(Entry& entry, Target& target) {
    const auto node = nodes_.find(target.node);
    if (node == nodes_.end()) return;
    std::set<std::size_t> touched;
    bool fits = take_all(entry, target, touched);
    const auto again = [&] {
        release(entry);
        touched.clear();
        fits = take_all(entry, target, touched);
    };
    std::vector<Entry*> pushed;
    if (!fits && entry.is_bound() && push_planned_off(entry, target.node)) again();
    if (!fits && entry.is_bound() && is_told(entry)) {
        pushed = push_untold_off(entry, target);
        if (!pushed.empty()) again();
    } else if (!fits && entry.is_bound()) {
        release(entry);
        if (auto units = fit_on(entry.pod, node->second, pools_)) target.units = *std::move(units);
        again();
    }
    if (!fits) ++overbooked_;
    for (const std::size_t pool : pools_.of_node(target.node)) {
        if (!touched.contains(pool)) (void)take(entry, pool, {}, {});
    }
    if (!entry.is_bound()) return;
    if (fits)
        unseated_.erase(entry.pod.uid);
    else
        unseated_.insert(entry.pod.uid);
    for (Entry* const other : pushed) settle_bound(*other);
    seat_again();
}

/// Those that gave way look for other GPUs of their nodes.
void Bookings::seat_again() {
    std::erase_if(gave_way_, [this](const std::string& uid) {
        const auto found = entries_.find(uid);
        if (found == entries_.end()) return true;
        Entry& other = found->second;
        if (other.is_bound() || !other.bookings.empty()) return true;
        for (Target& one : other.targets) {
            const auto where = nodes_.find(one.node);
            if (where == nodes_.end()) continue;
            if (auto units = fit_on(other.pod, where->second, pools_))
                one.units = *std::move(units);
            book_at(other, one);
        }
        return !other.bookings.empty();
    });
}

// ---- what it says ---------------------------------------------------------------------------------

bool Bookings::is_planned(const std::string& uid) const {
    const auto found = entries_.find(uid);
    return found != entries_.end() && !found->second.is_bound();
}

std::string Bookings::node_planned_for(const std::string& uid) const {
    const auto found = entries_.find(uid);
    if (found == entries_.end() || found->second.targets.empty()) return {};
    return found->second.targets.front().node;
}

std::vector<Bookings::Held> Bookings::held_on(const std::string& node) const {
    std::vector<Held> held;
    for (const auto& [uid, entry] : entries_) {
        for (const Target& target : entry.targets) {
            if (target.node == node)
                held.push_back(
                    {entry.pod.full_name(), entry.pod.claim.key, entry.pod.priority, target.units});
        }
    }
    return held;
}

std::map<std::string, std::vector<Bookings::Holder>> Bookings::holders() const {
    std::map<std::string, std::vector<Holder>> holders;
    for (const auto& [uid, entry] : entries_) {
        if (!entry.pod.node.empty() && !entry.targets.empty())
            holders[entry.pod.node].push_back({&entry.pod, &entry.targets.front().units});
    }
    return holders;
}

Bookings::Holder Bookings::holder_of(const std::string& uid) const {
    const auto found = entries_.find(uid);
    if (found == entries_.end() || found->second.pod.node.empty() || found->second.targets.empty())
        return {};
    return {&found->second.pod, &found->second.targets.front().units};
}

std::string Bookings::self_check() {
    if (std::string wrong = pools_.engine().self_check(); !wrong.empty()) return wrong;
    std::size_t bookings = 0;
    for (const auto& [uid, entry] : entries_) bookings += entry.bookings.size();
    if (bookings == pools_.engine().live()) return {};
    return std::to_string(bookings) + " bookings, but " + std::to_string(pools_.engine().live()) +
           " live placements";
}

}  // namespace aliquot::scheduling
