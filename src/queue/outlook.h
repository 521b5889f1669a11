// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "queue/room.h"

namespace aliquot::queue {

/// Devices as they get free, and how many pods of one ask fit on them.
class Outlook {
public:
    Outlook(const Room& room, const Ask& ask, Nodes nodes)
        : room_(room), ask_(ask), nodes_(std::move(nodes)), pods_(nodes_.size()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) count(static_cast<placement::NodeId>(i));
    }
    void free(const Ask& theirs, placement::NodeId node, const placement::Spot& spot) {
        placement::NodeTable::put_back(nodes_[node], theirs.shape, spot);
        count(node);
    }
    [[nodiscard]] bool fits() const { return total_ >= ask_.gang; }
    Nodes take_nodes() { return std::move(nodes_); }

private:
    void count(placement::NodeId node) {
        if (!room_.may_use(ask_, node)) return;
        const unsigned pods = room_.pods_on(nodes_[node], ask_, ask_.gang);
        total_ = total_ - pods_[node] + pods;
        pods_[node] = pods;
    }

    const Room& room_;
    const Ask& ask_;
    Nodes nodes_;
    std::vector<unsigned> pods_;
    std::uint64_t total_ = 0;
};

}  // namespace aliquot::queue
