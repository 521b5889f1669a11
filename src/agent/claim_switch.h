// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/claim_options.h"
#include "agent/claim_service.h"
#include "k8s/node.h"

namespace aliquot::agent {

/// "off", "auto", "whole", "fixed", "consumable", "dynamic-mig", "by-label".
std::string_view to_text(ClaimOptions::Mode mode);

/// How a node hands out its GPUs.
struct ClaimChoice {
    ClaimOptions::Mode mode = ClaimOptions::Mode::kOff;  // never kByLabel
    std::string problem;                                 // why the label is not obeyed; one line
    friend bool operator==(const ClaimChoice&, const ClaimChoice&) = default;
};

/// The label goes before the flag, but for --dra=off: then the agent has neither the rights nor the
/// directories that claims need. One that is wrong leaves all as it is. Pure.
/// flag     --dra
/// label    of the Node, node::kDraLabel; empty optional: it has none
/// before   what was chosen last; empty: nothing yet
ClaimChoice choose_claims(ClaimOptions::Mode flag, const std::optional<std::string>& label,
                          const std::optional<ClaimOptions::Mode>& before);

/// Whether and how this node's GPUs are handed out by claims, and from when that is first so whoever
/// serves them: also afterwards, for claims are left to be unprepared. Used by one thread.
class ClaimSwitch {
public:
    struct Sources {
        /// The Node as it was seen last; empty: not seen. An empty function: there is none.
        std::function<std::optional<k8s::Node>()> node;
        std::function<std::unique_ptr<ClaimService>()> make;
    };

    /// has_left   an earlier agent has left prepared claims: somebody has to serve them
    ClaimSwitch(ClaimOptions::Mode flag, bool has_left, Sources sources);

    /// Looks at the label. True: it is to be served in another way now.
    bool look();

    /// False: a label is to say it, and the Node has not been seen. Until then nothing may be handed
    /// out in either way, since it may be handed out in the other one.
    [[nodiscard]] bool is_known() const { return choice_.has_value(); }
    /// Null: none are served, and none are left.
    [[nodiscard]] ClaimService* service() const { return service_.get(); }
    /// Whether GPUs are handed out by claims, and so not by the device plugin.
    [[nodiscard]] bool serves() const { return service_ != nullptr && service_->serves(); }
    /// Whether claims cut the GPUs, so that nobody else may. Thread-safe.
    [[nodiscard]] bool cuts() const { return cuts_; }
    /// As ClaimChoice::problem.
    [[nodiscard]] std::string problem() const { return choice_ ? choice_->problem : ""; }

private:
    [[nodiscard]] std::optional<ClaimChoice> choose() const;
    void note_cuts();

    const ClaimOptions::Mode flag_;
    const Sources sources_;
    std::optional<ClaimChoice> choice_;
    std::atomic<bool> cuts_{false};
    std::unique_ptr<ClaimService> service_;
};

}  // namespace aliquot::agent
