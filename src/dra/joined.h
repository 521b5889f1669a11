// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "document/value.h"
#include "gpu/inventory.h"

/// GPUs that NVLink joins. Before Hopper another MIG mode takes a reset, and that is one of all of them: so claims have
/// MIG devices of some of them or GPUs as a whole, never both at once. Pure.
namespace aliquot::dra {

/// The GPUs that a change of its MIG mode resets, by uuid: itself, and all that NVLink joins with it. Empty: none, no
/// reset is needed.
std::set<std::string> reset_together(const gpu::Inventory& inventory, const gpu::Gpu& gpu);

/// Of each GPU that is reset with others: these others, by uuid.
std::map<std::string, std::set<std::string>> reset_along(const gpu::Inventory& inventory);

/// The counter set of joined GPUs that claims cut: a counter for each of them, named after it, of as many memory slices
/// as all of them have. What is cut out of any takes its slices from every counter; a GPU as a whole all of its own. So
/// kube-scheduler gives any number of either kind, and nothing of the other beside it.
class JoinedCounters {
public:
    /// members   by name, with their memory slices
    explicit JoinedCounters(std::map<std::string, unsigned> members);

    /// An element of spec.sharedCounters; null: they are more than a set may have counters.
    [[nodiscard]] const std::shared_ptr<const document::Value>& set() const { return set_; }
    /// What a device of `member` takes, an element of consumesCounters.
    /// slices   of memory that are cut out; 0: all of it, as a whole
    [[nodiscard]] document::Value consumed(const std::string& member, unsigned slices) const;

private:
    std::map<std::string, unsigned> members_;
    unsigned slices_ = 0;
    std::string name_;
    std::shared_ptr<const document::Value> set_;
};

}  // namespace aliquot::dra
