// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "node/config_choice.h"
#include "node/node_object.h"

namespace aliquot::node {

/// When a node with bad GPUs is tainted.
enum class TaintPolicy : std::uint8_t {
    kOff,
    kAll,  // when it has no healthy GPU left
    kAny,  // when one is unhealthy
};
/// "off", "all", "any".
Result<TaintPolicy> parse_taint_policy(std::string_view word);

/// Whether the GPUs of a node can be used.
/// driver_problem   why the driver as a whole does not answer; empty: it does
Condition health_condition(const gpu::Inventory& inventory, std::string_view driver_problem);

/// The taint aliquot.dev/gpu-unhealthy=true:NoSchedule, or none.
std::vector<k8s::Taint> health_taints(TaintPolicy policy, const gpu::Inventory& inventory,
                                      std::string_view driver_problem);

/// What kubectl describe tells of a change.
struct Note {
    bool warning = false;
    std::string reason;  // "GpuXid79", "GpuRecovered"
    std::string action;
    std::string text;  // a sentence with advice
    friend bool operator==(const Note&, const Note&) = default;
};

/// One for each GPU and MIG device whose health has changed between two looks. A GPU that is seen
/// for the first time is told of when it is not healthy.
std::vector<Note> health_notes(const gpu::Inventory& before, const gpu::Inventory& now);

/// Whether the node serves the configuration that it was asked to, and who keeps what from it.
/// refused   why no share with limits can be given out at the moment; empty: it can
Condition config_condition(const ConfigStatus& told, std::string_view place,
                           std::string_view refused = {});

/// What became of kMigConfigLabel.
struct MigStatus {
    enum class State : std::uint8_t { kNone, kPending, kSuccess, kFailed };
    State state = State::kNone;  // kNone: nobody asks
    std::string config;          // as asked
    std::string problem;         // kPending: what it waits for; kFailed: why; one line with advice
    friend bool operator==(const MigStatus&, const MigStatus&) = default;
};
/// "", "pending", "success", "failed": the value of kMigStateLabel.
std::string_view to_text(MigStatus::State state);
Condition mig_condition(const MigStatus& told);

}  // namespace aliquot::node
