// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "cmd/metric-table/families.h"
#include "cmd/table_tool/table_tool.h"

namespace aliquot::metric_table {
namespace {

using namespace table_tool;

constexpr std::string_view kProgram = "metric-table";
constexpr std::string_view kUsage =
    "usage: metric-table METRICS.yaml --table OUT.cpp\n"
    "       metric-table METRICS.yaml --page OUT.md\n"
    "       metric-table METRICS.yaml --compare PAGE.md    1: the page is stale\n";

int run(const std::vector<std::string>& words) {
    if (words.size() != 4 ||
        (words[2] != "--table" && words[2] != "--page" && words[2] != "--compare")) {
        std::cerr << kUsage;
        return 2;
    }
    const auto text = read_file(words[1]);
    if (!text) return fail(kProgram, words[1] + ": cannot be read");
    const auto catalogue = read_catalogue(words[1], *text);
    if (!catalogue) return fail(kProgram, catalogue.error().message);
    if (words[2] == "--table") return write_file(kProgram, words[3], write_table(*catalogue));
    const std::string page = write_page(*catalogue);
    if (words[2] == "--page") return write_file(kProgram, words[3], page);
    return compare_file(kProgram, words[3], page, words[1] + " --page " + words[3]);
}

}  // namespace
}  // namespace aliquot::metric_table

int main(int argc, char** argv) { return aliquot::metric_table::run({argv, argv + argc}); }
