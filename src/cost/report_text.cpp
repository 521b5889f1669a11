// SPDX-License-Identifier: Apache-2.0
// A report for a person, as CSV, as a document.
#include <algorithm>

#include "base/columns.h"
#include "base/number.h"
#include "base/text.h"
#include "cost/budget.h"
#include "cost/outputs.h"
#include "document/build.h"
#include "document/json.h"
#include "document/write.h"

namespace aliquot::cost {
namespace {

using document::Built;
using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::only_if;
using document::or_null;
using document::Value;

constexpr double kHour = static_cast<double>(kHourMs);
constexpr double kPercent = 100;
constexpr std::size_t kShownSavings = 5;
constexpr int kExact = 6;  // digits

std::string key_text(const Line& line) {
    if (line.nobody) return concat({"(", line.key, ")"});
    return line.key.empty() ? "(not told)" : line.key;
}

double hours_of(const Sums& sums) {
    std::int64_t ms = 0;
    for (const std::int64_t one : sums.gpu_ms) ms += one;
    return static_cast<double>(ms) / kHour;
}

double idle_hours(const Sums& sums) {
    return static_cast<double>(sums.gpu_ms[static_cast<std::size_t>(State::kIdle)]) / kHour;
}

std::string part_text(Micros part, Micros whole) {
    if (whole <= 0) return "";
    return decimal_text(static_cast<double>(part) * kPercent / static_cast<double>(whole), 0) +
           " %";
}

using Cells = std::vector<std::string>;

Cells heading(const Report& report, bool wide) {
    std::string by(word(report.by));
    for (char& c : by) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    Cells cells{by, report.currency, "OF ALL", "IDLE", "GPU HOURS"};
    if (!wide) return cells;
    cells.insert(cells.end(), {"IDLE HOURS", "GPU", "CPU", "MEMORY", "KWH"});
    if (report.grams_per_kwh) cells.emplace_back("KG CO2E");
    return cells;
}

Cells cells_of(const Report& report, const std::string& key, const Sums& sums, bool wide) {
    Cells cells{key, money_text(sums.total(), kCents), part_text(sums.total(), report.bill),
                money_text(sums.idle(), kCents), fixed_text(hours_of(sums), kCents)};
    if (!wide) return cells;
    cells.insert(cells.end(), {fixed_text(idle_hours(sums), kCents), money_text(sums.gpu, kCents),
                               money_text(sums.cpu, kCents), money_text(sums.memory, kCents),
                               fixed_text(kwh_of(sums.energy_millijoules), 3)});
    if (report.grams_per_kwh) {
        constexpr double kGrams = 1'000;
        cells.push_back(fixed_text(
            grams_co2e(sums.energy_millijoules, report.pue, *report.grams_per_kwh) / kGrams, 3));
    }
    return cells;
}

std::string saving_text(const Saving& one, const std::string& currency) {
    return concat({"  ", one.key, ": ", money_text(one.saved, kCents), " of ",
                   money_text(one.cost, kCents), " ", currency, " with --gpu-memory ",
                   std::to_string(one.needed_mib), "Mi --gpu-compute ",
                   std::to_string(one.needed_percent), "; measured: ", std::to_string(one.peak_mib),
                   "Mi at most, ", std::to_string(one.busy_percent),
                   " % of its share in its busiest hour\n"});
}

std::string remarks_of(const Report& report) {
    std::string text;
    Micros saved = 0;
    for (const Saving& one : report.savings) saved += one.saved;
    if (saved > 0) {
        text += concat({"\nsmaller shares would have saved ", money_text(saved, kCents), " ",
                        report.currency, ":\n"});
        for (std::size_t i = 0; i < std::min(report.savings.size(), kShownSavings); ++i) {
            text += saving_text(report.savings[i], report.currency);
        }
        if (report.savings.size() > kShownSavings) {
            text += concat({"  and ", std::to_string(report.savings.size() - kShownSavings),
                            " more, with -o json\n"});
        }
    }
    if (!report.budgets.empty()) text += "\n";
    for (const BudgetState& state : report.budgets) {
        text +=
            concat({"budget of ", sentence_of(state, report.currency),
                    state.is_spent() ? state.budget.hold ? ": spent, nothing new starts" : ": spent"
                    : state.warns()  ? ": nearly spent"
                                     : "",
                    "\n"});
    }
    if (report.gap_ms > 0) {
        text += concat({"\nnot watched, and not billed: ",
                        fixed_text(static_cast<double>(report.gap_ms) / kHour, kCents),
                        " hours of nodes\n"});
    }
    for (const std::string& note : report.notes) text += concat({"\n", note, "\n"});
    return text;
}

Value number_of(Micros amount) {
    return make_number(static_cast<double>(amount) / static_cast<double>(kMicrosPerUnit), kExact);
}

Value sums_document(const Report& report, const Sums& sums) {
    Value states = make_mapping();
    for (std::size_t i = 0; i < kStates; ++i) {
        append(states, std::string(word(static_cast<State>(i))), number_of(sums.by_state[i]));
    }
    const double kwh = kwh_of(sums.energy_millijoules);
    return make_mapping(
        {{"cost", number_of(sums.total())},
         {"byState", std::move(states)},
         {"gpuCost", number_of(sums.gpu)},
         {"cpuCost", number_of(sums.cpu)},
         {"memoryCost", number_of(sums.memory)},
         {"gpuHours", make_number(hours_of(sums), kExact)},
         {"idleGpuHours", make_number(idle_hours(sums), kExact)},
         {"energyKwh", make_number(kwh, kExact)},
         {"gramsCo2e", only_if(report.grams_per_kwh.has_value(),
                               make_number(grams_co2e(sums.energy_millijoules, report.pue,
                                                      report.grams_per_kwh.value_or(0)),
                                           3))}});
}

Value line_document(const Report& report, const Line& line) {
    Value value = make_mapping({{"key", line.key}, {"nobody", only_if(line.nobody, true)}});
    Value sums = sums_document(report, line.sums);
    for (auto& entry : sums.entries) value.entries.push_back(std::move(entry));
    return value;
}

Value saving_document(const Saving& one) {
    constexpr double kWhole = kWholeGpu;
    return make_mapping({{"workload", one.key},
                         {"gpuCost", number_of(one.cost)},
                         {"saved", number_of(one.saved)},
                         {"share", make_number(one.share / kWhole, 4)},
                         {"neededShare", make_number(one.needed_share / kWhole, 4)},
                         {"peakMemoryMib", one.peak_mib},
                         {"neededMemoryMib", one.needed_mib},
                         {"busyPercent", one.busy_percent},
                         {"neededComputePercent", one.needed_percent}});
}

Value budget_document(const BudgetState& state) {
    const Budget& budget = state.budget;
    return make_mapping({{"by", word(budget.by)},
                         {"name", budget.name},
                         {"period", word(budget.period)},
                         {"since", time_text(state.begin)},
                         {"amount", number_of(budget.amount)},
                         {"spent", number_of(state.spent)},
                         {"warns", state.warns()},
                         {"isSpent", state.is_spent()},
                         {"holds", budget.hold}});
}

std::string csv_cell(std::string_view text) {
    // A cell that a spreadsheet would reckon with is text.
    const bool formula = !text.empty() && (text.front() == '=' || text.front() == '+' ||
                                           text.front() == '@' || text.front() == '-');
    if (!formula && text.find_first_of(",\"\n\r") == std::string_view::npos) {
        return std::string(text);
    }
    std::string quoted = formula ? "\"'" : "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
    std::string line;
    for (const std::string& cell : cells) {
        if (&cell != &cells.front()) line += ',';
        line += csv_cell(cell);
    }
    return line + "\n";
}

std::string table_of(const Report& report, Output output) {
    const bool wide = output == Output::kWide;
    if (report.lines.empty()) {
        std::string text = "nothing was recorded in this time\n";
        for (const BudgetState& state : report.budgets) {
            text += concat({"budget of ", sentence_of(state, report.currency), "\n"});
        }
        for (const std::string& note : report.notes) text += note + "\n";
        return text;
    }
    std::vector<Cells> rows{heading(report, wide)};
    for (const Line& line : report.lines) {
        rows.push_back(cells_of(report, key_text(line), line.sums, wide));
    }
    rows.push_back(cells_of(report, "all", report.sums, wide));
    return in_columns(rows, {.right = true}) + remarks_of(report);
}

std::string csv_of(const Report& report) {
    std::string text = csv_line({std::string(word(report.by)), "nobody", "currency", "cost", "busy",
                                 "idle", "free", "warming", "draining", "broken", "gpu", "cpu",
                                 "memory", "gpu_hours", "idle_gpu_hours", "energy_kwh"});
    for (const Line& line : report.lines) {
        Cells cells{line.key, line.nobody ? "true" : "false", report.currency,
                    money_text(line.sums.total())};
        for (const Micros amount : line.sums.by_state) cells.push_back(money_text(amount));
        for (const Micros amount : {line.sums.gpu, line.sums.cpu, line.sums.memory}) {
            cells.push_back(money_text(amount));
        }
        cells.push_back(fixed_text(hours_of(line.sums), kExact));
        cells.push_back(fixed_text(idle_hours(line.sums), kExact));
        cells.push_back(fixed_text(kwh_of(line.sums.energy_millijoules), kExact));
        text += csv_line(cells);
    }
    return text;
}

Value document_of(const Report& report) {
    const bool any = report.end != 0;
    Value value = make_mapping(
        {{"apiVersion", "aliquot.dev/v1"},
         {"kind", "CostReport"},
         {"schemaVersion", 1},
         {"by", word(report.by)},
         {"since", or_null(any, time_text(report.begin))},
         {"until", or_null(any, time_text(report.end))},
         {"currency", report.currency},
         {"bill", number_of(report.bill)},
         {"lines", make_sequence(report.lines,
                                 [&](const Line& line) { return line_document(report, line); })},
         {"all", sums_document(report, report.sums)},
         {"watchedHours", make_number(static_cast<double>(report.watched_ms) / kHour, 4)},
         {"gapHours", make_number(static_cast<double>(report.gap_ms) / kHour, 4)},
         {"trend", make_sequence(report.steps,
                                 [](const Step& step) {
                                     return make_mapping({{"at", time_text(step.begin)},
                                                          {"owners", number_of(step.owners)},
                                                          {"idle", number_of(step.idle)},
                                                          {"nobody", number_of(step.nobody)}});
                                 })},
         {"savings", make_sequence(report.savings, saving_document)},
         {"budgets", make_sequence(report.budgets, budget_document)},
         {"notes", report.notes}});
    return value;
}

std::string text_of(const Report& report, Output output) {
    switch (output) {
        case Output::kCsv:
            return csv_of(report);
        case Output::kJson:
            return document::to_json(document_of(report)) + "\n";
        case Output::kYaml:
            return document::to_yaml(document_of(report));
        case Output::kTable:
        case Output::kWide:
            break;
    }
    return table_of(report, output);
}

}  // namespace aliquot::cost
