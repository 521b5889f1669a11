// SPDX-License-Identifier: Apache-2.0
// What a service of systemd tells its program: SVC007 (Environment= that sets something else), SVC008 (it
// asks for GPUs and hides them all).
#include <algorithm>
#include <array>

#include "base/text.h"
#include "lint/report.h"
#include "lint/rules/unit.h"

namespace aliquot::lint {
namespace {

/// "Environment=CUDA_VISIBLE_DEVICES=0, 1": the word "1" sets nothing.
void check_words(const Unit& unit, const UnitLine& line, Report& report) {
    std::string before;
    for (const std::string& word : syntax::unit_words(line.value)) {
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos && equals > 0) {
            before = word.substr(0, equals);
            continue;
        }
        const std::string what = before.empty() ? "begins with" : "goes on with";
        report
            .add("SVC007", unit.mark(line),
                 "Environment= " + what + " '" + word +
                     "', which sets nothing: systemd parts it at blanks")
            .expected(before.empty() ? "NAME=VALUE" : "\"" + before + "=...\" in quotes");
        return;
    }
}

/// "$PATH", "${HOME}" in a value: nobody puts in what they stand for. Empty: there is none.
std::string_view variable_in(std::string_view value) {
    for (std::size_t at = value.find('$'); at != std::string_view::npos;
         at = value.find('$', at + 1)) {
        const bool braced = at + 1 < value.size() && value[at + 1] == '{';
        const std::size_t name = at + (braced ? 2 : 1);
        std::size_t end = name;
        while (end < value.size() && (is_letter(value[end]) || value[end] == '_' ||
                                      (end > name && is_digit(value[end])))) {
            ++end;
        }
        if (end == name) continue;
        if (braced && end < value.size() && value[end] == '}') ++end;
        return value.substr(at, end - at);
    }
    return {};
}

void check_values(const Unit& unit, Report& report) {
    for (const UnitVariable& one : unit.variables()) {
        if (contains(one.value, "{{")) continue;
        const std::string_view name = variable_in(one.value);
        if (name.empty()) continue;
        const bool paths = one.name == "PATH" || one.name.ends_with("_PATH");
        if (!paths && !contains(one.name, "VISIBLE_DEVICES")) continue;
        report
            .add("SVC007", unit.mark(*one.line),
                 one.name + " has " + std::string(name) +
                     " as these letters: Environment= puts no values in")
            .expected("the value itself, or a start through /bin/sh -c");
    }
}

void check_hidden(const Unit& unit, Report& report) {
    const auto devices = unit.words("Service", "DeviceAllow");
    const bool asked = unit.gpu_use() == GpuUse::kCompute ||
                       std::any_of(devices.begin(), devices.end(),
                                   [](const std::string& one) { return contains(one, "nvidia"); });
    if (!asked) return;
    for (const UnitVariable& one : unit.variables()) {
        const bool none = one.value.empty() || one.value == "-1";
        if (one.name != "CUDA_VISIBLE_DEVICES" || !none) continue;
        report
            .add("SVC008", unit.mark(*one.line),
                 "CUDA_VISIBLE_DEVICES is '" + one.value +
                     "', which hides every GPU from a program that asks for one")
            .expected("the numbers of the GPUs, as 0,1, or no such line");
    }
}

}  // namespace

void check_unit_environment(const Unit& unit, bool is_literal, Report& report) {
    for (const UnitLine* line : unit.all("Service", "Environment")) {
        if (!contains(line->value, "{{")) check_words(unit, *line, report);
    }
    if (is_literal) check_values(unit, report);
    check_hidden(unit, report);
}

}  // namespace aliquot::lint
