// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cmd/metric-table/families.h"

namespace aliquot::metric_table {
namespace {

struct Chapter {
    std::string_view group;
    std::string_view title;
    std::string_view intro;
};

constexpr std::array<Chapter, 7> kChapters{{
    {"native", "Ours", "Always answered. Base units."},
    {"self", "The agent itself", "Always answered."},
    {"guard", "Guarded containers",
     "For containers whose limits a guard keeps ([guard](guard.md)); `region` names the "
     "container's "
     "ledger."},
    {"classic", "NVIDIA's names up to exporter 4.8",
     "With `--metrics-compat=classic` (the default) or `both`. *On request*: only when the file of "
     "`--metrics-counters` names it. *1.x*: its name in NVIDIA's list of that time, accepted in "
     "such "
     "a file."},
    {"renamed", "NVIDIA's names of exporter 4.9",
     "With `--metrics-compat=4.9` or `both`. A classic family that has no other name here is "
     "answered under its classic one."},
    {"older", "Names that dashboards still ask for",
     "Of older exporters, and one (`nvidia_gpu_utilization`) that none ever had. Answered with "
     "every `--metrics-compat` but `off`."},
    {"openshift", "Names that OpenShift reads",
     "In the units that the names say. On request: `--metrics-openshift`; not beside the GPU "
     "operator, whose recording rules make the same names."},
}};

std::string cell(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') result += '\\';
        if (c == '<') {
            result += "&lt;";
        } else {
            result += c;
        }
    }
    return result;
}

std::string remarks(const Family& family) {
    std::string text = cell(family.help);
    if (!family.absent.empty()) text += " Absent " + cell(family.absent) + '.';
    if (!family.note.empty()) text += " Note: " + cell(family.note) + '.';
    if (!family.split.empty()) text += " **Split.**";
    if (!family.listed.empty()) text += " *On request.*";
    if (!family.field.empty()) text += " Field " + family.field + '.';
    if (!family.old.empty()) text += " 1.x: `" + family.old + "`.";
    if (!family.now.empty()) text += " In 4.9: `" + family.now + "`.";
    return text;
}

}  // namespace

std::string write_page(const Catalogue& catalogue) {
    std::string out =
        "<!-- Made by metric-table from api/metrics.yaml: change it there. -->\n"
        "<!-- aliquot:ignore-file all: names of all times are quoted here -->\n"
        "# All metric families\n\n"
        "What `/metrics` of the agent can answer. How to switch, what the labels mean and how "
        "shared GPUs are split:\n[the guide](metrics.md). **Split**: on a shared GPU the rows of "
        "the pods and the one without pod add up to the\nGPU's value. `label?`: some rows do not "
        "have it. *From* names fields of the agent's snapshot and the driver's\nfigures.\n";
    for (const Chapter& chapter : kChapters) {
        out += "\n## " + std::string(chapter.title) + "\n\n" + std::string(chapter.intro) + "\n\n";
        out += "| family | type | unit | labels | what | from |\n|---|---|---|---|---|---|\n";
        for (const Family& family : catalogue.families) {
            if (family.group != chapter.group) continue;
            out += "| `" + family.name + "` | " + family.type + " | " + family.unit + " | " +
                   (family.labels.empty() ? "" : '`' + family.labels + '`') + " | " +
                   remarks(family) + " | " + cell(family.from) + " |\n";
        }
    }
    out +=
        "\n## Names of NVIDIA's that have no rows here\n\n"
        "A counter list may name them; the agent warns and goes on.\n\n"
        "| name | 1.x | why |\n|---|---|---|\n";
    for (const Withheld& withheld : catalogue.withheld) {
        out += "| `" + withheld.name + "` | " +
               (withheld.old.empty() ? "" : '`' + withheld.old + '`') + " | " + cell(withheld.why) +
               " |\n";
    }
    return out;
}

}  // namespace aliquot::metric_table
