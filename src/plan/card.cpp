// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/number.h"
#include "base/units.h"
#include "catalog/mig_profiles.h"
#include "plan/share.h"
#include "plan/steps.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

using sizing::gib_text;

constexpr double kLeastShare = 2.5;  // GiB that a small inference service wants
constexpr unsigned kMpsFrom = 8;
constexpr double kReserve = 1;
constexpr unsigned kMostByItself = 32;  // a power of two below the 48 clients of MPS
constexpr unsigned kMostClients = 48;
constexpr catalog::Version kVolta{{7, 0}};
constexpr double kLeastOfAll = 0.5;  // GiB: a CUDA context takes most of that

/// As many of the services that were asked for as have memory.
unsigned services_that_fit(const catalog::GpuModel& model, unsigned asked) {
    const double usable = std::max(kLeastOfAll, model.memory_gib - kReserve);
    return std::min(asked, static_cast<unsigned>(std::max(1.0, usable / kLeastOfAll)));
}

void reject_for_card(Plan& plan, const catalog::GpuModel& model, const CardPlan& card) {
    const std::string name(model.name);
    if (model.architecture == kNotKnown) {
        reject(plan, "PLN011", Mode::kMig, "", "whether " + name + " has MIG is not known");
    } else if (!model.has_mig()) {
        reject(plan, "PLN011", Mode::kMig, "",
               name +
                   " has no MIG: only A30, A100, H100 and later "
                   "data-centre cards are cut by the hardware");
    } else {
        reject(plan, "PLN014", Mode::kMig, "",
               "nothing was said of tenants or isolation; MIG needs a drain and a GPU reset. With "
               "--workloads and an isolation it is weighed");
    }
    if (card.mode != Mode::kMps) {
        if (model.compute < kVolta) {
            reject(plan, "PLN031", Mode::kMps, "",
                   name + " (" + std::string(model.architecture) +
                       ") is older than Volta: MPS has no memory limit there, and one fault ends "
                       "all clients");
        } else if (card.replicas > kMostClients) {
            reject(plan, "PLN033", Mode::kMps, "",
                   decimal_text(card.replicas) + " shares: an MPS server has at most " +
                       decimal_text(kMostClients) + " clients");
        } else {
            reject(plan, "PLN036", Mode::kMps, "",
                   decimal_text(card.replicas) + " shares: MPS pays from " +
                       decimal_text(kMpsFrom) + " small processes on; it is the second choice");
        }
    } else {
        reject(plan, "PLN037", Mode::kTimeSlicing, "",
               decimal_text(card.replicas) +
                   " processes taking turns: each waits for all others; "
                   "MPS runs their kernels side by side");
    }
    if (card.mode == Mode::kFraction) {
        reject(plan, "PLN042", Mode::kTimeSlicing, "",
               "without limits one share can take the memory of all: the same turns, with a limit "
               "on each share");
    }
    if (card.replicas > 1) {
        reject(
            plan, "PLN080", Mode::kExclusive, "",
            "a whole GPU for each pod: " + decimal_text(card.replicas) + " GPUs in place of one");
    }
}

void add_mig_recipes(Plan& plan, const catalog::GpuModel& model) {
    std::string recipes;
    for (const catalog::MigProfile& profile : catalog::mig_profiles(model)) {
        const bool usual = (profile.slices == 1 && profile.memory_slices == 1) ||
                           (profile.slices == 3) || (profile.slices == 2 && model.key == "a30");
        if (!usual || profile.name.find('+') != std::string_view::npos) continue;
        recipes += (recipes.empty() ? "" : ", ") + std::to_string(profile.most) + " x " +
                   std::string(profile.name) +
                   (profile.id.empty() ? "" : " (id " + std::string(profile.id) + ')');
    }
    if (!recipes.empty()) plan.warnings.push_back("this card has MIG as well: " + recipes);
}

std::string why_technique(const catalog::GpuModel& model, const CardPlan& card) {
    const std::string compute =
        std::to_string(model.compute.major()) + "." + std::to_string(model.compute.minor());
    const std::string replicas = std::to_string(card.replicas);
    if (card.replicas == 1) return "one alone shares nothing";
    if (card.mode == Mode::kMps) {
        return replicas + " >= 8 replicas and compute capability " + compute + " >= 7.0" +
               (model.architecture == kNotKnown ? " (assumed)" : "");
    }
    if (card.replicas < kMpsFrom) return replicas + " < 8 replicas";
    if (card.replicas > kMostClients) return replicas + " > 48, the clients of MPS";
    return "compute capability " + compute + " < 7.0";
}

}  // namespace

