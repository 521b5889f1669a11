// SPDX-License-Identifier: Apache-2.0
#include "doctor/tally.h"

namespace aliquot::doctor {

bool is_bad(const Judged& one) {
    return one.verdict.outcome == Outcome::kFailed || one.verdict.outcome == Outcome::kWarning;
}

Tally tally(const Report& report, Level level) {
    Tally all;
    for (const Judged& one : report.checks) {
        if (one.level != level) continue;
        const Outcome outcome = one.verdict.outcome;
        if (outcome == Outcome::kOk) ++all.ok;
        if (outcome == Outcome::kUnknown) ++all.unknown;
        if (outcome == Outcome::kFailed) ++all.failed;
        if (is_bad(one)) ++all.bad;
        if (outcome != Outcome::kSkipped) continue;
        (one.blocked_by.empty() ? all.beside : all.blocked) += 1;
        if (!one.blocked_by.empty()) all.blocker = one.blocked_by;
    }
    return all;
}

}  // namespace aliquot::doctor
