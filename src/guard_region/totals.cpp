// SPDX-License-Identifier: Apache-2.0
#include "guard_region/totals.h"

#include <array>

#include "base/number.h"
#include "guard_region/uuid.h"

namespace aliquot::guard_region {
namespace {

constexpr std::string_view kHead = "aliquot totals 1\n";
constexpr std::array kFigures{&Totals::denied,       &Totals::denied_bytes, &Totals::gpu_ns,
                              &Totals::throttled_ns, &Totals::launches,     &Totals::overruns};

std::string_view take(std::string_view& text, char end) {
    const auto at = text.find(end);
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at == text.npos ? text.size() : at + 1);
    return taken;
}

}  // namespace

std::vector<Totals> totals_of(const LedgerView& ledger) {
    std::vector<Totals> totals;
    for (const LedgerDevice& device : ledger.devices) {
        if (is_none(device.uuid)) continue;
        totals.push_back({.uuid = gpu_text(device.uuid),
                          .denied = device.denied,
                          .denied_bytes = device.denied_bytes,
                          .gpu_ns = device.gpu_ns,
                          .throttled_ns = device.throttled_ns,
                          .launches = device.launches,
                          .overruns = device.overruns});
    }
    return totals;
}

std::string to_text(const std::vector<Totals>& totals) {
    std::string text(kHead);
    for (const Totals& one : totals) {
        text += one.uuid;
        for (const auto figure : kFigures) text += ' ' + std::to_string(one.*figure);
        text += '\n';
    }
    return text;
}

Result<std::vector<Totals>> parse_totals(std::string_view text) {
    const Error malformed{ErrorCode::kInvalidInput, "not a region's totals of this version"};
    if (!text.starts_with(kHead) || !text.ends_with('\n')) return malformed;
    text.remove_prefix(kHead.size());
    std::vector<Totals> totals;
    while (!text.empty()) {
        std::string_view line = take(text, '\n');
        Totals one{.uuid = std::string(take(line, ' '))};
        const auto uuid = parse_uuid(one.uuid);
        if (!uuid || totals.size() == abi::kRegionDevices) return malformed;
        one.uuid = gpu_text(*uuid);
        for (const auto figure : kFigures) {
            const auto value = parse_number<std::uint64_t>(take(line, ' '));
            if (!value) return malformed;
            one.*figure = *value;
        }
        if (!line.empty()) return malformed;
        totals.push_back(std::move(one));
    }
    return totals;
}

}  // namespace aliquot::guard_region
