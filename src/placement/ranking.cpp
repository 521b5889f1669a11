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
constexpr std::size_t kLagOfLarge = 256;

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

auto order_of(const Request& r) {
    return std::tie(r.cpu_milli, r.memory_mib, r.gpus, r.milli, r.mib, r.mig_profile, r.models,
                    r.selector, r.tolerations);
}

}  // namespace

bool Ranking::Less::operator()(const Request& a, const Request& b) const {
    return order_of(a) < order_of(b);
}

ClassId Ranking::class_of(const Request& request) {
    const auto found = known_.find(request);
    if (found != known_.end()) {
        classes_[found->second]->used = ++uses_;
        return found->second;
    }
    if (known_.size() >= kMostClasses) make_room();
    auto one = std::make_unique<Class>();
    one->request = request;
    one->request.anti_affinity.clear();
    one->request.movable = false;
    one->shape = books_.shape_of(request);
    one->used = ++uses_;
    ClassId id = static_cast<ClassId>(classes_.size());
    if (unused_.empty()) {
        classes_.push_back(std::move(one));
    } else {
        id = unused_.back();
        unused_.pop_back();
        classes_[id] = std::move(one);
    }
    known_.emplace(classes_[id]->request, id);
    return id;
}

void Ranking::make_room() {
    // Of kinds with live placements only the keys go: their placements still name them.
    const Class* oldest = nullptr;
    ClassId oldest_id = 0;
    for (ClassId id = 0; id < classes_.size(); ++id) {
        const Class* one = classes_[id].get();
        if (one == nullptr || one->live > 0 || (oldest != nullptr && one->used >= oldest->used))
            continue;
        oldest = one;
        oldest_id = id;
    }
    if (oldest != nullptr) {
        known_.erase(oldest->request);
        classes_[oldest_id].reset();
        unused_.push_back(oldest_id);
        return;
    }
    Class* keyed = nullptr;
    for (const auto& one : classes_)
        if (one != nullptr && !one->cold && (keyed == nullptr || one->used < keyed->used))
            keyed = one.get();
    if (keyed == nullptr) return;
    keyed->keys = KeyTree();
    keyed->admitted = {};
    keyed->cold = true;
}

bool Ranking::admits(ClassId id, NodeId node) const {
    return labels_admit(classes_[id]->request, books_.spec(node));
}

void Ranking::admit_all(Class& one) const {
    one.admitted.assign((at_position_.size() + 63) / 64, 0);
    for (std::size_t position = 0; position < at_position_.size(); ++position)
        if (labels_admit(one.request, books_.spec(at_position_[position])))
            one.admitted[position / 64] |= 1ULL << (position % 64);
}

void Ranking::rate(Class& one, NodeId id) {
    const Node& node = books_.node(id);
    const std::size_t position = node.position;
    KeyTree::Key key = KeyTree::kNone;
    if (((one.admitted[position / 64] >> (position % 64)) & 1U) != 0 &&
        Books::fits(node, one.shape))
        key = std::max(scorer_.key(node, id, one.shape), KeyTree::kNone + 1);
    one.keys.set(position, key);
}

void Ranking::scan(Class& one, std::size_t most) {
    const std::size_t end = std::min(at_position_.size(), one.scanned + most);
    while (one.scanned < end) rate(one, at_position_[one.scanned++]);
}

void Ranking::catch_up(Class& one, std::size_t most) {
    const std::uint64_t end = log_base_ + log_.size();
    if (one.cursor < log_base_) {  // its part of the log is gone
        one.scanned = 0;
        one.cursor = end;
        return;
    }
    for (; one.cursor < end && most > 0; ++one.cursor) {
        const NodeId node = log_[one.cursor - log_base_];
        if (last_change_[node] != one.cursor || books_.node(node).position >= one.scanned) continue;
        rate(one, node);
        --most;
    }
}

void Ranking::prepare(Class& one) {
    if (one.cold) {
        admit_all(one);
        one.shape = books_.shape_of(one.request);
        one.keys = KeyTree();
        one.keys.resize(at_position_.size());
        one.cold = false;
        one.scanned = 0;
        one.epoch = scorer_.epoch();
    }
    if (one.epoch != scorer_.epoch()) {
        one.epoch = scorer_.epoch();
        one.scanned = 0;
    }
    if (one.scanned == 0) one.cursor = log_base_ + log_.size();
    catch_up(one, kScan);
    scan(one, at_position_.size() <= kScan ? kScan : kPart);
}

