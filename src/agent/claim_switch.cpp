// SPDX-License-Identifier: Apache-2.0
#include "agent/claim_switch.h"

#include "base/log.h"
#include "base/text.h"
#include "node/names.h"

namespace aliquot::agent {
namespace {

using ClaimMode = ClaimOptions::Mode;

/// What a flag without a label means.
ClaimMode without_label(ClaimMode flag) {
    return flag == ClaimMode::kByLabel ? ClaimMode::kOff : flag;
}

std::optional<ClaimMode> mode_of(const std::string& word) {
    for (const std::string_view known : node::kDraModes) {
        if (word != known) continue;
        for (const ClaimMode mode :
             {ClaimMode::kOff, ClaimMode::kAuto, ClaimMode::kWhole, ClaimMode::kFixed,
              ClaimMode::kConsumable, ClaimMode::kDynamicMig}) {
            if (to_text(mode) == word) return mode;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_text(ClaimOptions::Mode mode) {
    switch (mode) {
        case ClaimMode::kOff:
            return "off";
        case ClaimMode::kAuto:
            return "auto";
        case ClaimMode::kWhole:
            return "whole";
        case ClaimMode::kFixed:
            return "fixed";
        case ClaimMode::kConsumable:
            return "consumable";
        case ClaimMode::kDynamicMig:
            return "dynamic-mig";
        case ClaimMode::kByLabel:
            return "by-label";
    }
    return "";
}

ClaimChoice choose_claims(ClaimOptions::Mode flag, const std::optional<std::string>& label,
                          const std::optional<ClaimOptions::Mode>& before) {
    if (!label || label->empty()) return {.mode = without_label(flag), .problem = {}};
    const std::string told = concat({"label ", node::kDraLabel, "=", *label});
    if (flag == ClaimMode::kOff) {
        if (*label == "off") return {};
        return {.mode = ClaimMode::kOff,
                .problem = told +
                           ": the agent runs with --dra=off; aliquot install --dra by-label "
                           "lets nodes choose"};
    }
    if (const auto mode = mode_of(*label)) return {.mode = *mode, .problem = {}};
    const ClaimMode stays = before.value_or(without_label(flag));
    return {.mode = stays,
            .problem = concat(
                {told, ": expected ", join(node::kDraModes), "; it stays '", to_text(stays), "'"})};
}

ClaimSwitch::ClaimSwitch(ClaimOptions::Mode flag, bool has_left, Sources sources)
    : flag_(flag), sources_(std::move(sources)) {
    if (flag != ClaimMode::kByLabel) choice_ = ClaimChoice{.mode = flag, .problem = {}};
    if (without_label(flag) == ClaimMode::kOff && !has_left) return;
    service_ = sources_.make();
    if (service_) service_->set_mode(without_label(flag));
    note_cuts();
}

void ClaimSwitch::note_cuts() { cuts_ = choice_ && choice_->mode == ClaimMode::kDynamicMig; }

std::optional<ClaimChoice> ClaimSwitch::choose() const {
    if (!sources_.node) return choose_claims(flag_, std::nullopt, std::nullopt);
    const auto node = sources_.node();
    if (!node) return choice_;
    return choose_claims(flag_, node->label(node::kDraLabel),
                         choice_ ? std::optional(choice_->mode) : std::nullopt);
}

bool ClaimSwitch::look() {
    auto now = choose();
    if (!now || now == choice_) return false;
    if (!now->problem.empty() && now->problem != problem()) {
        log::warning("dra.label_refused", {{"why", now->problem}});
    }
    const bool other = !choice_ || choice_->mode != now->mode;
    choice_ = std::move(now);
    note_cuts();
    if (!other) return false;
    log::info("dra.switched", {{"to", to_text(choice_->mode)}});
    if (!service_ && choice_->mode != ClaimMode::kOff) service_ = sources_.make();
    if (service_) service_->set_mode(choice_->mode);
    return true;
}

}  // namespace aliquot::agent
