// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/columns.h"
#include "base/number.h"
#include "plan/plan.h"

namespace aliquot::plan {
namespace {

std::string list(const std::string& title, const std::vector<std::string>& lines) {
    if (lines.empty()) return {};
    std::string text = "\n" + title + "\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
    return text;
}

std::string shares_text(const Plan& plan, bool nodes) {
    constexpr std::size_t kMostRows = 64;
    std::vector<Row> rows{{"WORKLOAD", "MODE", "GPU", "MEMORY MiB", "NEEDS MiB", "HEADROOM MiB",
                           "COMPUTE", "RESOURCE", "RISK"}};
    if (nodes) rows.front().insert(rows.front().begin() + 2, "NODE");
    for (const Share& share : plan.shares) {
        if (rows.size() > kMostRows) break;
        const auto mib = [&share](double value) {
            return share.mode == Mode::kCpu || value == 0 ? std::string("-")
                                                          : decimal_text(value, 0);
        };
        rows.push_back(
            {share.workload + "-" + std::to_string(share.replica), std::string(to_text(share.mode)),
             share.gpu < 0 ? "-" : std::to_string(share.gpu), mib(share.memory_mib),
             mib(share.need_mib), share.need_mib == 0 ? "-" : mib(share.headroom_mib),
             share.mode == Mode::kCpu ? "-" : std::to_string(share.compute_percent) + " %",
             share.resource.empty() ? "-" : share.resource, share.risk});
        if (nodes) {
            rows.back().insert(rows.back().begin() + 2, share.pool.empty() ? "-" : share.pool);
        }
    }
    std::string text = in_columns(rows, {.indent = 2});
    if (plan.shares.size() + 1 > rows.size()) {
        text += "  and " + std::to_string(plan.shares.size() + 1 - rows.size()) +
                " more (-o json has all)\n";
    }
    return text;
}

std::string numbers_text(const Numbers& n) {
    std::vector<std::string> lines{
        "GPUs: " + std::to_string(n.gpus_used) + " of " + std::to_string(n.gpus) + " used, " +
            std::to_string(n.gpus_exclusive) + " if each had its own, " +
            std::to_string(n.gpus_saved) + " saved",
        "memory: " + decimal_text(n.packing_percent, 0) + " % of the used GPUs is given to work, " +
            decimal_text(n.slack_mib, 0) + " MiB slack"};
    if (n.kwh_per_month > 0) {
        lines.push_back("power: " + decimal_text(n.kwh_per_month, 1) + " kWh a month at most");
    }
    if (n.usd_per_month_after) {
        lines.push_back("cost: $" + decimal_text(*n.usd_per_month_after) + " a month, $" +
                        decimal_text(*n.usd_per_month_before) + " if each had its own (" +
                        n.price_source + ")");
    }
    lines.push_back("disruption: " + n.disruption);
    return list("Numbers", lines);
}

std::string speed_text(const Plan& plan) {
    std::vector<std::string> lines;
    for (const Speed& speed : plan.speed) {
        std::string line = speed.workload + ": " + speed.verdict;
        if (!speed.formula.empty()) line += " [" + speed.formula + "]";
        lines.push_back(std::move(line));
    }
    return list("Expected speed", lines);
}

std::string migration_text(const Plan& plan) {
    if (plan.migration.empty()) return {};
    std::string text = "\nMigration, one step at a time\n";
    unsigned number = 0;
    for (const Step& step : plan.migration) {
        text += "  " + std::to_string(++number) + ". " + step.title + "\n";
        for (const std::string& command : step.commands) text += "     $ " + command + "\n";
        text += "     check: " + step.check + "\n";
        for (const std::string& back : step.rollback) text += "     back:  " + back + "\n";
    }
    return text;
}

}  // namespace

std::string to_text(const Plan& plan, const Request& request) {
    std::string text = plan.recommendation + "\n";
    const bool nodes =
        request.pools.size() > 1 &&
        std::ranges::any_of(request.pools, [](const GpuPool& pool) { return !pool.name.empty(); });
    if (!plan.formula.empty()) text += "  " + plan.formula + "\n";
    if (!plan.shares.empty()) text += "\n" + shares_text(plan, nodes);
    std::vector<std::string> lines;
    for (const Reason& reason : plan.reasons) lines.push_back(reason.rule + "  " + reason.text);
    text += list("Why", lines);
    lines.clear();
    for (const Rejected& one : plan.rejected) {
        lines.push_back(one.rule + "  " + one.mode + ": " + one.reason);
    }
    text += list("Rejected", lines);
    text += list("No place for", plan.unplaced);
    text += numbers_text(plan.numbers);
    text += list("Out of memory, worst case", plan.numbers.worst_case);
    text += speed_text(plan);
    if (!request.workloads.empty()) text += migration_text(plan);
    text += list("Environment", plan.environment);
    lines.clear();
    for (const Confidence& one : plan.confidence) {
        lines.push_back(std::string(sizing::to_text(one.certainty)) + ": " + one.input + ", " +
                        one.source);
    }
    text += list("How sure", lines);
    text += list("Mind", plan.warnings);
    lines.clear();
    for (const File& file : plan.files) lines.push_back(file.name + ": " + file.purpose);
    text += list("Files (-o aliquot, -o nvidia, or --write DIR)", lines);
    return text;
}

}  // namespace aliquot::plan
