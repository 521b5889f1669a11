// SPDX-License-Identifier: Apache-2.0
#include "grant/mechanism.h"

#include <algorithm>
#include <array>

namespace aliquot::grant {
namespace {

struct Row {
    Mechanism mechanism;
    std::string_view metric;
    std::string_view node;
    std::string_view label;
    std::string_view plan;
    std::string_view config_key;
};

/// In the order of the enumeration.
constexpr std::array kTable{
    Row{Mechanism::kNone, "exclusive", "none", "none", "exclusive", ""},
    Row{Mechanism::kTimeSlicing, "time-slicing", "time-slicing", "time-slicing", "time-slicing",
        "timeSlicing"},
    Row{Mechanism::kGuarded, "time-slicing", "memory", "time-slicing", "fraction", "timeSlicing"},
    Row{Mechanism::kMps, "mps", "mps", "mps", "mps", "mps"},
    Row{Mechanism::kMig, "mig", "mig", "none", "mig", ""},
    Row{Mechanism::kUnknown, "unknown", "unknown", "none", "unknown", ""}};

const Row& row(Mechanism mechanism) { return kTable.at(static_cast<std::size_t>(mechanism)); }

Mechanism parse(std::string_view Row::*column, std::string_view text) {
    const auto* const found = std::ranges::find(kTable, text, column);
    return found == kTable.end() ? Mechanism::kUnknown : found->mechanism;
}

}  // namespace

std::string_view metric_text(Mechanism mechanism) { return row(mechanism).metric; }
std::string_view node_text(Mechanism mechanism) { return row(mechanism).node; }
std::string_view label_text(Mechanism mechanism) { return row(mechanism).label; }
std::string_view plan_text(Mechanism mechanism) { return row(mechanism).plan; }
std::string_view config_key(Mechanism mechanism) { return row(mechanism).config_key; }

Mechanism parse_metric_text(std::string_view text) { return parse(&Row::metric, text); }
Mechanism parse_node_text(std::string_view text) { return parse(&Row::node, text); }

}  // namespace aliquot::grant
