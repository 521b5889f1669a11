// SPDX-License-Identifier: Apache-2.0
// What others ask of the books.
#include <algorithm>
#include <map>
#include <set>

#include "controller/placement_work.h"

namespace aliquot::controller {
namespace {

using scheduling::GangAsk;
using scheduling::GpuPod;
using Kind = scheduling::Decision::Kind;

GangAsk gang_of(const FitQuestion& question, std::vector<GpuPod> pods) {
    constexpr char kId[] = "asked";  // no uid looks like this
    for (GpuPod& pod : pods) pod.gang = kId;
    return {.id = kId, .name = question.name, .pods = std::move(pods), .near = {}};
}

std::set<std::string> owners_of(const std::vector<GpuPod>& pods) {
    std::set<std::string> owners;
    for (const GpuPod& pod : pods) {
        if (!pod.owner.empty()) owners.insert(pod.owner);
    }
    return owners;
}

/// Without those whose owner has made them by now: the books know of them.
std::vector<GpuPod> still_to_come(const std::vector<GpuPod>& promised,
                                  std::map<std::string, std::size_t> placed) {
    std::vector<GpuPod> left;
    for (const GpuPod& pod : promised) {
        const auto there = placed.find(pod.owner);
        if (there != placed.end() && there->second > 0)
            --there->second;
        else
            left.push_back(pod);
    }
    return left;
}

}  // namespace

FitAnswer PlacementWork::answer_to(const FitQuestion& question) {
    const auto decision = books_->what_if_gang(gang_of(question, question.pods));
    FitAnswer answer{.kind = decision.kind, .why = decision.why};
    if (decision.kind != Kind::kPlaced) return answer;
    std::set<std::string> nodes;
    for (const scheduling::Target& target : decision.targets) {
        if (!target.node.empty()) nodes.insert(target.node);
    }
    answer.nodes.assign(nodes.begin(), nodes.end());
    std::vector<GpuPod> all =
        still_to_come(question.promised, books_->placed_of(owners_of(question.promised)));
    if (all.empty()) return answer;
    all.insert(all.end(), question.pods.begin(), question.pods.end());
    answer.beside_promised =
        books_->what_if_gang(gang_of(question, std::move(all))).kind == Kind::kPlaced;
    return answer;
}

void PlacementWork::answer_questions() {
    std::vector<std::pair<FitQuestion, std::promise<FitAnswer>>> questions;
    {
        const std::scoped_lock lock(mutex_);
        questions.swap(questions_);
    }
    for (auto& [question, promise] : questions) promise.set_value(answer_to(question));
}

}  // namespace aliquot::controller
