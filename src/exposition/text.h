// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "metrics/text.h"

namespace aliquot::exposition {

using metrics::append_label;
using metrics::Decimal;

/// A text whose families have the words of the catalogue.
///
///   text.family("gpu_throttle_active");
///   text.row(labels_of_the_gpu).label("reason", "sw_power").is(1);
class Text : public metrics::Text {
public:
    using metrics::Text::Text;

    /// The family of the rows to come; that of the rows before is no change.
    /// name   of the catalogue: an unknown one is our bug and ends the program
    void family(std::string_view name);
    /// The same with other words than the catalogue's.
    /// type   as NVIDIA's lists of counters have it; a histogram or summary has a single row here, and is untyped
    void family(std::string_view name, std::string_view help, std::string_view type,
                std::string_view unit);
};

}  // namespace aliquot::exposition
