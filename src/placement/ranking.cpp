// SPDX-License-Identifier: Apache-2.0
#include "placement/ranking.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace aliquot::placement {
namespace {

constexpr std::size_t kSmallCluster = 2'048;  // catches up on demand alone
// Changes after which a kind is brought up to date ahead of need: the longer, the more of them
// touch one node twice and are worked off at once; the shorter, the shorter the longest step.
constexpr std::size_t kLag = 768;
constexpr std::size_t kLagOfLarge = 192;

bool tolerates(const Request& request, const std::pair<std::string, std::string>& taint) {
    return std::any_of(request.tolerations.begin(), request.tolerations.end(),
                       [&](const auto& toleration) {
                           return toleration.first == taint.first &&
                                  (toleration.second == "*" || toleration.second == taint.second);
                       });
}

bool labels_admit(const Request& request, const NodeSpec& spec) {
    for (const auto& label : request.selector)
        if (std::find(spec.labels.begin(), spec.labels.end(), label) == spec.labels.end())
            return false;
    return std::all_of(spec.taints.begin(), spec.taints.end(),
                       [&](const auto& taint) { return tolerates(request, taint); });
}

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kMostHidden =
    64;  // nodes short of memory passed over before all are looked at

auto ordered(const Request& r) {
    return std::tie(r.cpu_milli, r.memory_mib, r.gpus, r.milli, r.mib, r.mig_profile, r.models,
                    r.selector, r.tolerations);
}

}  // namespace

bool Ranking::Less::operator()(const Request& a, const Request& b) const {
    return ordered(a) < ordered(b);
}

ClassId Ranking::class_of(const Request& request) {
    const auto found = known_.find(request);
    if (found != known_.end()) {
        kinds_[found->second]->used = ++uses_;
        return found->second;
    }
    if (known_.size() >= kMostClasses) forget_a_kind();
    auto kind = std::make_unique<Kind>();
    kind->request = request;
    kind->request.anti_affinity.clear();
    kind->request.movable = false;
    kind->shape = node_table_.shape_of(request);
    kind->used = ++uses_;
    auto id = static_cast<ClassId>(kinds_.size());
    if (unused_.empty()) {
        kinds_.push_back(std::move(kind));
    } else {
        id = unused_.back();
        unused_.pop_back();
        kinds_[id] = std::move(kind);
    }
    known_.emplace(kinds_[id]->request, id);
    return id;
}

void Ranking::forget_a_kind() {
    ClassId oldest = 0;
    const Kind* found = nullptr;
    for (ClassId id = 0; id < kinds_.size(); ++id) {
        const Kind* kind = kinds_[id].get();
        if (kind == nullptr || kind->held > 0 || (found != nullptr && kind->used >= found->used))
            continue;
        found = kind;
        oldest = id;
    }
    if (found == nullptr) return;
    known_.erase(found->request);
    kinds_[oldest].reset();
    unused_.push_back(oldest);
}

Ranking::Order& Ranking::order_of(Kind& kind) {
    if (kind.order == nullptr) {
        Request bare = kind.request;
        bare.memory_mib = 0;
        auto& order = orders_[bare];
        if (order == nullptr) {
            order = std::make_unique<Order>();
            order->request = bare;
            order_list_.push_back(order.get());
            if (order_list_.size() > kMostClasses) forget_an_order();
        }
        kind.order = order.get();
    }
    kind.order->used = ++uses_;
    return *kind.order;
}

/// Not the newest one.
void Ranking::forget_an_order() {
    const auto oldest =
        std::min_element(order_list_.begin(), order_list_.end() - 1,
                         [](const Order* a, const Order* b) { return a->used < b->used; });
    Order* const gone = *oldest;
    for (const auto& kind : kinds_)
        if (kind != nullptr && kind->order == gone) kind->order = nullptr;
    order_list_.erase(oldest);
    orders_.erase(Request(gone->request));
}

bool Ranking::admits(ClassId id, NodeId node) const {
    return labels_admit(kinds_[id]->request, node_table_.spec(node));
}

void Ranking::admit_all(Order& order) const {
    order.admitted.assign((at_position_.size() + 63) / 64, 0);
    for (std::size_t position = 0; position < at_position_.size(); ++position)
        if (labels_admit(order.request, node_table_.spec(at_position_[position])))
            order.admitted[position / 64] |= 1ULL << (position % 64);
}

