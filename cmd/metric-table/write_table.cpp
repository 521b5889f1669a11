// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cmd/metric-table/families.h"
#include "cmd/table_tool/table_tool.h"

namespace aliquot::metric_table {
namespace {

/// "kNative" of "native".
std::string enumerator(std::string word) {
    if (word[0] >= 'a') word[0] = static_cast<char>(word[0] - 'a' + 'A');
    return 'k' + word;
}

std::string row(const Family& family) {
    return "    {" + table_tool::literal(family.name) + ", " + table_tool::literal(family.help) +
           ",\n     " + table_tool::literal(family.unit) + ", " +
           table_tool::literal(family.labels) + ",\n     Group::" + enumerator(family.group) +
           ", Type::" + enumerator(family.type) + ", " + (family.split.empty() ? "false" : "true") +
           ", " + (family.listed.empty() ? "false" : "true") + ", " +
           (family.field.empty() ? "0" : family.field) + ", " + table_tool::literal(family.old) +
           ", " + table_tool::literal(family.now) + "},\n";
}

}  // namespace

std::string write_table(const Catalogue& catalogue) {
    std::vector<Family> families = catalogue.families;
    std::sort(families.begin(), families.end(),
              [](const Family& a, const Family& b) { return a.name < b.name; });
    std::string out =
        "// Made by metric-table from api/metrics.yaml.\n"
        "#include <array>\n\n#include \"exposition/catalogue.h\"\n\n"
        "namespace aliquot::exposition {\nnamespace {\n\n"
        "constexpr std::array<Family, " +
        std::to_string(families.size()) + "> kFamilies{{\n";
    for (const Family& family : families) out += row(family);
    out += "}};\n\nconstexpr std::array<Withheld, " + std::to_string(catalogue.withheld.size()) +
           "> kWithheld{{\n";
    for (const Withheld& withheld : catalogue.withheld) {
        out += "    {" + table_tool::literal(withheld.name) + ", " +
               table_tool::literal(withheld.old) + ",\n     " + table_tool::literal(withheld.why) +
               "},\n";
    }
    out +=
        "}};\n\n}  // namespace\n\nstd::span<const Family> families() { return kFamilies; }\n\n"
        "std::span<const Withheld> withheld() { return kWithheld; }\n\n"
        "}  // namespace aliquot::exposition\n";
    return out;
}

}  // namespace aliquot::metric_table
