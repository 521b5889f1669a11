// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gang_fit.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "scheduling/fit.h"

namespace aliquot::scheduling {
namespace {

using Kind = Decision::Kind;

/// So many more than are asked for are counted on a node: to tell the tight ones from the wide ones.
constexpr unsigned kBeyond = 32;

/// Pods of one shape, which any node takes or refuses alike.
struct Shape {
    GpuPod pod;                      // the first, with what we serve alone
    std::vector<std::size_t> pods;   // indexes of the ask
    std::vector<std::string> nodes;  // that would take one, were they empty
    unsigned most = 0;               // of it at once on all of these, were they empty
    [[nodiscard]] unsigned units() const {
        return std::accumulate(pod.devices.begin(), pod.devices.end(), 0U,
                               [](unsigned sum, const auto& one) { return sum + one.count; });
    }
};

struct Domain {
    std::string name;  // empty: all nodes
    std::set<std::string> nodes;
};

/// A node that would take `count` more.
struct Seat {
    std::string node;
    unsigned count = 0;
    bool used = false;  // by the gang
};

/// The seat to fill next: the smallest that takes all the rest, else the largest; used ones before others.
std::vector<Seat>::iterator next_seat(std::vector<Seat>& seats, unsigned rest) {
    return std::min_element(seats.begin(), seats.end(), [&](const Seat& a, const Seat& b) {
        const auto rank = [&](const Seat& seat) {
            const bool all = seat.count >= rest;
            return std::tuple(!all, all ? seat.count : ~seat.count, !seat.used,
                              std::string_view(seat.node));
        };
        return rank(a) < rank(b);
    });
}

class Attempt {
public:
    Attempt(const GangAsk& ask, const Bookings& bookings, const std::vector<Shape>& shapes)
        : bookings_(bookings),
          shapes_(shapes),
          used_(ask.near),
          targets_(ask.pods.size()),
          fits_(ask.pods.size(), false) {}

    /// True: every pod has a place in the domain.
    bool fill(const Domain& domain) {
        bool all = true;
        for (const Shape& shape : shapes_) all = fill(shape, domain) && all;
        return all;
    }
    [[nodiscard]] std::vector<Target>& targets() { return targets_; }
    [[nodiscard]] std::vector<bool>& fits() { return fits_; }
    [[nodiscard]] std::size_t count() const {
        return static_cast<std::size_t>(std::count(fits_.begin(), fits_.end(), true));
    }
    /// What is left of a node after all that was placed.
    Room room_of(const ServedNode& node) {
        const auto found = rooms_.find(node.name);
        return found == rooms_.end() ? Room::now(node, bookings_.pools()) : found->second;
    }

private:
    Room& room_at(const std::string& name) {
        const auto found = rooms_.find(name);
        if (found != rooms_.end()) return found->second;
        return rooms_.emplace(name, Room::now(bookings_.nodes().at(name), bookings_.pools()))
            .first->second;
    }

    bool fill(const Shape& shape, const Domain& domain) {
        std::vector<Seat> seats;
        const auto asked = static_cast<unsigned>(shape.pods.size());
        const unsigned most = shape.pod.is_apart ? 1 : asked + kBeyond;
        for (const std::string& name : shape.nodes) {
            if (!domain.name.empty() && !domain.nodes.contains(name)) continue;
            if (!keeps_off(shape.pod, bookings_.nodes().at(name)).empty()) continue;
            if (shape.pod.is_apart && used_.contains(name)) continue;
            const unsigned count = room_at(name).count(shape.pod, most);
            if (count > 0) seats.push_back({name, count, used_.contains(name)});
        }
        std::size_t next = 0;
        while (next < shape.pods.size() && !seats.empty()) {
            const auto seat = next_seat(seats, static_cast<unsigned>(shape.pods.size() - next));
            const unsigned wanted = shape.pod.spreads ? 1 : seat->count;
            for (unsigned i = 0; i < wanted && next < shape.pods.size(); ++i)
                seat_one(shape, shape.pods[next++], seat->node);
            seat->count -= std::min(seat->count, wanted);
            if (shape.pod.spreads && seat->count > 0) {
                again_.push_back(*seat);  // others first
            }
            seats.erase(seat);
            if (seats.empty()) seats.swap(again_);
        }
        again_.clear();
        return next == shape.pods.size();
    }

