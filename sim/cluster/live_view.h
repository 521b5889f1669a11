// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/colour.h"
#include "sim/cluster/snapshot.h"

namespace aliquot::sim::cluster {

/// The two tables, GPUs and pods.
/// width    0: as wide as needed; else no line is longer, and reasons go over several lines
std::string table_text(const Snapshot& snapshot, Colour colour, unsigned width);

/// {"gpus":[{"index","uuid","model","memoryBytes","health","sharesTotal","sharesUsed"}],
///  "pods":[{"name","namespace","phase","gpus","devices","env","reason","log"}]}
nlohmann::ordered_json to_json(const Snapshot& snapshot);

/// Shows how things go on: on a terminal the tables, redrawn in place; else one line for each
/// change of a pod or a GPU.
class LiveView {
public:
    /// out   outlives the view
    LiveView(std::ostream& out, bool is_terminal, Colour colour)
        : out_(out), is_terminal_(is_terminal), colour_(colour) {}

    void show(const Snapshot& snapshot);
    /// A line that stays above the tables.
    void say(const std::string& line);
    /// Removes what would be redrawn, for the last and complete print.
    void clear();

private:
    bool draw(const Snapshot& snapshot);  // false: it does not fit on the screen
    void tell_changes(const Snapshot& snapshot);

    std::ostream& out_;
    bool is_terminal_;
    Colour colour_;
    unsigned lines_ = 0;  // of the drawing on the screen
    Snapshot last_;
};

}  // namespace aliquot::sim::cluster
