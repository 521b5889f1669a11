// SPDX-License-Identifier: Apache-2.0
// What others ask of the books.
#include <algorithm>

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
    if (question.promised.empty()) return answer;
    std::vector<GpuPod> all = question.promised;
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
