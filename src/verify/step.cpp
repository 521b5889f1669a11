// SPDX-License-Identifier: Apache-2.0
#include "verify/step.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>

#include "document/json.h"
#include "kube_client/object.h"

namespace aliquot::verify {
namespace {

using document::make_mapping;

std::string mark(Verdict result, Colour colour) {
    constexpr std::array<const char*, 3> kMarks{"[ok]", "[xx]", "[--]"};
    constexpr std::array<const char*, 3> kColours{"\x1b[32m", "\x1b[31m", "\x1b[2m"};
    const auto at = static_cast<std::size_t>(result);
    if (colour == Colour::kNever) return kMarks.at(at);
    return std::string(kColours.at(at)) + kMarks.at(at) + "\x1b[0m";
}

}  // namespace

std::string_view to_text(Verdict result) {
    constexpr std::array<std::string_view, 3> kWords{"ok", "failed", "skipped"};
    return kWords.at(static_cast<std::size_t>(result));
}

bool Report::success() const {
    return could_look && !stopped && count(Verdict::kFailed) == 0 && count(Verdict::kOk) > 0;
}

unsigned Report::count(Verdict result) const {
    return static_cast<unsigned>(std::ranges::count(steps, result, &Step::result));
}

void print_text(std::ostream& out, const Report& report, Colour colour, double seconds) {
    constexpr std::size_t kIdWidth = 12;
    std::string node;
    for (const Step& step : report.steps) {
        if (step.node != node) {
            node = step.node;
            out << '\n' << node << '\n';
        }
        const std::size_t blanks = kIdWidth - std::min(kIdWidth - 1, step.id.size());
        out << "  " << mark(step.result, colour) << ' ' << step.id << std::string(blanks, ' ')
            << step.message << '\n';
        if (step.result != Verdict::kFailed) continue;
        if (!step.evidence.empty()) out << "       seen  " << step.evidence << '\n';
        if (!step.fix.empty()) out << "       fix   " << step.fix << '\n';
    }
    std::array<char, 32> time{};
    std::snprintf(time.data(), time.size(), "%.1f s", seconds);
    out << '\n'
        << (report.stopped     ? "stopped"
            : report.success() ? "verified"
                               : "NOT verified")
        << ": " << report.count(Verdict::kOk) << " ok, " << report.count(Verdict::kFailed)
        << " failed, " << report.count(Verdict::kSkipped) << " skipped  (" << time.data() << ")\n";
}

document::Value to_value(const Report& report) {
    const auto step_node = [](const Step& step) {
        return make_mapping({{"id", step.id},
                             {"node", step.node},
                             {"result", to_text(step.result)},
                             {"message", step.message},
                             {"evidence", step.evidence},
                             {"fix", step.fix}});
    };
    return make_mapping({{"success", report.success()},
                         {"stopped", report.stopped},
                         {"summary", make_mapping({{"ok", report.count(Verdict::kOk)},
                                                   {"failed", report.count(Verdict::kFailed)},
                                                   {"skipped", report.count(Verdict::kSkipped)}})},
                         {"steps", document::make_sequence(report.steps, step_node)}});
}

}  // namespace aliquot::verify