    void seat_one(const Shape& shape, std::size_t index, const std::string& node) {
        auto units = room_at(node).take(shape.pod);
        if (!units) return;  // not so: it was counted
        targets_[index] = {.node = node, .units = *std::move(units)};
        fits_[index] = true;
        used_.insert(node);
    }

    const Bookings& bookings_;
    const std::vector<Shape>& shapes_;
    std::map<std::string, Room> rooms_;
    std::set<std::string> used_;
    std::vector<Seat> again_;
    std::vector<Target> targets_;
    std::vector<bool> fits_;
};

/// As it was when nothing that ends by itself keeps pods off.
ServedNode opened(ServedNode node) {
    node.is_open = true;
    node.kept_for = {};
    std::erase_if(node.taints, ends_by_itself);
    return node;
}

/// Those that ask for something that we serve; who fits fewest nodes first, then who asks for most.
std::vector<Shape> shapes_of(const GangAsk& ask, const Bookings& bookings) {
    std::map<std::string, Shape> by_text;
    for (std::size_t i = 0; i < ask.pods.size(); ++i) {
        GpuPod pod = ask.pods[i];
        std::erase_if(pod.devices, [&](const DeviceRequest& one) {
            return !bookings.pools().serves(one.resource);
        });
        if (pod.devices.empty()) continue;
        std::stable_sort(pod.devices.begin(), pod.devices.end(),
                         [](const auto& a, const auto& b) { return a.count > b.count; });
        pod.gang = ask.id;
        Shape& shape = by_text[shape_of(pod, false)];
        if (shape.pods.empty()) shape.pod = std::move(pod);
        shape.pods.push_back(i);
    }
    std::vector<Shape> shapes;
    for (auto& [text, shape] : by_text) {
        for (const auto& [name, node] : bookings.nodes()) {
            if (!keeps_off(shape.pod, opened(node)).empty()) continue;
            const unsigned count = Room::when_empty(node).count(
                shape.pod, shape.pod.is_apart ? 1 : static_cast<unsigned>(shape.pods.size()));
            if (count == 0) continue;
            shape.nodes.push_back(name);
            shape.most += count;
        }
        shapes.push_back(std::move(shape));
    }
    std::stable_sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
        return std::tuple(a.nodes.size(), ~a.units()) < std::tuple(b.nodes.size(), ~b.units());
    });
    return shapes;
}

