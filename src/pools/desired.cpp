// SPDX-License-Identifier: Apache-2.0
#include "pools/desired.h"

#include <algorithm>
#include <utility>

#include "base/sentence.h"

namespace aliquot::pools {
namespace {

bool holds_now(const Pool& pool, Instant now) {
    return pool.hold && (!pool.hold->until || now < *pool.hold->until);
}

bool has_failed(const Pool& pool, const PoolNode& node) {
    return !node.is_capacity() && !node.leaves && node.sick.empty() && node.pods == 0 &&
           node.seen >= pool.start_timeout;
}

void count_nodes(const Pool& pool, const std::vector<PoolNode>& nodes, Desired& desired) {
    for (const PoolNode& node : nodes) {
        if (node.pods != 0) ++desired.busy;
        if (has_failed(pool, node)) {
            ++desired.failed;
            desired.reasons.push_back(
                node.name + " did not start within " + std::to_string(pool.start_timeout.count()) +
                " s: " + (node.not_passed.empty() ? "it is not ready" : node.not_passed));
            continue;
        }
        if (node.leaves) {
            if (node.pods != 0) ++desired.replacing;
            continue;
        }
        if (!node.sick.empty()) {
            desired.reasons.push_back(node.name + " takes no jobs: " + node.sick);
            if (node.pods == 0) {
                ++desired.sick;
                continue;
            }
        }
        ++desired.present;
        if (!node.is_capacity() && node.pods == 0) ++desired.starting;
        const bool is_empty = node.is_capacity() && node.pods == 0;
        if (is_empty && std::min(node.empty, node.seen) < pool.scale_down_delay) ++desired.cooling;
    }
}

/// What each part wants, and the sentence that says so.
std::vector<std::pair<unsigned, std::string>> parts_of(const Pool& pool,
                                                       const ScheduleLook& schedule,
                                                       const QueueNeed& need,
                                                       const Desired& desired) {
    std::vector<std::pair<unsigned, std::string>> parts;
    parts.emplace_back(desired.by_schedule, schedule.why);
    parts.emplace_back(desired.by_hand,
                       "asked for by hand (spec.replicas): " + std::to_string(desired.by_hand));
    parts.emplace_back(
        desired.by_queue,
        "queue: " + counted(desired.busy, "node") + " with pods; " +
            counted(need.placed, "waiting pod") + " will fit on nodes that are there or start, " +
            counted(need.on_new, "pod") + " on " + counted(need.more, "new node") +
            (desired.replacing == 0
                 ? ""
                 : "; " + counted(desired.replacing, "node") + " in the stead of those that go"));
    parts.emplace_back(desired.by_warm, "warm: " + counted(pool.warm, "idle node") +
                                            " kept beside " + std::to_string(desired.by_queue));
    // Only nodes that exist can be kept: never a reason to make one.
    parts.emplace_back(std::min(desired.present, desired.cooling + desired.busy),
                       "delay: " + counted(desired.cooling, "node") + " empty for less than " +
                           std::to_string(pool.scale_down_delay.count()) + " s");
    return parts;
}

unsigned clamp_to(const Pool& pool, unsigned wanted, Desired& desired) {
    const unsigned most = pool.most_nodes();
    const unsigned nodes = std::max(pool.min, std::min(wanted, most));
    if (wanted > most) {
        desired.reasons.push_back(
            std::to_string(wanted) + " wanted, at most " + std::to_string(most) + " allowed by " +
            (most < pool.max ? "gpuLimit " + std::to_string(*pool.most_gpus) : "max"));
    } else if (wanted < pool.min) {
        desired.reasons.push_back("min is " + std::to_string(pool.min));
    }
    // min over a gpuLimit: the limit is about money, and stands.
    return std::min(nodes, std::max(most, std::min(pool.min, pool.max)));
}

void choose_removals(const Pool& pool, const std::vector<PoolNode>& nodes, Desired& desired) {
    if (desired.present <= desired.nodes) return;
    std::vector<const PoolNode*> idle;
    for (const PoolNode& node : nodes) {
        const bool stays = node.leaves || node.pods != 0 || !node.sick.empty();
        if (stays || has_failed(pool, node)) continue;
        const bool waits =
            node.is_capacity() && std::min(node.empty, node.seen) < pool.scale_down_delay;
        if (!waits || desired.is_held) idle.push_back(&node);
    }
    std::ranges::stable_sort(idle, std::ranges::greater{}, &PoolNode::empty);
    for (const PoolNode* const node : idle) {
        if (desired.remove.size() >= desired.present - desired.nodes) break;
        desired.remove.push_back(node->name);
    }
}

/// Nodes that an autoscaler has no other reason to make or keep. Karpenter counts the delay of empty nodes itself.
void count_placeholders(const Pool& pool, const QueueNeed& need, Desired& desired) {
    unsigned wanted = desired.nodes;
    if (pool.engine == Engine::kKarpenter && !desired.is_held) {
        const unsigned most = std::max(
            {desired.by_schedule, desired.by_hand, desired.by_queue, desired.by_warm, pool.min});
        wanted = std::min(wanted, most);
    }
    const unsigned seen = desired.by_queue - desired.replacing - need.unseen;
    desired.placeholders = wanted > seen ? wanted - seen : 0;
}

}  // namespace

Desired decide(const Pool& pool, const ScheduleLook& schedule, const std::vector<Claim>& waiting,
               const std::vector<PoolNode>& nodes, Instant now) {
    Desired desired;
    std::vector<std::string> about_nodes;
    count_nodes(pool, nodes, desired);
    about_nodes.swap(desired.reasons);
    const QueueNeed need =
        need_of(waiting, nodes, pool.node, pool.start_timeout, pool.most_nodes());
    desired.too_large = need.too_large;
    desired.served = need.served;
    desired.by_schedule = schedule.floor;
    desired.by_hand = pool.replicas.value_or(0);
    desired.by_queue = need.nodes + desired.replacing;
    desired.by_warm = pool.warm == 0 ? 0 : desired.by_queue + pool.warm;
    desired.is_held = holds_now(pool, now);
    if (desired.is_held) {
        desired.reasons.push_back(
            "held at " + std::to_string(pool.hold->replicas) +
            (pool.hold->until ? " until " + TimeZone::utc().text_of(*pool.hold->until) : "") +
            ", whatever schedule and queue want");
        desired.nodes = clamp_to(pool, pool.hold->replicas, desired);
    } else {
        auto parts = parts_of(pool, schedule, need, desired);
        std::ranges::stable_sort(parts, std::ranges::greater{},
                                 [](const auto& one) { return one.first; });
        for (auto& [wanted, why] : parts) {
            if (wanted != 0 && !why.empty()) desired.reasons.push_back(std::move(why));
        }
        if (desired.reasons.empty()) desired.reasons.emplace_back("nothing wants a node");
        desired.nodes = clamp_to(pool, parts.front().first, desired);
    }
    desired.ask = desired.nodes > desired.present ? desired.nodes - desired.present : 0;
    // Failed nodes cost money until somebody removes them: they count towards max.
    const unsigned most = std::max(pool.most_nodes(), pool.min);
    const unsigned there = desired.present + desired.failed + desired.sick;
    desired.ask = std::min(desired.ask, most > there ? most - there : 0);
    count_placeholders(pool, need, desired);
    choose_removals(pool, nodes, desired);
    for (const std::string& name : desired.too_large) {
        about_nodes.push_back(name + " fits on no node of this pool, however many there are");
    }
    desired.reasons.insert(desired.reasons.end(), about_nodes.begin(), about_nodes.end());
    return desired;
}

}  // namespace aliquot::pools