std::vector<NodeId> Ranking::best(ClassId id, unsigned count, std::span<const NodeId> excluded) {
    Class& one = *classes_[id];
    prepare(one);
    std::vector<NodeId> found;
    std::vector<std::pair<std::size_t, KeyTree::Key>> hidden;
    while (found.size() < count) {
        const KeyTree::Best top = one.keys.best();
        if (top.key == KeyTree::kNone) {
            if (one.scanned == at_position_.size()) break;
            scan(one, kPart);
            continue;
        }
        const NodeId node = at_position_[top.position];
        if (last_change_[node] >= one.cursor ||
            top.position >= one.scanned) {  // its key may be old
            rate(one, node);
            if (one.keys.at(top.position) != top.key) continue;
        }
        if (std::find(excluded.begin(), excluded.end(), node) == excluded.end())
            found.push_back(node);
        if (found.size() == count) break;
        hidden.emplace_back(top.position, top.key);
        one.keys.set(top.position, KeyTree::kNone);
    }
    for (const auto& [position, key] : hidden) one.keys.set(position, key);
    return found;
}

void Ranking::changed(NodeId node) {
    last_change_[node] = log_base_ + log_.size();
    log_.push_back(node);
    const std::size_t most = std::max<std::size_t>(65'536, at_position_.size() * 4);
    if (log_.size() < most) return;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(most / 2));
    log_base_ += most / 2;
}

void Ranking::forget() {
    at_position_.resize(books_.size());
    std::iota(at_position_.begin(), at_position_.end(), 0U);
    std::sort(at_position_.begin(), at_position_.end(),
              [&](NodeId a, NodeId b) { return books_.spec(a).rank < books_.spec(b).rank; });
    for (std::size_t position = 0; position < at_position_.size(); ++position)
        books_.node(at_position_[position]).position = static_cast<std::uint32_t>(position);
    last_change_.resize(books_.size(), 0);
    for (const auto& one : classes_)
        if (one != nullptr) one->cold = true;
}

void Ranking::work_ahead() {
    if (at_position_.size() <= kSmallCluster || classes_.empty()) return;
    next_ahead_ = (next_ahead_ + 1) % static_cast<ClassId>(classes_.size());
    Class* one = classes_[next_ahead_].get();
    if (one == nullptr || one->cold || one->epoch != scorer_.epoch()) return;
    const std::size_t lag = at_position_.size() > kScan ? kLagOfLarge : kLag;
    if (log_base_ + log_.size() - one->cursor > lag) catch_up(*one, lag);
    if (one->scanned < at_position_.size()) scan(*one, lag);
}

std::size_t Ranking::bytes() const {
    std::size_t sum = log_.capacity() * sizeof(NodeId) + last_change_.capacity() * 8 +
                      at_position_.capacity() * 4;
    for (const auto& one : classes_)
        if (one != nullptr) sum += sizeof(Class) + one->keys.bytes() + one->admitted.capacity() * 8;
    return sum;
}

std::string Ranking::self_check() {
    for (const auto& one : classes_) {
        if (one == nullptr || one->cold || one->epoch != scorer_.epoch() ||
            one->scanned < at_position_.size())
            continue;
        catch_up(*one, ~std::size_t{0});
        for (const NodeId id : at_position_) {
            const Node& node = books_.node(id);
            const KeyTree::Key kept = one->keys.at(node.position);
            const bool fits =
                labels_admit(one->request, books_.spec(id)) && Books::fits(node, one->shape);
            const KeyTree::Key fresh =
                fits ? std::max(scorer_.key(node, id, one->shape), KeyTree::kNone + 1)
                     : KeyTree::kNone;
            if (kept != fresh)
                return "node " + books_.spec(id).name + ": kept key " + std::to_string(kept) +
                       ", computed " + std::to_string(fresh);
        }
    }
    return {};
}

}  // namespace aliquot::placement
