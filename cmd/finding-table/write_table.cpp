// SPDX-License-Identifier: Apache-2.0
#include "cmd/finding-table/catalogue.h"
#include "cmd/table_tool/table_tool.h"

namespace aliquot::finding_table {
std::string write_table(const Catalogue& catalogue) {
    std::string out =
        "// Made by finding-table from api/findings.yaml.\n"
        "#include <algorithm>\n#include <array>\n\n#include \"findings/rule.h\"\n\n"
        "namespace aliquot::findings {\nnamespace {\n\n"
        "constexpr std::array<Rule, " +
        std::to_string(catalogue.entries.size()) + "> kRules{{\n";
    for (const Entry& entry : catalogue.entries) {
        const std::string_view severity = entry.severity == "error"     ? "kError"
                                          : entry.severity == "warning" ? "kWarning"
                                                                        : "kInfo";
        out += "    {" + table_tool::literal(entry.id) + ", Severity::" + std::string(severity) +
               ", " + table_tool::literal(entry.tool) + ",\n     " +
               table_tool::literal(entry.what) + ",\n     " + table_tool::literal(entry.why) +
               ",\n     " + table_tool::literal(entry.fix) + ",\n     " +
               table_tool::literal(entry.doc) + "},\n";
    }
    out +=
        "}};\n\n}  // namespace\n\nstd::span<const Rule> rules() { return kRules; }\n\n"
        "const Rule* find_rule(std::string_view id) {\n"
        "    const auto found =\n"
        "        std::lower_bound(kRules.begin(), kRules.end(), id,\n"
        "                         [](const Rule& rule, std::string_view wanted) { return rule.id "
        "< wanted; });\n"
        "    return found == kRules.end() || found->id != id ? nullptr : &*found;\n"
        "}\n\n}  // namespace aliquot::findings\n";
    return out;
}

}  // namespace aliquot::finding_table