void Ranking::rate(Order& order, NodeId id) {
    const Node& node = node_table_.node(id);
    const std::size_t position = node.position;
    KeyTree::Key key = KeyTree::kNone;
    if (NodeTable::fits(node, order.shape) &&
        ((order.admitted[position / 64] >> (position % 64)) & 1U) != 0)
        key = std::max(scorer_.key(node, id, order.shape), KeyTree::kNone + 1);
    order.keys.set(position, key);
}

/// All keys are to be computed anew.
void Ranking::start_over(Order& order) const {
    if (order.scanned == at_position_.size()) order.fits_until = order.cursor;
    order.scanned = 0;
}

void Ranking::scan(Order& order, std::size_t most) {
    const std::size_t end = std::min(at_position_.size(), order.scanned + most);
    for (; order.scanned < end; ++order.scanned) {
        const NodeId node = at_position_[order.scanned];
        // What did not fit and has not changed does not fit at other prices either.
        if (order.keys.at(order.scanned) == KeyTree::kNone && last_change_[node] < order.fits_until)
            continue;
        rate(order, node);
    }
}

void Ranking::catch_up(Order& order, std::size_t most) {
    const std::uint64_t end = log_base_ + log_.size();
    if (order.cursor < log_base_) {  // its part of the log is gone
        start_over(order);
        order.cursor = end;
        return;
    }
    constexpr std::uint64_t kAhead = 8;  // nodes lie far apart: ask for them early
    constexpr std::uint64_t kSoon = 4;   // and for what is behind them once they are there
    for (; order.cursor < end && most > 0; ++order.cursor) {
        if (order.cursor + kAhead < end) {
            const NodeId later = log_[order.cursor + kAhead - log_base_];
            __builtin_prefetch(&last_change_[later]);
            __builtin_prefetch(&node_table_.node(later));
        }
        if (order.cursor + kSoon < end) {
            const NodeId soon = log_[order.cursor + kSoon - log_base_];
            const Node& node = node_table_.node(soon);
            if (last_change_[soon] == order.cursor + kSoon) order.keys.ask_for(node.position);
            if (NodeTable::fits(node, order.shape)) scorer_.ask_for(soon);
        }
        const NodeId node = log_[order.cursor - log_base_];
        if (last_change_[node] != order.cursor || node_table_.node(node).position >= order.scanned)
            continue;
        rate(order, node);
        --most;
    }
}

void Ranking::prepare(Order& order) {
    if (order.cold) {
        admit_all(order);
        order.shape = node_table_.shape_of(order.request);
        order.keys = KeyTree();
        order.keys.resize(at_position_.size());
        order.cold = false;
        order.scanned = 0;
        order.fits_until = 0;
        order.epoch = scorer_.epoch();
    }
    if (order.epoch != scorer_.epoch()) {
        order.epoch = scorer_.epoch();
        start_over(order);
    }
    if (order.scanned == 0) order.cursor = log_base_ + log_.size();
    catch_up(order, kScan);
    scan(order, at_position_.size() <= kScan ? kScan : kPart);
}

std::size_t Ranking::pick_by_scan(const Order& order, const Shape& shape) const {
    std::size_t best = kNone;
    for (std::size_t position = 0; position < order.scanned; ++position) {
        const KeyTree::Key key = order.keys.at(position);
        if (key == KeyTree::kNone || (best != kNone && key <= order.keys.at(best))) continue;
        const Node& node = node_table_.node(at_position_[position]);
        if (node.memory >= shape.memory && NodeTable::fits(node, order.shape)) best = position;
    }
    return best;
}

std::size_t Ranking::pick(Order& order, const Shape& shape, Hidden& hidden) {
    std::size_t passed = 0;
    while (true) {
        const KeyTree::Best top = order.keys.best();
        if (top.key == KeyTree::kNone) {
            if (order.scanned == at_position_.size()) return kNone;
            scan(order, kPart);
            continue;
        }
        const NodeId node = at_position_[top.position];
        if (last_change_[node] >= order.cursor ||
            top.position >= order.scanned) {  // its key may be old
            rate(order, node);
            if (order.keys.at(top.position) != top.key) continue;
        }
        if (node_table_.node(node).memory >= shape.memory) return top.position;
        hidden.emplace_back(top.position, top.key);
        order.keys.set(top.position, KeyTree::kNone);
        if (++passed == kMostHidden && order.scanned == at_position_.size()) {
            catch_up(order, kNone);
            return pick_by_scan(order, shape);
        }
    }
}