CardPlan plan_card(const catalog::GpuModel& model, unsigned services, bool guard) {
    CardPlan card;
    card.memory_gib = model.memory_gib;
    card.reserve_gib = kReserve;
    card.usable_gib = std::max(0.5, model.memory_gib - kReserve);
    const double by_size = card.usable_gib / kLeastShare;
    const unsigned by_memory = by_size < 1 ? 1 : std::bit_floor(static_cast<unsigned>(by_size));
    const unsigned suits = std::min(by_memory, kMostByItself);
    card.replicas = services > 0 ? services : suits;
    const double each = card.usable_gib / card.replicas;
    card.per_pod_gib = std::floor(each * 2) / 2;
    const bool mps =
        card.replicas >= kMpsFrom && card.replicas <= kMostClients && model.compute >= kVolta;
    card.mode = card.replicas == 1 ? Mode::kExclusive
                : mps              ? Mode::kMps
                : guard            ? Mode::kFraction
                                   : Mode::kTimeSlicing;
    const std::string size = "floor_pow2(" + decimal_text(card.usable_gib) +
                             " / 2.5) = floor_pow2(" + decimal_text(by_size) +
                             ") = " + decimal_text(by_memory);
    card.formula = "usable = " + decimal_text(model.memory_gib) + " - " + decimal_text(kReserve) +
                   " = " + decimal_text(card.usable_gib) + " GiB; replicas = ";
    card.formula += services > 0 ? decimal_text(services) + " (asked; by size " + size + ")" : size;
    if (by_memory > suits && services == 0) {
        card.formula += ", cut to " + decimal_text(suits) + " for the 48 clients of MPS";
    }
    card.formula += "; memory of each = floor to 0.5 of " + decimal_text(card.usable_gib) + " / " +
                    decimal_text(card.replicas) + " = " + decimal_text(card.per_pod_gib) +
                    " GiB; technique = " + std::string(technique_of(card.mode)) + ", since " +
                    why_technique(model, card);
    return card;
}

void plan_cards(Draft& draft) {
    Plan& plan = draft.plan;
    const GpuPool& first = draft.request.pools.front();
    const unsigned asked = draft.request.services;
    const unsigned most = services_that_fit(*first.model, asked);
    const CardPlan card = plan_card(*first.model, most, draft.request.guard);
    plan.mode = card.mode;
    plan.replicas = card.replicas;
    plan.per_pod_gib = card.per_pod_gib;
    plan.reserve_gib = card.reserve_gib;
    plan.usable_gib = card.usable_gib;
    plan.formula = card.formula;
    const double most_gib = most_share_mib(first, card.replicas) / kMibPerGib;
    if (card.replicas > 1 && most_gib < card.per_pod_gib) {
        plan.formula += "; of the driver's " + gib_text(memory_mib(first) / kMibPerGib) +
                        " each gets " + gib_text(most_gib);
    }
    if (most < asked) {
        plan.unplaced.push_back(decimal_text(asked - most) + " of " + decimal_text(asked) +
                                " services");
        plan.gpus_missing = (asked + most - 1) / most - 1;
        plan.warnings.push_back(decimal_text(asked) +
                                " services leave less than 0.5 GiB for each, and a CUDA context "
                                "takes most of that: at most " +
                                decimal_text(most) + " fit, and that is tight");
    } else if (card.mode != Mode::kMps && card.replicas > kFewShares) {
        plan.warnings.push_back(decimal_text(card.replicas) +
                                " take turns: each waits for all others when they are busy; more "
                                "than " +
                                decimal_text(kFewShares) + " are seldom good");
    }
    reject_for_card(plan, *first.model, card);
    for (const Slot& slot : draft.slots) {
        const catalog::GpuModel& model = *slot.pool->model;
        const CardPlan one = plan_card(model, services_that_fit(model, asked), draft.request.guard);
        GpuUse use;
        use.gpu = slot.index;
        use.pool = slot.pool->name;
        use.model = model.key;
        use.mode = one.mode;
        use.replicas = one.replicas;
        use.share_mib =
            std::min(one.per_pod_gib * kMibPerGib, most_share_mib(*slot.pool, one.replicas));
        use.memory_mib = memory_mib(*slot.pool);
        use.reserve_mib = one.reserve_gib * kMibPerGib;
        for (unsigned i = 0; i < one.replicas; ++i) {
            Share share;
            share.workload = "pod";
            share.replica = static_cast<unsigned>(draft.plan.shares.size());
            share.mode = one.mode;
            share.memory_mib = use.share_mib;
            share.headroom_mib = use.share_mib;
            constexpr unsigned kPercent = 100;
            share.compute_percent = kPercent / one.replicas;
            share.gpu = slot.index;
            share.pool = slot.pool->name;
            share.resource = "nvidia.com/gpu";
            share.risk = risk_of(share, one.replicas);
            use.shares.push_back(plan.shares.size());
            plan.shares.push_back(std::move(share));
            if (plan.shares.size() >= 1000) break;
        }
        plan.gpus.push_back(std::move(use));
        if (plan.shares.size() >= 1000) break;
    }
    constexpr double kSmall = 3;
    if (card.per_pod_gib < kSmall && card.replicas > 1) {
        plan.warnings.push_back("shares of " + gib_text(card.per_pod_gib) +
                                " hold small models only: YOLOv8n, EfficientNet-B0, Whisper small");
    }
    if (first.model->tdp_watts > 0 && first.model->tdp_watts <= 75) {
        plan.warnings.push_back(std::string(first.model->name) + " draws at most " +
                                std::to_string(first.model->tdp_watts) + " W");
    }
    add_mig_recipes(plan, *first.model);
    plan.warnings.push_back(
        "start with 2 shares, look at memory and time of each under load, then "
        "add more; at 100 % use all the time take fewer");
}

}  // namespace aliquot::plan
