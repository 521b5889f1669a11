// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "cmd/finding-table/catalogue.h"

namespace aliquot::finding_table {
namespace {

constexpr std::string_view kUsage =
    "usage: finding-table FINDINGS.yaml --table OUT.cpp\n"
    "       finding-table FINDINGS.yaml --page lint|doctor OUT.md\n"
    "       finding-table FINDINGS.yaml --compare lint|doctor PAGE.md    1: the page is stale\n";

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>(file), {}};
}

int fail(const std::string& message) {
    std::cerr << "finding-table: " << message << '\n';
    return 1;
}

int write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    return file.good() ? 0 : fail(path + ": cannot be written");
}

int run(const std::vector<std::string>& words) {
    const bool table = words.size() == 4 && words[2] == "--table";
    const bool page = words.size() == 5 && (words[2] == "--page" || words[2] == "--compare") &&
                      (words[3] == "lint" || words[3] == "doctor");
    if (!table && !page) {
        std::cerr << kUsage;
        return 2;
    }
    const auto text = read_file(words[1]);
    if (!text) return fail(words[1] + ": cannot be read");
    const auto catalogue = read_catalogue(words[1], *text);
    if (!catalogue) return fail(catalogue.error().message);
    if (table) return write_file(words[3], write_table(*catalogue));
    const std::string made = write_page(*catalogue, words[3]);
    if (words[2] == "--page") return write_file(words[4], made);
    if (read_file(words[4]) == made) return 0;
    return fail(words[4] + " is stale: run finding-table " + words[1] + " --page " + words[3] +
                ' ' + words[4]);
}

}  // namespace
}  // namespace aliquot::finding_table

int main(int argc, char** argv) { return aliquot::finding_table::run({argv, argv + argc}); }
