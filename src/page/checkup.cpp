// SPDX-License-Identifier: Apache-2.0
#include "page/checkup.h"

#include <algorithm>

#include "doctor/facts.h"

namespace aliquot::page {
namespace {

using doctor::Judged;
using doctor::Outcome;

bool is_told(const Judged& one) {
    return one.verdict.outcome == Outcome::kFailed || one.verdict.outcome == Outcome::kWarning;
}

}  // namespace

std::vector<Remark> remarks_of(const doctor::Report& report, const std::string& where) {
    std::vector<const Judged*> told;
    for (const Judged& one : report.checks) {
        if (is_told(one)) told.push_back(&one);
    }
    std::stable_partition(told.begin(), told.end(), [&report](const Judged* one) {
        return std::ranges::find(report.root_causes, one->id) != report.root_causes.end();
    });
    std::vector<Remark> remarks;
    for (const Judged* const one : told) {
        const auto& verdict = one->verdict;
        remarks.push_back(
            {.severity = verdict.outcome == Outcome::kFailed ? "error" : "warning",
             .where = where + ", " + std::string(to_text(one->level)),
             .what = one->id + " " + verdict.message,
             .fix = verdict.fixes.empty() ? std::string() : verdict.fixes.front().text});
    }
    return remarks;
}

void Checkup::add_to(Sight& sight, std::chrono::steady_clock::time_point now) {
    if (const auto heard = report_.hear(now)) {
        found_ = *heard ? remarks_of(**heard, where_)
                        : std::vector<Remark>{{"warning", "doctor", heard->error().message, ""}};
    }
    sight.remarks.insert(sight.remarks.end(), found_.begin(), found_.end());
}

Checkup::Examine examination_of(doctor::LiveOptions options) {
    return [options = std::move(options)]() -> Result<doctor::Report> {
        auto tree = doctor::gather_live(options);
        if (!tree) return std::move(tree).error();
        return doctor::judge(
            doctor::facts_of(*tree, {.kind = doctor::Target::Kind::kHost, .name = {}}));
    };
}

}  // namespace aliquot::page
