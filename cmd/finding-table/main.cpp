// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "cmd/finding-table/catalogue.h"
#include "cmd/table_tool/table_tool.h"

namespace aliquot::finding_table {
namespace {

using namespace table_tool;

constexpr std::string_view kProgram = "finding-table";
constexpr std::string_view kUsage =
    "usage: finding-table FINDINGS.yaml --table OUT.cpp\n"
    "       finding-table FINDINGS.yaml --page lint|doctor OUT.md\n"
    "       finding-table FINDINGS.yaml --compare lint|doctor PAGE.md    1: the page is stale\n";

int run(const std::vector<std::string>& words) {
    const bool table = words.size() == 4 && words[2] == "--table";
    const bool page = words.size() == 5 && (words[2] == "--page" || words[2] == "--compare") &&
                      (words[3] == "lint" || words[3] == "doctor");
    if (!table && !page) {
        std::cerr << kUsage;
        return 2;
    }
    const auto text = read_file(words[1]);
    if (!text) return fail(kProgram, words[1] + ": cannot be read");
    const auto catalogue = read_catalogue(words[1], *text);
    if (!catalogue) return fail(kProgram, catalogue.error().message);
    if (table) return write_file(kProgram, words[3], write_table(*catalogue));
    const std::string made = write_page(*catalogue, words[3]);
    if (words[2] == "--page") return write_file(kProgram, words[4], made);
    return compare_file(kProgram, words[4], made,
                        words[1] + " --page " + words[3] + ' ' + words[4]);
}

}  // namespace
}  // namespace aliquot::finding_table

int main(int argc, char** argv) { return aliquot::finding_table::run({argv, argv + argc}); }
