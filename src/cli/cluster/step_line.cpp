// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/step_line.h"

#include <ostream>

namespace aliquot::cli {

void StepLine::show(const std::string& text) {
    if (text == shown_) return;
    shown_ = text;
    if (context_.err_is_terminal) {
        context_.err << "\r\x1b[K" << text << std::flush;
    } else {
        context_.err << text << std::endl;
    }
}

void StepLine::end() {
    if (context_.err_is_terminal && !shown_.empty()) context_.err << "\r\x1b[K" << std::flush;
    shown_.clear();
}

}  // namespace aliquot::cli
