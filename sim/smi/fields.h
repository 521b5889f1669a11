// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/smi/show.h"
#include "sim/smi/text.h"

/// The fields of --query-gpu: those of driver 590, in the order of --help-query-gpu.
namespace aliquot::sim::smi {

/// A field's value without its unit; a problem in brackets.
using Ask = std::string (*)(const View&, const Gpu&);

struct Field {
    std::string_view name;
    std::string_view other;  // its second name; empty: none
    std::string_view unit;   // empty: none
    Ask ask;
};

const std::vector<Field>& gpu_fields();
/// nullptr: there is none of that name.
const Field* find_gpu_field(std::string_view name);
/// What --help-query-gpu prints.
std::string field_help();
/// The same of --query-compute-apps.
std::string process_field_help();

// The three parts of gpu_fields(), each in a file of its own.
std::span<const Field> identity_fields();
std::span<const Field> memory_health_fields();
std::span<const Field> power_fields();

template <class T>
std::string number_cell(const Reading<T>& reading) {
    return text_or(reading, query_problem, [](const T& value) { return std::to_string(value); });
}
inline std::string absent() { return query_problem(NVML_ERROR_NOT_SUPPORTED); }

/// The number that a call gives by its last argument.
template <class T, class Function, class... Before>
Reading<T> asked(const Gpu& gpu, const char* name, Before... before) {
    Reading<T> reading;
    reading.code = gpu.problem();
    if (gpu.handle() != nullptr)
        reading.code = gpu.library().call<Function>(name, gpu.handle(), before..., &reading.value);
    return reading;
}
/// One value of nvmlDeviceGetFieldValues.
Reading<unsigned> field_number(const Gpu& gpu, unsigned id);
std::string field(const Gpu& gpu, unsigned id);

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define SMI_NUMBER(gpu, type, function, ...) \
    asked<type, decltype(&function)>(gpu, #function __VA_OPT__(, ) __VA_ARGS__)
#define SMI_FIELD(name, other, unit, expression)                                 \
    Field {                                                                      \
        name, other, unit, [](const View& view, const Gpu& gpu) -> std::string { \
            (void)view;                                                          \
            (void)gpu;                                                           \
            return expression;                                                   \
        }                                                                        \
    }
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace aliquot::sim::smi
