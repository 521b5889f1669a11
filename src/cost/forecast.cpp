// SPDX-License-Identifier: Apache-2.0
#include "cost/forecast.h"

#include <algorithm>

#include "base/sentence.h"
#include "base/text.h"
#include "cost/money.h"

namespace aliquot::cost {
namespace {

constexpr Wide kSecondsPerHour = 3'600;
constexpr std::size_t kTenths = 10;

Micros cost_of(Micros per_hour, std::int64_t seconds) {
    return static_cast<Micros>(static_cast<Wide>(per_hour) *
                               static_cast<Wide>(std::max<std::int64_t>(seconds, 0)) /
                               kSecondsPerHour);
}

Micros part_of(Micros whole, std::uint64_t amount, std::uint64_t of) {
    if (of == 0) return 0;
    return static_cast<Micros>(static_cast<Wide>(whole) * std::min(amount, of) / of);
}

}  // namespace

Forecast forecast(const Ask& ask, const Span& node) {
    const Rates rates = rates_of(node);
    Forecast told{.runs = ask.earlier.size()};
    const Micros gpu = rates.gpus.empty() ? 0 : *std::ranges::max_element(rates.gpus);
    told.per_hour = part_of(gpu, ask.share, kWholeGpu) * ask.gpus +
                    part_of(rates.cpu, ask.cpu_milli, node.cpu_milli) +
                    part_of(rates.memory, ask.memory_mib, node.memory_mib);
    told.most = cost_of(told.per_hour, ask.limit_seconds);
    if (ask.earlier.empty()) return told;
    std::vector<std::int64_t> runs = ask.earlier;
    std::ranges::sort(runs);
    told.p50 = cost_of(told.per_hour, runs[(runs.size() - 1) / 2]);
    // The smallest that nine of ten are not above.
    told.p90 = cost_of(told.per_hour, runs[(runs.size() * 9 + kTenths - 1) / kTenths - 1]);
    if (ask.limit_seconds > 0) {
        told.p50 = std::min(told.p50, told.most);
        told.p90 = std::min(told.p90, told.most);
    }
    return told;
}

std::string sentence_of(const Forecast& told, const std::string& currency) {
    if (told.per_hour == 0) return "";
    std::string text;
    if (told.runs != 0) {
        text =
            concat({"likely ", money_text(told.p50, kCents), " to ", money_text(told.p90, kCents),
                    " ", currency, " (", counted(told.runs, "earlier run"), "), "});
    }
    return concat({text, "at most ", money_text(told.most, kCents), " ", currency,
                   " by its time limit, ", money_text(told.per_hour, kCents), " an hour"});
}

}  // namespace aliquot::cost
