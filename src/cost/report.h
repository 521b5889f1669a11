// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/money.h"
#include "cost/price.h"
#include "cost/row.h"

namespace aliquot::cost {

enum class By : std::uint8_t {
    kNamespace,
    kQueue,
    kUser,
    kJob,
    kPod,
    kNode,
    kGpu,
    kModel,
    kWorkflow,
};
/// "namespace", "queue", ...
std::string_view word(By by);
std::optional<By> by_of(std::string_view word);
/// All of the words, in order.
std::vector<std::string_view> by_words();

/// What a line of a report adds up.
struct Sums {
    std::array<Micros, kStates> by_state{};  // all of the line, CPU and memory with the GPUs
    Micros gpu = 0;
    Micros cpu = 0;
    Micros memory = 0;
    std::array<std::int64_t, kStates> gpu_ms{};  // of whole GPUs
    std::int64_t core_ms = 0;                    // of cores
    std::int64_t mib_s = 0;                      // of MiB of memory
    Micros gpu_idle = 0;                         // of `gpu`, held without use
    std::uint64_t energy_millijoules = 0;
    [[nodiscard]] Micros total() const { return gpu + cpu + memory; }
    [[nodiscard]] Micros of(State state) const { return by_state[static_cast<std::size_t>(state)]; }
    /// Held without use.
    [[nodiscard]] Micros idle() const { return of(State::kIdle); }
    void add(const Row& row);
};

struct Line {
    std::string key;      // as asked for: "team-a"; empty: not known
    bool nobody = false;  // what no owner had: free, warming, draining, broken
    Sums sums;
};

/// One hour, or one day, of all lines together: the trend.
struct Step {
    TimeMs begin = 0;
    Micros owners = 0;
    Micros idle = 0;  // of these
    Micros nobody = 0;
};

/// A workload that was measured to need less than it holds.
struct Saving {
    std::string key;                   // its job, or "namespace/pod"
    Micros cost = 0;                   // of its GPUs in the report's time
    Micros saved = 0;                  // of that, with the smaller share
    std::uint32_t share = 0;           // billionths of a GPU that it holds
    std::uint32_t needed_share = 0;    // that it would need
    std::uint32_t peak_mib = 0;        // GPU memory, measured
    std::uint32_t needed_mib = 0;      // with the reserve on top
    std::uint32_t busy_percent = 0;    // of its share, in its busiest hour
    std::uint32_t needed_percent = 0;  // compute of a GPU, with the reserve on top
};

/// A budget and what was spent of it in its period.
struct BudgetState {
    Budget budget;
    TimeMs begin = 0;  // of the period
    Micros spent = 0;
    [[nodiscard]] bool warns() const;
    [[nodiscard]] bool is_spent() const { return spent >= budget.amount; }
};

/// What nodes have cost and whom; also what a page draws.
struct Report {
    By by = By::kNamespace;
    TimeMs begin = 0;  // of the first row's hour; 0: no rows
    TimeMs end = 0;
    std::vector<Line> lines;  // the dearest first; nobody's lines last
    Sums sums;
    Micros bill = 0;        // equals sums.total()
    TimeMs watched_ms = 0;  // of all nodes
    TimeMs gap_ms = 0;  // of the nodes, between their first and last hour, not watched: not billed
    std::vector<Step> steps;
    std::string currency = "USD";
    double pue = 1;
    std::optional<double> grams_per_kwh;  // empty: the grid's CO2e is not told
    std::vector<Saving> savings;          // the largest first
    std::vector<BudgetState> budgets;
    std::vector<std::string> notes;  // whole sentences
};

/// step_ms    of Report::steps: kHourMs or kDayMs
Report report_of(const Allocation& allocation, const History& history, By by,
                 TimeMs step_ms = kDayMs);

/// Grams of CO2e of so much energy.
/// pue            what a data centre takes for each unit that its machines take, 1 or more
/// grid_grams     of each kWh of the grid
double grams_co2e(std::uint64_t millijoules, double pue, double grid_grams);

}  // namespace aliquot::cost
