// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "exposition/writers.h"
#include "gpu/meters.h"

namespace aliquot::exposition {

/// Which rows a field of NVIDIA's has, and what of.
enum class Way : std::uint8_t {
    kGpu,         // a metric, one row for each GPU
    kUncut,       // the same, but none under MIG
    kPart,        // a metric; under MIG one row for each instance
    kSplit,       // an amount, divided between the containers
    kFree,        // memory that is free
    kActive,      // the graphics engine, or what comes near
    kXid,         // the last one
    kMigMode,     //
    kBar1Free,    //
    kUsedShare,   // of the memory that can be used
    kLicense,     // of vGPU
    kRecentXids,  // those of the last five minutes
    kHealth,      //
};

/// How the number becomes NVIDIA's. DCGM prints whole numbers plainly and others with six decimals.
enum class Convert : std::uint8_t {
    kWhole,       //
    kMebibytes,   // of bytes, cut off
    kMilli,       // / 1000, six decimals
    kRatio,       // six decimals
    kPercent,     // / 100, six decimals
    kMillion,     // * 1000000: MHz to Hz
    kPpmRatio,    // parts per million as a ratio, six decimals
    kPpmPercent,  // as percent, decimals as needed
};

struct Field {
    std::string_view name;
    Way way = Way::kGpu;
    gpu::Metric metric = gpu::Metric::kSmClockMhz;
    Convert convert = Convert::kWhole;
    std::optional<std::uint64_t> telemetry::Amounts::*amount = nullptr;
};

/// Writes the rows of a field; the family is begun already. Rows of a GPU that one container has to
/// itself have its labels, as with NVIDIA's exporter; else only what can be divided has rows of
/// containers, where Style::shared_rows wants them.
class FieldRows {
public:
    FieldRows(Text& text, const Scene& scene, bool renamed)
        : text_(text), scene_(scene), renamed_(renamed) {}

    void write(const Field& field);

    /// Whether kActive was made from the utilization.
    [[nodiscard]] bool approximates(const DeviceRow& row) const;

private:
    metrics::Text& row(const DeviceRow& device);
    metrics::Text& row(const PartRow& part);
    metrics::Text& row(const PartRow& part, const PodRow& pod);
    [[nodiscard]] Block block(const Names& names) const {
        return renamed_ ? names.renamed : names.classic;
    }
    void is(double value, Convert convert);
    [[nodiscard]] bool one_row_each() const {
        return scene_.style.shared_rows == SharedRows::kDevice;
    }
    static bool is_of_the_board(const Field& field);
    void write_split(const Field& field, const DeviceRow& device);
    std::uint64_t write_part(const Field& field, const PartRow& part);
    void write_part_metric(const Field& field, const DeviceRow& device);
    void write_free(const Field& field, const DeviceRow& device);
    void write_active(const Field& field, const DeviceRow& device);
    void write_xid(const DeviceRow& device);
    void write_recent_xids(const DeviceRow& device);
    void write_odd(const Field& field, const DeviceRow& device);

    Text& text_;
    const Scene& scene_;
    bool renamed_;
};

}  // namespace aliquot::exposition
