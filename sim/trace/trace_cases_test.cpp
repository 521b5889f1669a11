// SPDX-License-Identifier: Apache-2.0
// Runs every sim/trace/cases/*.case against the .expected beside it. A case has sections that begin
// with a line "== nodes", "== pods" or "== order" (each with a default) and "== explain TASK"; what
// is told is the error, or the log of a replay with policy fgd and its values, or the explanation.
// UPDATE_CASES=1 rewrites the .expected files; look at the difference before you commit it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/trace/experiment.h"
#include "sim/trace/explanation.h"
#include "sim/trace/outcome_text.h"
#include "sim/trace/scenario_fixture.h"
#include "tests/case_files.h"

namespace aliquot::sim::trace {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> sections_of(const std::string& text) {
    std::map<std::string, std::string> sections{
        {"nodes", "sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,2,T4\nb,8000,1000,1,A10\n"},
        {"pods", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt,1000,100,1,500\n"},
        {"order", "P,0\n"}};
    std::istringstream lines(text);
    std::string* current = nullptr;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("== ")) {
            const std::string title = line.substr(3);
            const bool explain = title.starts_with("explain ");
            current = &sections[explain ? "explain" : title];
            *current = explain ? title.substr(8) : "";
        } else if (current != nullptr) {
            *current += line + '\n';
        }
    }
    return sections;
}

std::string report(const fs::path& path) {
    auto sections = sections_of(cases::read(path));
    const auto scenario = scenario_of(sections["nodes"], sections["pods"], sections["order"]);
    if (!scenario) return scenario.error().message + '\n';
    std::ostringstream out;
    ReplayOptions replay{.policy = placement::Policy::kFgd};
    if (sections.contains("explain")) {
        const auto row = find_task(scenario->tasks, sections["explain"]);
        if (!row) return row.error().message + '\n';
        const auto told = explain(*scenario, replay, {.row = *row});
        if (!told) return told.error().message + '\n';
        print_explanation(out, *scenario, *told);
        out << explanation_json(*scenario, *told) << '\n';
        return out.str();
    }
    ExperimentOptions options{.replay = replay, .at = {50, 100}, .log = &out};
    auto outcome = run_experiment(*scenario, options);
    if (!outcome) return outcome.error().message + '\n';
    outcome->seconds = 0;
    out << outcome_json(*outcome) << '\n';
    return out.str();
}

class TraceCase : public testing::TestWithParam<fs::path> {};

TEST_P(TraceCase, IsToldAsExpected) {
    fs::path expected = GetParam();
    expected.replace_extension(".expected");
    const std::string actual = report(GetParam());
    if (cases::rewrites(expected, actual)) return;
    EXPECT_EQ(actual, cases::read(expected)) << "run with UPDATE_CASES=1 if the new text is right";
}

INSTANTIATE_TEST_SUITE_P(Files, TraceCase, testing::ValuesIn(cases::files({"sim/trace/cases"})),
                         [](const auto& one) { return cases::name(one.param); });

}  // namespace
}  // namespace aliquot::sim::trace
