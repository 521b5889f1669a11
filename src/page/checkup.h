// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "doctor/judge.h"
#include "doctor/live.h"
#include "page/node_tables.h"
#include "page/recurring.h"

namespace aliquot::page {

/// What doctor found, the root causes first: an error or a warning each, with the first thing to do. Pure.
/// where   "this machine"
std::vector<Remark> remarks_of(const doctor::Report& report, const std::string& where);

/// Findings of `aliquot doctor` for a page, looked for again after five minutes while somebody looks. Not thread-safe.
class Checkup {
public:
    using Examine = Recurring<doctor::Report>::Ask;
    static constexpr std::chrono::minutes kAgain{5};

    /// examine   called by another thread, one call at a time; empty: nobody examines
    explicit Checkup(Examine examine, std::string where = "this machine")
        : report_(std::move(examine), kAgain), where_(std::move(where)) {}

    /// Adds what was found last, and a remark where it could not be looked for.
    void add_to(Sight& sight,
                std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

private:
    Recurring<doctor::Report> report_;
    std::string where_;
    std::vector<Remark> found_;
};

/// Examines a machine as `aliquot doctor host` does.
Checkup::Examine examination_of(doctor::LiveOptions options);

}  // namespace aliquot::page