/// The domains to try: those of the gang's other pods, then smaller ones first.
std::vector<Domain> domains_of(const GangAsk& ask, const Bookings& bookings,
                               const std::vector<Shape>& shapes, bool& is_required) {
    const GangClaim& claim = ask.pods.front().claim;
    is_required = !claim.required_topology.empty();
    const std::string key = is_required                         ? claim.required_topology
                            : !claim.preferred_topology.empty() ? claim.preferred_topology
                                                                : std::string(kZoneLabel);
    std::map<std::string, Domain> by_value;
    std::set<std::string> near;
    for (const auto& [name, node] : bookings.nodes()) {
        const auto label = node.labels.find(key);
        if (label == node.labels.end()) continue;
        if (ask.near.contains(name)) near.insert(label->second);
        Domain& domain = by_value[label->second];
        domain.name = key + "=" + label->second;
        domain.nodes.insert(name);
    }
    std::vector<std::tuple<bool, std::size_t, Domain>> ranked;
    for (auto& [value, domain] : by_value) {
        if (is_required && !near.empty() && !near.contains(value)) continue;
        std::size_t nodes = 0;
        for (const Shape& shape : shapes) {
            nodes += static_cast<std::size_t>(
                std::count_if(shape.nodes.begin(), shape.nodes.end(),
                              [&](const auto& name) { return domain.nodes.contains(name); }));
        }
        if (nodes > 0) ranked.emplace_back(!near.contains(value), nodes, std::move(domain));
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    std::vector<Domain> domains;
    for (auto& one : ranked) domains.push_back(std::move(std::get<2>(one)));
    if (!is_required) domains.push_back({});
    return domains;
}

/// Empty: an empty cluster would take them. Only sums of each shape and resource are looked at.
std::string why_never(const GangAsk& ask, const Bookings& bookings,
                      const std::vector<Shape>& shapes, const std::vector<Domain>& domains) {
    const auto too_few = [&](const Shape& shape, unsigned most, const std::string& where) {
        return std::to_string(shape.pods.size()) + " of its pods ask for " + asked_text(shape.pod) +
               " each, and " + where + " has room for " + std::to_string(most) + ", were it empty";
    };
    for (const Shape& shape : shapes) {
        if (shape.most < shape.pods.size()) return too_few(shape, shape.most, "the cluster");
    }
    for (const Shape& shape : shapes) {
        unsigned best = 0;
        for (const Domain& domain : domains) {
            unsigned most = domain.name.empty() ? shape.most : 0;
            for (const std::string& name : shape.nodes) {
                if (domain.nodes.contains(name))
                    most += Room::when_empty(bookings.nodes().at(name))
                                .count(shape.pod, shape.pod.is_apart
                                                      ? 1
                                                      : static_cast<unsigned>(shape.pods.size()));
            }
            best = std::max(best, most);
            if (best >= shape.pods.size()) break;
        }
        if (best < shape.pods.size())
            return too_few(shape, best, "no " + ask.pods.front().claim.required_topology);
    }
    std::map<std::string, std::uint64_t> asked;
    for (const Shape& shape : shapes) {
        for (const auto& one : shape.pod.devices)
            asked[one.resource] += one.count * shape.pods.size();
    }
    for (const auto& [resource, count] : asked) {
        std::uint64_t units = 0;
        for (const auto& [name, node] : bookings.nodes()) {
            for (const ServedGpu& gpu : node.gpus) {
                const auto offer = gpu.units.find(resource);
                units += offer == gpu.units.end() ? 0 : offer->second;
            }
        }
        if (units < count)
            return "its pods ask for " + std::to_string(count) + " " + resource +
                   ", and the cluster has " + std::to_string(units);
    }
    return {};
}

std::string why_not(const GangAsk& ask, const Bookings& bookings, Attempt& best) {
    const auto total = ask.pods.size();
    const auto missing = std::find(best.fits().begin(), best.fits().end(), false);
    const GpuPod& pod = ask.pods[static_cast<std::size_t>(missing - best.fits().begin())];
    return std::to_string(best.count()) + " of " + std::to_string(total) +
           (total == 1 ? " pod fits" : " pods fit") + " now, and all must at once; of the others " +
           pod.name + " asks for " + asked_text(pod) + ": " +
           why_nowhere(pod, bookings.nodes(),
                       [&](const ServedNode& node) { return best.room_of(node); });
}

}  // namespace

