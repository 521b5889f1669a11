// SPDX-License-Identifier: Apache-2.0
#include "top/kinds.h"
#include "top/sums.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

constexpr std::uint64_t kPressedPpm = 950'000;   // of a memory limit
constexpr std::uint64_t kHeldBackPpm = 500'000;  // of the time
constexpr std::uint64_t kLongIdleNs = 3'600'000'000'000;

constexpr double kPercent = 100.0 / telemetry::kMillion;

std::optional<double> number(std::optional<std::uint64_t> value, double factor = 1) {
    if (!value) return std::nullopt;
    return static_cast<double>(*value) * factor;
}

}  // namespace

Cell percent_cell(std::optional<std::uint64_t> ppm) {
    const Tone tone = !ppm || *ppm == 0 ? Tone::kDim : Tone::kPlain;
    return {percent_text(ppm), number(ppm, kPercent), tone};
}

Cell memory_cell(std::optional<std::uint64_t> bytes) { return {memory_text(bytes), number(bytes)}; }

Cell memory_of_cell(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
    const bool pressed = used && limit && *limit > 0 &&
                         static_cast<double>(*used) >=
                             static_cast<double>(*limit) * kPressedPpm / telemetry::kMillion;
    return {memory_of_text(used, limit), number(used), pressed ? Tone::kWarn : Tone::kPlain};
}

Cell watts_cell(std::optional<std::uint64_t> milliwatts) {
    return {watts_text(milliwatts), number(milliwatts, 0.001)};
}

Cell idle_cell(const telemetry::Tenant& tenant) {
    const auto idle = tenant.idle_ns;
    if (idle && *idle < 1'000'000'000) return {"0s", number(idle, 1e-9), Tone::kDim};
    const bool wasted = idle && *idle >= kLongIdleNs && !tenant.resource.empty();
    return {duration_text(idle), number(idle, 1e-9), wasted ? Tone::kWarn : Tone::kPlain};
}

Cell age_cell(const telemetry::Tenant& tenant) {
    return {duration_text(tenant.held_ns), number(tenant.held_ns, 1e-9)};
}

Cell throttled_cell(const History& history, const std::string& key,
                    const telemetry::Tenant& tenant) {
    auto ppm = history.throttled_ppm(key);
    if (!ppm && tenant.throttled_ns && tenant.held_ns > 0) {
        const double part =
            static_cast<double>(*tenant.throttled_ns) / static_cast<double>(tenant.held_ns);
        ppm = whole_number((part < 1 ? part : 1) * telemetry::kMillion);
    }
    Cell cell = percent_cell(ppm);
    if (ppm && *ppm >= kHeldBackPpm) cell.tone = Tone::kWarn;
    return cell;
}

Cell share_cell(const Place& place, const telemetry::Tenant& tenant) {
    const auto entitled = number(tenant.entitlement_ppm, kPercent);
    if (tenant.entitlement_ppm == 0) return {"-", entitled, Tone::kDim};
    const std::string part = percent_text(tenant.entitlement_ppm) + "%";
    if (!place.part.gpu_instance) return {part, entitled};
    const std::string profile = shown(place.part.profile);
    if (tenant.entitlement_ppm >= telemetry::kMillion) return {profile, entitled};
    return {part + " " + profile, entitled};
}

}  // namespace aliquot::top
