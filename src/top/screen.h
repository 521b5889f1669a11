// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "top/layout.h"
#include "top/request.h"
#include "top/view.h"

namespace aliquot::top {

struct Size {
    std::size_t width = 80;
    std::size_t height = 24;
    friend bool operator==(const Size&, const Size&) = default;
};

/// What the live view is at: what is looked at, and where in it the user is.
struct UiState {
    View view;
    std::string filter_text;  // as it was typed
    std::string cursor;       // key of the row
    std::size_t top = 0;      // first row on the screen
    std::vector<View> back;   // where Esc leads, at most kMostBack
    bool typing = false;      // the filter
    bool help = false;
    bool paused = false;
    bool quit = false;
    bool graph = false;  // of the cursor's row over time, in place of the table
    std::chrono::milliseconds interval{2000};  // between looks
    std::optional<Request> asked;              // done once the user has said y
    std::optional<Request> request;            // for the program to take and do
    std::optional<Reading> reading;            // a text in place of the table
    std::string message;                       // shown once
    static constexpr std::size_t kMostBack = 16;
};

/// A screen full, exactly `size.height` lines, none wider than `size.width`.
struct Screen {
    std::vector<Line> lines;
    std::size_t rows = 0;  // of the table, or lines of a text, that fit
    // Where the table is, for the mouse.
    std::optional<std::size_t> heading;  // the line of its heading
    std::optional<std::size_t> first;    // the line of its first row
    struct Title {
        std::size_t begin = 0;  // columns of the screen
        std::size_t end = 0;
        Sort sort = Sort::kNone;
    };
    std::vector<Title> titles;  // from left to right
};

/// Draws the live view. Keeps the cursor on its row, or on the one that took its place, and the rows
/// around it on the screen: that is why `ui` changes.
Screen draw(const ClusterSnapshot& cluster, const History& history, const Table& table, UiState& ui,
            const Size& size, const Style& style);

/// The row that the cursor is on; none: there is no row.
std::size_t cursor_of(const Table& table, const UiState& ui);

}  // namespace aliquot::top
