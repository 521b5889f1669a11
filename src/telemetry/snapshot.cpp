// SPDX-License-Identifier: Apache-2.0
#include "telemetry/snapshot.h"

namespace aliquot::telemetry {

std::string_view to_text(Source source) {
    switch (source) {
        case Source::kWhole:
            return "whole";
        case Source::kGuard:
            return "guard";
        case Source::kDriver:
            return "driver";
        case Source::kNone:
            return "none";
    }
    return "";
}

}  // namespace aliquot::telemetry
