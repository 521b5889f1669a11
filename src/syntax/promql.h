// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "syntax/block.h"

namespace aliquot::syntax {

/// A PromQL expression, with what it is cut into.
struct Expression {
    enum class Source : std::uint8_t {
        kRule,       // expr of a rule
        kDashboard,  // a target of a Grafana panel
        kFence,      // a query of a promql block, or of an unmarked one
        kInline,     // inline code of prose: `DCGM_FI_DEV_GPU_UTIL{pod="x"}`
        kAdapter,    // prometheus-adapter, KEDA trigger, HPA metric name
    };
    /// A metric with its selector.
    struct Selector {
        std::string metric;  // "DCGM_FI_DEV_FB_USED"; "" for {__name__=...}
        Mark mark;
        struct Matcher {
            std::string label;
            std::string op;  // "=", "!=", "=~", "!~"
            std::string value;
            Mark mark;
        };
        std::vector<Matcher> matchers;
        std::string range;                   // "5m" of [5m]; "" when there is none
        std::vector<std::string> functions;  // around it, the innermost first: "rate", "sum"
        std::vector<std::string> grouping;   // labels of by (...) of the aggregations around it
    };
    Source source = Source::kRule;
    std::string text;
    Mark mark;
    int block = -1;
    int object = -1;  // of a rule, dashboard: index into File::objects
    int heading = -1;
    const Value* rule =
        nullptr;        // the mapping with expr/alert/record/for; the panel or the trigger
    std::string alert;  // name; "" when it is no alert
    std::string record;
    std::string duration;  // `for`
    std::string unit;      // of the panel: "decbytes"
    std::vector<Selector> selectors;
    std::vector<std::string> group_labels;  // every label of by/without/on/ignoring/group_left
};

/// Turns an offset into a query into a place of the file.
using QueryPlace = std::function<Mark(std::size_t)>;

/// A query with its selectors; at most 64 KiB of it are looked at.
Expression cut_query(std::string_view text, Expression::Source source, const QueryPlace& place);

/// Whether a line begins with a name that is no keyword such as `by` or `and`.
bool begins_query(std::string_view line);

/// Whether the words are more than the name of a GPU's metric: `DCGM_FI_DEV_FB_USED{pod="x"} / 1024`.
bool is_query(std::string_view words);

/// Cuts a query into selectors; any text is accepted. `place` gives each byte its place.
std::vector<Expression::Selector> read_selectors(std::string_view text, const Block& block,
                                                 std::size_t offset);
/// A metric name or selector that stands alone, as `text` at `mark`.
std::vector<Expression::Selector> read_selectors(std::string_view text, Mark mark);

}  // namespace aliquot::syntax
