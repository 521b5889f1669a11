// SPDX-License-Identifier: Apache-2.0
#include "bench_report.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

namespace aliquot::bench {
namespace {

using Numbers = std::vector<std::pair<std::string, double>>;  // in the order of the table

double percentile(const std::vector<double>& sorted, double part) {
    if (sorted.empty()) return 0;
    const auto index = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    return sorted[std::min(index, sorted.size() - 1)];
}

Numbers numbers_of(const Round& round) {
    constexpr double kMicro = 1000;
    Numbers numbers{
        {"devices", static_cast<double>(round.devices)},
        {"exec_to_register_ms", round.exec_to_register / kMicro},
        {"first_list_ms", round.first_list / kMicro},
        {"allocate_p50_ms", percentile(round.allocate, 0.50) / kMicro},
        {"allocate_p99_ms", percentile(round.allocate, 0.99) / kMicro},
    };
    for (const auto& [size, times] : round.preference) {
        const auto name = "prefer_" + std::to_string(size);
        numbers.emplace_back(name + "_p50_ms", percentile(times, 0.50) / kMicro);
        numbers.emplace_back(name + "_p99_ms", percentile(times, 0.99) / kMicro);
    }
    numbers.emplace_back("resident_start_kib", static_cast<double>(round.resident_start));
    numbers.emplace_back("resident_load_kib", static_cast<double>(round.resident_load));
    numbers.emplace_back("threads", static_cast<double>(round.threads));
    numbers.emplace_back("binary_bytes", static_cast<double>(round.binary_bytes));
    return numbers;
}

std::optional<double> find(const Numbers& numbers, const std::string& name) {
    for (const auto& [key, value] : numbers)
        if (key == name) return value;
    return std::nullopt;
}

Numbers medians_of(const Measured& plugin) {
    Numbers medians = numbers_of(plugin.rounds.front());
    for (auto& [name, median] : medians) {
        std::vector<double> values;
        for (const auto& round : plugin.rounds)
            if (const auto value = find(numbers_of(round), name)) values.push_back(*value);
        std::ranges::sort(values);
        median = percentile(values, 0.5);
    }
    return medians;
}

nlohmann::ordered_json json_of(const Numbers& numbers) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto& [name, value] : numbers) object[name] = value;
    return object;
}

Numbers ratios_of(const Numbers& ours, const Numbers& reference) {
    Numbers ratios;
    for (const auto& [name, value] : ours)
        if (const auto other = find(reference, name); other && *other > 0)
            ratios.emplace_back(name, value / *other);
    return ratios;
}

}  // namespace

std::string to_table(const std::vector<Measured>& plugins) {
    std::vector<Numbers> medians;
    medians.reserve(plugins.size());
    for (const auto& plugin : plugins) medians.push_back(medians_of(plugin));

    constexpr int kNameWidth = 24;
    constexpr int kWidth = 16;
    std::ostringstream out;
    out << std::left << std::setw(kNameWidth) << "median" << std::right;
    for (std::size_t i = 0; i < plugins.size(); ++i) {
        out << std::setw(kWidth) << plugins[i].name;
        if (i > 0) out << std::setw(kWidth) << ("/ " + plugins[0].name);
    }
    out << '\n' << std::fixed;
    for (const auto& [name, first] : medians.front()) {
        out << std::left << std::setw(kNameWidth) << name << std::right;
        const int digits = name.ends_with("_ms") ? 3 : 0;
        for (std::size_t i = 0; i < plugins.size(); ++i) {
            const auto value = find(medians[i], name);
            out << std::setw(kWidth) << std::setprecision(digits) << value.value_or(0);
            if (i > 0 && first > 0)
                out << std::setw(kWidth) << std::setprecision(2) << value.value_or(0) / first;
            if (i > 0 && first <= 0) out << std::setw(kWidth) << '-';
        }
        out << '\n';
    }
    return std::move(out).str();
}

std::string to_json(const std::vector<Measured>& plugins) {
    nlohmann::ordered_json document;
    document["plugins"] = nlohmann::ordered_json::array();
    document["ratios"] = nlohmann::ordered_json::object();
    const auto reference = medians_of(plugins.front());
    for (std::size_t i = 0; i < plugins.size(); ++i) {
        const auto medians = medians_of(plugins[i]);
        nlohmann::ordered_json entry{{"name", plugins[i].name}, {"medians", json_of(medians)}};
        for (const auto& round : plugins[i].rounds)
            entry["rounds"].push_back(json_of(numbers_of(round)));
        document["plugins"].push_back(std::move(entry));
        if (i > 0) document["ratios"][plugins[i].name] = json_of(ratios_of(medians, reference));
    }
    return document.dump(2) + "\n";
}

}  // namespace aliquot::bench
