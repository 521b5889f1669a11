// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "exposition/rows.h"

namespace aliquot::exposition {

/// The rows of one part, without labels. Tenants that nothing names have none: what they use is in
/// the rest. Neither has one that has ended when a living one has its labels: a counter that starts
/// anew must not be added to the old one.
/// replicas   of the part: 1 means that its one holder has it alone
PartRow make_part(const telemetry::Part& part, unsigned replicas);

/// Of the rows that tell this amount: those that have ended tell counters only.
std::uint64_t sum_of(std::span<const PodRow> pods,
                     std::optional<std::uint64_t> telemetry::Amounts::*amount, bool counter);

/// The pod's name, or its uid where that is all we know. Empty: neither.
std::string_view pod_name(const pods::Owner& owner);
/// The container's name, or the start of its id.
std::string_view container_name(const pods::Owner& owner);

}  // namespace aliquot::exposition
