// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "cmd/finding-table/catalogue.h"

namespace aliquot::finding_table {
namespace {

/// A text inside a cell of a table.
std::string cell(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') result += '\\';
        result += c;
    }
    return result;
}

/// Angle brackets outside of `code` would be taken for HTML.
std::string prose(std::string_view text) {
    std::string result;
    bool code = false;
    for (const char c : text) {
        if (c == '`') code = !code;
        if (!code && c == '<') {
            result += "&lt;";
        } else {
            result += c;
        }
    }
    return result;
}

std::string intro(std::string_view tool) {
    if (tool == "lint") {
        return "# Rules of `aliquot lint`\n\n"
               "What `aliquot lint` (and, for the configuration of the device plugin, `aliquot "
               "config check`) can "
               "report.\n**error**: it is refused or cannot work. **warning**: it works by luck, "
               "or does something "
               "else than\nis meant. **info**: advice. How to switch a rule off: "
               "[the guide](../guide/lint.md).\n\n";
    }
    return "# Checks of `aliquot doctor`\n\n"
           "What `aliquot doctor` looks at, from the PCI bus up to the slow pod. **error**: the "
           "layer is broken and "
           "nothing\nabove it can work. **warning**: it works, but not well or not for long. "
           "**info**: worth "
           "knowing.\nHow to run it: [the guide](../guide/doctor.md).\n\n";
}

}  // namespace

std::string write_page(const Catalogue& catalogue, std::string_view tool) {
    std::string out =
        "<!-- Made by finding-table from api/findings.yaml: change it there. -->\n"
        "<!-- aliquot:ignore-file all: what is wrong is quoted here -->\n";
    out += intro(tool);
    for (const Family& family : catalogue.families) {
        std::string table;
        std::string sections;
        for (const Entry& entry : catalogue.entries) {
            if (entry.tool != tool || prefix_of(entry.id) != family.prefix) continue;
            table += "| [" + entry.id + "](#" + lower(entry.id) + ") | " + entry.severity + " | " +
                     cell(prose(entry.what)) + " |\n";
            sections += "### " + entry.id + "\n\n**" + entry.severity + "**: " + prose(entry.what) +
                        "\n\n- Why: " + prose(entry.why) + "\n- Fix: " + prose(entry.fix) + "\n\n";
        }
        if (table.empty()) continue;
        out += "## " + family.title + " (" + family.prefix + ")\n\n";
        out += "| id | severity | what |\n|---|---|---|\n" + table + '\n' + sections;
    }
    while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
    return out;
}

}  // namespace aliquot::finding_table
