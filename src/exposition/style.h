// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "exposition/counter_list.h"
#include "metrics/text.h"

namespace aliquot::exposition {

using metrics::Format;

/// Which of NVIDIA's names are answered.
enum class Compat : std::uint8_t {
    kClassic,  // those up to DCGM exporter 4.8
    kRenamed,  // those of 4.9; what has no other name there keeps its classic one
    kBoth,
    kOff,  // none, nor those of other exporters
};
/// Which of aliquot_guard_* are answered.
enum class Guards : std::uint8_t {
    kOwn,  // what gpu_pod_* does not tell as well
    kAll,
    kOff,
};
/// What a GPU that several containers share has under other exporters' names.
enum class SharedRows : std::uint8_t {
    kDevice,  // one row with the GPU's own value, as their dashboards and alerts expect
    kPods,    // a row for each container and one for the rest, which add up to it
};

/// "device" or "pods"; empty: another word.
std::optional<SharedRows> shared_rows_of(std::string_view word);

/// "own", "all" or "off"; empty: another word.
std::optional<Guards> guards_of(std::string_view word);

/// "classic", "4.9", "both" or "off"; empty: another word.
std::optional<Compat> compat_of(std::string_view word);

/// How the snapshot is told.
struct Style {
    Format format = Format::kText;
    Compat compat = Compat::kClassic;
    SharedRows shared_rows = SharedRows::kDevice;
    /// Rows of pods have exported_pod, ... too, for dashboards that were made for honorLabels=false.
    bool exported_labels = false;
    bool pod_uid = false;            // rows of pods under NVIDIA's names have pod_uid
    bool capital_hostname = true;    // Hostname, under classic names
    bool small_hostname = false;     // hostname, under classic names (4.9's always have it)
    bool kubernetes_node = true;     // kubernetes_node, under all of NVIDIA's names
    bool approximate_active = true;  // GR_ENGINE_ACTIVE from the utilization before Hopper
    bool openshift = false;          // accelerator_*, but for compat kOff
    Guards guards = Guards::kOwn;
    std::chrono::seconds stale_after{15};  // older metrics of a silent GPU are not told
    /// When set, NVIDIA's names are these and no others.
    std::shared_ptr<const CounterList> counters;
};

/// OpenMetrics when the asker takes it at least as gladly as the text format.
/// accept   value of the Accept header; anything is understood
Format choose_format(std::string_view accept);

/// Value of the Content-Type header.
std::string_view content_type(Format format);

}  // namespace aliquot::exposition
