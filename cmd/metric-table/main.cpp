// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "cmd/metric-table/families.h"

namespace aliquot::metric_table {
namespace {

constexpr std::string_view kUsage =
    "usage: metric-table METRICS.yaml --table OUT.cpp\n"
    "       metric-table METRICS.yaml --page OUT.md\n"
    "       metric-table METRICS.yaml --compare PAGE.md    1: the page is stale\n";

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>(file), {}};
}

int fail(const std::string& message) {
    std::cerr << "metric-table: " << message << '\n';
    return 1;
}

int write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    return file.good() ? 0 : fail(path + ": cannot be written");
}

int run(const std::vector<std::string>& words) {
    if (words.size() != 4 ||
        (words[2] != "--table" && words[2] != "--page" && words[2] != "--compare")) {
        std::cerr << kUsage;
        return 2;
    }
    const auto text = read_file(words[1]);
    if (!text) return fail(words[1] + ": cannot be read");
    const auto catalogue = read_catalogue(words[1], *text);
    if (!catalogue) return fail(catalogue.error().message);
    if (words[2] == "--table") return write_file(words[3], write_table(*catalogue));
    const std::string page = write_page(*catalogue);
    if (words[2] == "--page") return write_file(words[3], page);
    if (read_file(words[3]) == page) return 0;
    return fail(words[3] + " is stale: run metric-table " + words[1] + " --page " + words[3]);
}

}  // namespace
}  // namespace aliquot::metric_table

int main(int argc, char** argv) { return aliquot::metric_table::run({argv, argv + argc}); }
