// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/command.h"

namespace aliquot::cli {

/// What goes on now, on err: one line that is written over on a terminal, a line per change
/// elsewhere.
class StepLine {
public:
    explicit StepLine(Context& context) : context_(context) {}
    ~StepLine() { end(); }
    StepLine(const StepLine&) = delete;
    StepLine& operator=(const StepLine&) = delete;

    void show(const std::string& text);
    /// Takes the line away (terminal); nothing is shown any more.
    void end();

private:
    Context& context_;
    std::string shown_;
};

}  // namespace aliquot::cli
