// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cost/share.h"

namespace aliquot::cost {

/// What a job would hold.
struct Ask {
    std::uint32_t gpus = 1;           // 0: none
    std::uint32_t share = kWholeGpu;  // of each
    std::uint32_t cpu_milli = 0;
    std::uint32_t memory_mib = 0;
    std::int64_t limit_seconds = 0;       // it is ended then
    std::vector<std::int64_t> earlier{};  // seconds that earlier runs of it took
};

struct Forecast {
    Micros per_hour = 0;
    Micros p50 = 0;  // as likely more as less; 0 without earlier runs
    Micros p90 = 0;
    Micros most = 0;       // up to its time limit
    std::size_t runs = 0;  // that it is told from
};

/// What it would cost on a node of this kind (begin and end do not matter).
Forecast forecast(const Ask& ask, const Span& node);

/// "likely 1.20 USD, at most 24.00 USD (1.00 an hour)"; "" when its node has no price.
std::string sentence_of(const Forecast& told, const std::string& currency);

}  // namespace aliquot::cost