GangDecision fit_gang(const GangAsk& ask, const Bookings& bookings) {
    GangDecision decision;
    decision.fits.assign(ask.pods.size(), true);
    decision.targets.resize(ask.pods.size());
    if (ask.pods.empty()) return decision;
    const auto shapes = shapes_of(ask, bookings);
    if (shapes.empty()) return decision;
    bool is_required = false;
    const auto domains = domains_of(ask, bookings, shapes, is_required);
    std::optional<Attempt> best;
    for (const Domain& domain : domains) {
        Attempt attempt(ask, bookings, shapes);
        for (std::size_t i = 0; i < ask.pods.size(); ++i) attempt.fits()[i] = true;
        for (const Shape& shape : shapes) {
            for (const std::size_t index : shape.pods) attempt.fits()[index] = false;
        }
        if (attempt.fill(domain)) {
            decision.kind = Kind::kPlaced;
            decision.targets = std::move(attempt.targets());
            decision.domain = domain.name;
            return decision;
        }
        if (!best || attempt.count() > best->count()) best.emplace(std::move(attempt));
    }
    if (!best) {
        decision.kind = Kind::kNever;
        decision.fits.assign(ask.pods.size(), false);
        decision.why = "no node that could take its pods has the label " +
                       ask.pods.front().claim.required_topology + ", which they require";
        return decision;
    }
    decision.why = why_never(ask, bookings, shapes, domains);
    decision.kind = decision.why.empty() ? Kind::kWaits : Kind::kNever;
    decision.fits = best->fits();
    decision.targets = std::move(best->targets());
    if (decision.why.empty()) decision.why = why_not(ask, bookings, *best);
    return decision;
}

std::vector<GangDecision> fit_in_turn(const std::vector<GangAsk>& asks, Bookings& bookings) {
    std::vector<GangDecision> decisions;
    decisions.reserve(asks.size());
    for (const GangAsk& ask : asks) {
        decisions.push_back(fit_gang(ask, bookings));
        const GangDecision& decision = decisions.back();
        if (decision.kind != Kind::kPlaced) continue;
        for (std::size_t i = 0; i < ask.pods.size(); ++i) {
            if (!decision.targets[i].node.empty())
                bookings.plan(ask.pods[i], {decision.targets[i]});
        }
    }
    for (const GangAsk& ask : asks) {
        for (const GpuPod& pod : ask.pods) bookings.forget(pod.uid);
    }
    return decisions;
}

std::set<std::string> nodes_to_keep(const GangAsk& ask, const Bookings& bookings) {
    const auto shapes = shapes_of(ask, bookings);
    bool is_required = false;
    const auto domains = domains_of(ask, bookings, shapes, is_required);
    std::set<std::string> best;
    std::size_t least = 0;
    for (const Domain& domain : domains) {
        std::map<std::string, std::size_t> held;
        for (const Shape& shape : shapes) {
            for (const std::string& name : shape.nodes) {
                const bool in = domain.name.empty() || domain.nodes.contains(name);
                if (in && keeps_off(shape.pod, bookings.nodes().at(name)).empty())
                    held.emplace(name, bookings.held_on(name).size());
            }
        }
        std::vector<std::pair<std::size_t, std::string>> order;
        for (const auto& [name, count] : held) order.emplace_back(count, name);
        std::sort(order.begin(), order.end());
        std::vector<std::size_t> rest;
        for (const Shape& shape : shapes) rest.push_back(shape.pods.size());
        std::set<std::string> chosen;
        std::size_t ends = 0;
        const auto is_done = [&] {
            return std::all_of(rest.begin(), rest.end(), [](std::size_t one) { return one == 0; });
        };
        for (const auto& [count, name] : order) {
            if (is_done()) break;
            Room room = Room::when_empty(bookings.nodes().at(name));
            bool takes = false;
            for (std::size_t i = 0; i < shapes.size(); ++i) {
                const bool once = shapes[i].pod.is_apart;
                for (unsigned taken = 0; rest[i] > 0 && (!once || taken == 0); ++taken) {
                    if (!room.take(shapes[i].pod)) break;
                    --rest[i];
                    takes = true;
                }
            }
            if (!takes) continue;
            chosen.insert(name);
            ends += count;
        }
        if (!is_done() || (!best.empty() && ends >= least)) continue;
        best = std::move(chosen);
        least = ends;
    }
    return best;
}

}  // namespace aliquot::scheduling