std::vector<NodeId> Ranking::best(ClassId id, unsigned count, std::span<const NodeId> excluded) {
    Kind& kind = *kinds_[id];
    Order& order = order_of(kind);
    prepare(order);
    std::vector<NodeId> found;
    Hidden hidden;
    while (found.size() < count) {
        const std::size_t position = pick(order, kind.shape, hidden);
        if (position == kNone) break;
        const NodeId node = at_position_[position];
        // A scan after it was hidden brings a node back.
        if (std::find(excluded.begin(), excluded.end(), node) == excluded.end() &&
            std::find(found.begin(), found.end(), node) == found.end())
            found.push_back(node);
        if (found.size() == count) break;
        hidden.emplace_back(position, order.keys.at(position));
        order.keys.set(position, KeyTree::kNone);
    }
    for (const auto& [position, key] : hidden) order.keys.set(position, key);
    return found;
}

std::size_t Ranking::most_logged() const {
    return std::max<std::size_t>(65'536, at_position_.size() * 4);
}

void Ranking::changed(NodeId node) {
    last_change_[node] = log_base_ + log_.size();
    log_.push_back(node);
    const std::size_t most = most_logged();
    if (log_.size() < most) return;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(most / 2));
    log_base_ += most / 2;
}

void Ranking::forget() {
    at_position_.resize(node_table_.size());
    std::iota(at_position_.begin(), at_position_.end(), 0U);
    std::sort(at_position_.begin(), at_position_.end(), [&](NodeId a, NodeId b) {
        return node_table_.spec(a).rank < node_table_.spec(b).rank;
    });
    for (std::size_t position = 0; position < at_position_.size(); ++position)
        node_table_.node(at_position_[position]).position = static_cast<std::uint32_t>(position);
    last_change_.resize(node_table_.size(), 0);
    if (node_table_.size() > kSmallCluster)
        log_.reserve(most_logged());  // no pause to grow it later
    for (const auto& kind : kinds_)   // a model may be new
        if (kind != nullptr) kind->shape = node_table_.shape_of(kind->request);
    for (Order* order : order_list_) order->cold = true;
}

void Ranking::work_ahead() {
    if (at_position_.size() <= kSmallCluster || order_list_.empty()) return;
    next_ahead_ = (next_ahead_ + 1) % order_list_.size();
    Order& order = *order_list_[next_ahead_];
    if (order.cold || order.epoch != scorer_.epoch()) return;
    const std::size_t lag = at_position_.size() > kScan ? kLagOfLarge : kLag;
    if (log_base_ + log_.size() - order.cursor > lag) catch_up(order, lag);
    if (order.scanned < at_position_.size()) scan(order, lag);
}

std::size_t Ranking::bytes() const {
    std::size_t sum = log_.capacity() * sizeof(NodeId) + last_change_.capacity() * 8 +
                      at_position_.capacity() * 4;
    for (const Order* order : order_list_)
        sum += sizeof(Order) + order->keys.bytes() + order->admitted.capacity() * 8;
    return sum + kinds_.size() * sizeof(Kind);
}

std::string Ranking::self_check() {
    for (Order* order : order_list_) {
        if (order->cold || order->epoch != scorer_.epoch() || order->scanned < at_position_.size())
            continue;
        catch_up(*order, kNone);
        if (order->scanned < at_position_.size()) continue;  // too far behind: all rated anew
        for (const NodeId id : at_position_) {
            const Node& node = node_table_.node(id);
            const KeyTree::Key kept = order->keys.at(node.position);
            const bool fits = labels_admit(order->request, node_table_.spec(id)) &&
                              NodeTable::fits(node, order->shape);
            const KeyTree::Key fresh =
                fits ? std::max(scorer_.key(node, id, order->shape), KeyTree::kNone + 1)
                     : KeyTree::kNone;
            if (kept != fresh)
                return "node " + node_table_.spec(id).name + ": kept key " + std::to_string(kept) +
                       ", computed " + std::to_string(fresh);
        }
    }
    return {};
}

}  // namespace aliquot::placement
