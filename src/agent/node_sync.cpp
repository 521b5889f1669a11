// SPDX-License-Identifier: Apache-2.0
#include "agent/node_sync.h"

#include <utility>

namespace aliquot::agent {

std::string guard_reason(GuardEvent::Kind kind) {
    std::string reason = "Guard";
    bool upper = true;
    for (const char c : to_text(kind)) {
        if (c == '_') {
            upper = true;
            continue;
        }
        reason += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        upper = false;
    }
    return reason;
}

NodeSync::NodeSync(kube_client::Api& api, os::Clock& clock, std::string node,
                   const ClusterOptions& options)
    : node_(std::move(node)),
      events_(api, kube_client::EventRecorderOptions{.controller = "aliquot.dev/agent",
                                                     .instance = options.pod_name.empty()
                                                                     ? "aliquot-agent-" + node_
                                                                     : options.pod_name}),
      requests_(api, clock, node_, options, [this] { writer_.look_again(); }),
      writer_(api, requests_, node_, options) {}

NodeSync::~NodeSync() { requests_.stop(); }

void NodeSync::start(std::chrono::milliseconds patience, const std::stop_token& stop) {
    requests_.start(patience, stop);
    writer_.start();
}

void NodeSync::tell(NodeFacts facts) {
    const gpu::Inventory now = facts.inventory;
    const auto before = writer_.set(std::move(facts));
    for (const node::Note& one :
         node::health_notes(before ? before->inventory : gpu::Inventory{}, now)) {
        note(one);
    }
}

void NodeSync::tell_config(const node::ConfigStatus& status) {
    const auto before = writer_.set(status);
    if (before == status) return;
    if (!status.served) {
        note({.warning = true,
              .reason = "GpuConfigRefused",
              .action = "Configure",
              .text = node::config_condition(status, requests_.place()).message});
    } else if (!status.shortage.empty()) {
        note({.warning = true,
              .reason = "GpuLimitsNotKept",
              .action = "Configure",
              .text = status.shortage});
    } else if (!status.claims_problem.empty()) {
        note({.warning = true,
              .reason = "DraLabelRefused",
              .action = "Configure",
              .text = status.claims_problem});
    } else if (!status.claims_refused.empty()) {
        note({.warning = true,
              .reason = "DraModeRefused",
              .action = "Configure",
              .text = status.claims_refused});
    } else if (before) {
        note({.reason = "GpuConfigServed",
              .action = "Configure",
              .text = node::config_condition(status, requests_.place()).message});
    }
}

void NodeSync::tell_mig(const node::MigStatus& status) {
    using State = node::MigStatus::State;
    const auto before = writer_.set(status);
    const bool same = status.state == before.state && status.config == before.config;
    if (status == before || status.state == State::kNone ||
        (same && status.state == State::kPending)) {
        return;
    }
    const node::Condition condition = node::mig_condition(status);
    note({.warning = status.state == State::kFailed,
          .reason = condition.reason,
          .action = "Partition",
          .text = condition.message});
}

void NodeSync::tell_guard(const GuardSnapshot& snapshot) {
    writer_.set_limits_problem(snapshot.problem);
    std::vector<node::Note> notes;
    {
        const std::scoped_lock lock(mutex_);
        for (const GuardEvent& event : snapshot.events) {
            if (event.at <= guard_told_) continue;
            notes.push_back({.warning = true,
                             .reason = guard_reason(event.kind),
                             .action = "KeepLimits",
                             .text = event.container + ": " + event.message});
        }
        if (!snapshot.events.empty()) guard_told_ = snapshot.events.back().at;
    }
    for (const node::Note& one : notes) note(one);
}

void NodeSync::note(const node::Note& note) {
    // kubelet, too, gives the name as the uid of its Node: kubectl describe looks for that.
    events_.record({.regarding = {.api_version = "v1", .kind = "Node", .name = node_, .uid = node_},
                    .warning = note.warning,
                    .reason = note.reason,
                    .action = note.action,
                    .note = note.text});
}

}  // namespace aliquot::agent
