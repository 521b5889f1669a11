// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

namespace aliquot::scheduling {

struct ServedNode;

/// The less the better.
struct NodeRank {
    unsigned conflicts = 0;  // rules that will or may be broken there
    int dislike = 0;         // preferences that are not met, by weight
    friend auto operator<=>(const NodeRank&, const NodeRank&) = default;
};

/// What of a pod's surroundings decides about nodes, beside what the pod itself says: neighbours.h.
class NodeRules {
public:
    NodeRules() = default;
    virtual ~NodeRules() = default;
    NodeRules(const NodeRules&) = delete;
    NodeRules& operator=(const NodeRules&) = delete;

    /// Empty: the pod may go there, else why not.
    [[nodiscard]] virtual std::string keeps_off(const ServedNode& node) const = 0;
    [[nodiscard]] virtual NodeRank rank(const ServedNode& node) const = 0;
};

}  // namespace aliquot::scheduling
