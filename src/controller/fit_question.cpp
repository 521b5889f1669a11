// SPDX-License-Identifier: Apache-2.0
#include "controller/fit_question.h"

#include <algorithm>
#include <map>
#include <set>

namespace aliquot::controller {
namespace {

using scheduling::Books;
using scheduling::GangAsk;
using scheduling::GangDecision;
using scheduling::GpuPod;
using Kind = scheduling::Decision::Kind;

std::set<std::string> owners_of(const std::vector<FitQuestion>& promised) {
    std::set<std::string> owners;
    for (const FitQuestion& one : promised) {
        for (const GpuPod& pod : one.pods) {
            if (!pod.owner.empty()) owners.insert(pod.owner);
        }
    }
    return owners;
}

GangAsk ask_of(const std::string& name, std::vector<GpuPod> pods, std::size_t number) {
    const std::string id = "asked/" + std::to_string(number);  // no uid looks like this
    for (GpuPod& pod : pods) pod.gang = id;
    return {.id = id, .name = name, .pods = std::move(pods), .near = {}};
}

bool has_no_place(Kind kind) { return kind == Kind::kWaits || kind == Kind::kNever; }

/// Without those whose owner has made them by now: the books know of them.
std::vector<GpuPod> still_to_come(const FitQuestion& promised,
                                  std::map<std::string, std::size_t>& placed) {
    std::vector<GpuPod> left;
    for (const GpuPod& pod : promised.pods) {
        const auto there = placed.find(pod.owner);
        if (there != placed.end() && there->second > 0)
            --there->second;
        else
            left.push_back(pod);
    }
    return left;
}

FitAnswer answer_of(const GangDecision& decision) {
    FitAnswer made{.kind = decision.kind, .why = decision.why};
    if (decision.kind != Kind::kPlaced) return made;
    std::set<std::string> nodes;
    for (const scheduling::Target& target : decision.targets) {
        if (!target.node.empty()) nodes.insert(target.node);
    }
    made.nodes.assign(nodes.begin(), nodes.end());
    return made;
}

}  // namespace

std::vector<FitAnswer> answer(const FitInquiry& inquiry, Books& books) {
    std::vector<GangAsk> asks;
    auto placed = books.placed_of(owners_of(inquiry.promised));
    for (const FitQuestion& one : inquiry.promised) {
        auto left = still_to_come(one, placed);
        if (!left.empty()) asks.push_back(ask_of(one.name, std::move(left), asks.size()));
    }
    const std::size_t promised = asks.size();
    for (const FitQuestion& one : inquiry.questions)
        asks.push_back(ask_of(one.name, one.pods, asks.size()));
    const auto decisions = books.what_if_in_turn(asks);
    const bool all_have_theirs =
        std::none_of(decisions.begin(), decisions.begin() + static_cast<std::ptrdiff_t>(promised),
                     [](const GangDecision& one) { return has_no_place(one.kind); });
    std::vector<FitAnswer> answers;
    for (std::size_t i = promised; i < asks.size(); ++i) {
        answers.push_back(answer_of(decisions[i]));
        if (all_have_theirs && !has_no_place(decisions[i].kind)) continue;
        answers.back() = answer_of(books.what_if_gang(asks[i]));
        answers.back().beside_promised = false;
    }
    return answers;
}

}  // namespace aliquot::controller
