// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "catalog/xid.h"
#include "exposition/field.h"

namespace aliquot::exposition {
namespace {

using gpu::Metric;

constexpr std::uint64_t kMebibyte = 1U << 20U;
constexpr unsigned kPlaces = 6;

/// An amount in the unit of the field: still a whole number, so that parts add up to their total.
std::uint64_t whole(std::uint64_t amount, Convert convert) {
    return convert == Convert::kMebibytes ? amount / kMebibyte : amount;
}

Decimal decimal(std::uint64_t value, Convert convert) {
    constexpr std::uint64_t kThousand = 1000;
    constexpr unsigned kPercentDigits = 4;
    switch (convert) {
        case Convert::kMilli:
            return {value * kThousand, kPlaces, true};
        case Convert::kPpmRatio:
            return {value, kPlaces, true};
        case Convert::kPpmPercent:
            return {value, kPercentDigits, false};
        default:
            return {value, 0, false};
    }
}

}  // namespace

metrics::Text& FieldRows::row(const DeviceRow& device) {
    text_.row(scene_.rows.view(block(device.names)));
    if (!device.cut && device.parts.size() == 1 && device.parts.front().alone != nullptr) {
        text_.more(scene_.rows.view(device.parts.front().alone->foreign));
    }
    return text_;
}

metrics::Text& FieldRows::row(const PartRow& part) {
    text_.row(scene_.rows.view(block(part.names)));
    if (part.alone != nullptr) text_.more(scene_.rows.view(part.alone->foreign));
    return text_;
}

metrics::Text& FieldRows::row(const PartRow& part, const PodRow& pod) {
    return text_.row(scene_.rows.view(block(part.names))).more(scene_.rows.view(pod.foreign));
}

void FieldRows::is(double value, Convert convert) {
    constexpr double kHundred = 100;
    constexpr double kMillion = 1e6;
    constexpr double kThousand = 1e3;
    const auto six = [this](double scaled) {
        text_.is(Decimal{static_cast<std::uint64_t>(std::llround(scaled)), kPlaces, true});
    };
    switch (convert) {
        case Convert::kMebibytes:
            return text_.is(static_cast<std::uint64_t>(value) / kMebibyte);
        case Convert::kMilli:
            return six(value * kThousand);
        case Convert::kRatio:
            return six(value * kMillion);
        case Convert::kPercent:
            return six(value * kMillion / kHundred);
        case Convert::kMillion:
            return text_.is(static_cast<std::uint64_t>(std::llround(value * kMillion)));
        default:
            return text_.is(static_cast<std::uint64_t>(std::llround(value)));
    }
}

void FieldRows::write(const Field& field) {
    for (const DeviceRow& device : scene_.rows.devices) {
        if (field.way == Way::kXid) write_xid(device);  // of a lost GPU above all
        if (!device.fresh) continue;
        switch (field.way) {
            case Way::kUncut:
                if (device.cut) break;
                [[fallthrough]];
            case Way::kGpu:
                if (const auto value = device.device->metrics.amount(field.metric)) {
                    row(device);
                    is(*value, field.convert);
                }
                break;
            case Way::kPart:
                write_part_metric(field, device);
                break;
            case Way::kSplit:
                write_split(field, device);
                break;
            case Way::kFree:
                write_free(field, device);
                break;
            case Way::kActive:
                write_active(field, device);
                break;
            default:
                write_odd(field, device);
        }
    }
}

/// Writes what a part uses; returns the sum of its rows.
std::uint64_t FieldRows::write_part(const Field& field, const PartRow& part) {
    const auto total = part.part->total.*field.amount;
    if (part.alone != nullptr) {
        const auto value = total ? total : part.alone->amounts.*field.amount;
        if (!value) return 0;
        row(part).is(decimal(whole(*value, field.convert), field.convert));
        return whole(*value, field.convert);
    }
    if (one_row_each()) {
        if (!total) return 0;
        row(part).is(decimal(whole(*total, field.convert), field.convert));
        return whole(*total, field.convert);
    }
    std::uint64_t sum = 0;
    const bool counter = field.amount == &telemetry::Amounts::energy_millijoules;
    for (const PodRow& pod : part.pods) {
        const auto value = pod.amounts.*field.amount;
        if (!value || (pod.ended && !counter)) continue;
        const std::uint64_t number = whole(*value, field.convert);
        row(part, pod).is(decimal(number, field.convert));
        sum += number;
    }
    if (!total) return sum;
    const std::uint64_t all = whole(*total, field.convert);
    row(part).is(decimal(all - std::min(all, sum), field.convert));
    return std::max(all, sum);
}

/// What is measured of the whole board only, and divided by us.
bool FieldRows::is_of_the_board(const Field& field) {
    return field.amount == &telemetry::Amounts::energy_millijoules ||
           field.amount == &telemetry::Amounts::power_milliwatts;
}

void FieldRows::write_split(const Field& field, const DeviceRow& device) {
    if (one_row_each() && device.cut && is_of_the_board(field)) {
        const auto board = device.device->total.*field.amount;
        if (board) row(device).is(decimal(whole(*board, field.convert), field.convert));
        return;
    }
    std::uint64_t sum = 0;
    for (const PartRow& part : device.parts) sum += write_part(field, part);
    const auto total = device.device->total.*field.amount;
    if (!total || (!device.cut && !device.parts.empty())) return;
    const std::uint64_t all = whole(*total, field.convert);
    row(device).is(decimal(all - std::min(all, sum), field.convert));
}

void FieldRows::write_part_metric(const Field& field, const DeviceRow& device) {
    if (!device.cut) {
        if (const auto value = device.device->metrics.amount(field.metric)) {
            row(device);
            is(*value, field.convert);
        }
        return;
    }
    for (const PartRow& part : device.parts) {
        if (const auto value = part.part->metrics.amount(field.metric)) {
            row(part);
            is(*value, field.convert);
        }
    }
}

/// A pod of a shared GPU has free what its limit leaves; without a limit nothing is its own.
void FieldRows::write_free(const Field& field, const DeviceRow& device) {
    write_part_metric(field, device);
    if (one_row_each()) return;
    for (const PartRow& part : device.parts) {
        if (part.alone != nullptr) continue;
        for (const PodRow& pod : part.pods) {
            if (pod.ended || !pod.memory_limit_bytes || !pod.amounts.memory_bytes) continue;
            const std::uint64_t limit = *pod.memory_limit_bytes;
            const std::uint64_t left = limit - std::min(limit, *pod.amounts.memory_bytes);
            row(part, pod).is(whole(left, field.convert));
        }
    }
}

bool FieldRows::approximates(const DeviceRow& device) const {
    return scene_.style.approximate_active && device.fresh && !device.cut &&
           !device.device->metrics.amount(Metric::kGraphicsActive) &&
           device.device->total.utilization_ppm;
}

void FieldRows::write_active(const Field& field, const DeviceRow& device) {
    if (!approximates(device)) return write_part_metric(field, device);
    row(device).is(Decimal{*device.device->total.utilization_ppm, kPlaces, true});
}

void FieldRows::write_xid(const DeviceRow& device) {
    const auto& seen = device.device->last_xids;
    const std::uint64_t xid = seen.empty() ? 0 : seen.back().xid;
    const catalog::Xid* known = catalog::find_xid(static_cast<unsigned>(xid));
    row(device)
        .label("err_code", xid)
        .label("err_msg", xid == 0           ? "No Error"
                          : known == nullptr ? "Unknown Error"
                                             : known->meaning)
        .is(xid);
}

void FieldRows::write_recent_xids(const DeviceRow& device) {
    constexpr std::chrono::minutes kWindow{5};
    constexpr std::string_view kWindowMs = "300000";
    std::map<std::uint64_t, std::uint64_t> counts;
    for (const gpu::SeenXid& seen : device.device->last_xids) {
        if (scene_.snapshot.at - seen.at <= kWindow) ++counts[seen.xid];
    }
    if (counts.empty()) row(device).label("window_size_in_ms", kWindowMs).is(0U);
    for (const auto& [xid, count] : counts) {
        row(device).label("window_size_in_ms", kWindowMs).label("xid", xid).is(count);
    }
}

void FieldRows::write_odd(const Field& field, const DeviceRow& device) {
    const gpu::Gpu& gpu = device.device->gpu;
    const gpu::MetricValues& metrics = device.device->metrics;
    constexpr unsigned kWarn = 10;
    constexpr unsigned kFail = 20;
    if (field.way == Way::kMigMode) {
        row(device).is(gpu.mig_enabled ? 1U : 0U);
    } else if (field.way == Way::kBar1Free) {
        const auto total = metrics.amount(Metric::kBar1TotalBytes);
        const auto used = metrics.amount(Metric::kBar1UsedBytes);
        if (!total || !used) return;
        row(device);
        is(std::max(0.0, *total - *used), field.convert);
    } else if (field.way == Way::kUsedShare) {
        const auto total = metrics.amount(Metric::kMemoryTotalBytes);
        const auto used = metrics.amount(Metric::kMemoryUsedBytes);
        const double reserved = metrics.amount(Metric::kMemoryReservedBytes).value_or(0);
        if (!total || !used || *total <= reserved) return;
        row(device);
        is(*used / (*total - reserved), field.convert);
    } else if (field.way == Way::kLicense) {
        const auto licensed = metrics.amount(Metric::kVgpuLicensed);
        if (!licensed && gpu.virtualization == gpu::Virtualization::kVgpuGuest) return;
        row(device);
        is(licensed.value_or(0), field.convert);
    } else if (field.way == Way::kRecentXids) {
        write_recent_xids(device);
    } else if (field.way == Way::kHealth) {
        const auto state = gpu.health.state;
        row(device)
            .label("health_watch", "ALL")
            .is(state == gpu::Health::State::kHealthy    ? 0U
                : state == gpu::Health::State::kDegraded ? kWarn
                                                         : kFail);
    }
}

}  // namespace aliquot::exposition
