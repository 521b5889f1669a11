// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "lint/rules/numbers_in_text.h"
#include "lint/rules/statements.h"
#include "lint/words.h"

/// DOC001: what a text says of a GPU against the table.
namespace aliquot::lint {

namespace {

std::string plain(double value) {
    const auto whole = static_cast<long long>(std::llround(value));
    return std::to_string(whole);
}

/// The values that the variants have, in words.
template <class Get>
std::string known_values(const NamedGpu& gpu, Get get) {
    std::vector<std::string> seen;
    std::string text;
    for (const auto* model : gpu.models) {
        auto value = plain(get(*model));
        if (get(*model) > 0 && std::find(seen.begin(), seen.end(), value) == seen.end()) {
            text += (text.empty() ? "" : " or ") + value;
            seen.push_back(std::move(value));
        }
    }
    return text;
}

void check_count(const NamedGpu& gpu, std::string_view text, std::string_view word, Mark mark,
                 double (*get)(const catalog::GpuModel&), Report& report) {
    const auto value = number_of(text, word);
    const auto known = known_values(gpu, get);
    if (!value || known.empty() || *value < 8) {
        return;
    }
    const bool agrees = std::any_of(gpu.models.begin(), gpu.models.end(),
                                    [get, &value](const catalog::GpuModel* model) {
                                        return std::abs(get(*model) - *value) < 0.5;
                                    });
    if (!agrees) {
        report
            .add("DOC001", mark,
                 std::string(gpu.models[0]->name) + " has " + known + " " + std::string(word) +
                     ", not " + plain(*value))
            .expected(known);
    }
}

/// Variants with other memory that the table does not have as rows of their own.
struct OtherMemory {
    std::string_view base;
    double gib;
};
constexpr std::array<OtherMemory, 20> kOtherMemory{{
    {"rtx-3080", 12}, {"rtx-3060", 8},  {"rtx-3050", 6}, {"rtx-3050", 4}, {"gtx-1060", 3},
    {"gtx-1650", 8},  {"rtx-2060", 12}, {"a16", 64},     {"gb200", 384},  {"b200", 192},
    {"b200", 180},    {"b300", 288},    {"gh200", 141},  {"h100", 64},    {"k80", 24},
    {"m60", 16},      {"t4", 15},       {"gb300", 288},  {"a10g", 22},    {"l4", 23},
}};

bool memory_agrees(const NamedGpu& gpu, double gib) {
    for (const auto& other : kOtherMemory) {
        if (other.base == gpu.base && std::abs(other.gib - gib) < 0.5) {
            return true;
        }
    }
    for (const auto* model : gpu.models) {
        if (model->memory_gib <= 0) {
            return true;
        }
        for (const unsigned count : {1U, 2U, 4U, 8U, 16U}) {  // of a machine with several
            if (std::abs(model->memory_gib * count - gib) < 1.01 * count) {
                return true;
            }
        }
    }
    return false;
}

void report_memory(const NamedGpu& gpu, double told, Mark mark, Report& report) {
    const auto known =
        known_values(gpu, [](const catalog::GpuModel& model) { return model.memory_gib; });
    report
        .add("DOC001", mark,
             std::string(gpu.models[0]->name) + " has " + known + " GB of memory, not " +
                 plain(told))
        .expected(known + " GB");
}

/// "V100 (16GB)", "T4 16 GB", "A100-40GB": the memory right behind the name.
void check_memory(const NamedGpu& gpu, std::string_view text, Mark mark, Report& report) {
    auto rest = text.substr(gpu.end);
    std::size_t skipped = 0;
    while (skipped < rest.size() && skipped < 3 &&
           std::string_view(" (-_*`").find(rest[skipped]) != std::string_view::npos) {
        ++skipped;
    }
    rest.remove_prefix(skipped);
    const auto numbers = numbers_in(rest);
    if (numbers.empty() || numbers[0].begin != 0) {
        return;
    }
    auto unit = rest.substr(numbers[0].end);
    while (unit.starts_with(" ")) {
        unit.remove_prefix(1);
    }
    const auto word = lower(unit.substr(0, 4));
    const bool is_memory = (word.starts_with("gb") || word.starts_with("gib")) &&
                           !word.starts_with("gb/") && !word.starts_with("gbp") &&
                           !word.starts_with("gbi");
    if (!is_memory || memory_agrees(gpu, numbers[0].value)) {
        return;
    }
    report_memory(gpu, numbers[0].value, mark, report);
}

/// "The A10 has 40 GB of memory": what a sentence about one GPU says of its memory.
void check_told_memory(const NamedGpu& gpu, std::string_view text, Mark mark, Report& report) {
    constexpr std::array<std::string_view, 9> kHas{" has ",        " have ",       " offers ",
                                                   " provides ",   " comes with ", " comes with a ",
                                                   " ships with ", " features ",   " packs "};
    const auto rest = text.substr(gpu.end);
    const auto folded = lower(rest.substr(0, 120));
    std::size_t behind = std::string::npos;
    for (const auto has : kHas) {
        const auto at = folded.find(has);
        if (at <= 6) behind = at + has.size();  // "A10 GPU has"
    }
    if (behind == std::string::npos) return;
    for (const std::string_view filler : {"only ", "just ", "a total of ", "exactly ", "a "}) {
        if (folded.compare(behind, filler.size(), filler) == 0) behind += filler.size();
    }
    const auto numbers = numbers_in(std::string_view(folded).substr(behind));
    if (numbers.empty() || numbers[0].begin != 0) return;
    auto unit = std::string_view(folded).substr(behind + numbers[0].end);
    if (unit.starts_with(" ")) unit.remove_prefix(1);
    if (!unit.starts_with("gb") && !unit.starts_with("gib")) return;
    unit.remove_prefix(unit.starts_with("gib") ? 3 : 2);
    unit = unit.substr(0, unit.find_first_of(".,;("));
    constexpr std::array<std::string_view, 7> kOther{"system", "host",      "bandwidth", "/s",
                                                     "free",   "available", "l2"};
    const bool memory = contains_word(unit, "memory") || contains_word(unit, "vram") ||
                        contains(unit, "gddr") || contains(unit, "hbm");
    if (!memory || contains_any(unit, kOther) || memory_agrees(gpu, numbers[0].value)) return;
    report_memory(gpu, numbers[0].value, mark, report);
}

constexpr std::array<std::string_view, 9> kArchitectures{
    "kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"};

/// "T4 (Ampere)": a name and an architecture in parentheses behind it.
void check_architecture(const NamedGpu& gpu, std::string_view text, Mark mark, Report& report) {
    auto rest = text.substr(gpu.end);
    while (rest.starts_with(" ") || rest.starts_with("*") || rest.starts_with("`")) {
        rest.remove_prefix(1);
    }
    if (!rest.starts_with("(")) {
        return;
    }
    const auto inside =
        lower(rest.substr(1, rest.find(')') == std::string_view::npos ? 0 : rest.find(')') - 1));
    std::string_view said;
    for (const auto architecture : kArchitectures) {
        if (contains_word(inside, architecture)) {
            if (!said.empty()) {
                return;
            }
            said = architecture;
        }
    }
    if (said.empty() || inside.find_first_of(",+/") != std::string::npos) {
        return;
    }
    const auto right = lower(gpu.models[0]->architecture);
    if (!right.starts_with(said)) {
        report
            .add("DOC001", mark,
                 std::string(gpu.models[0]->name) + " is " +
                     std::string(gpu.models[0]->architecture) + ", not " + std::string(said))
            .expected(std::string(gpu.models[0]->architecture));
    }
}

/// "A10, T4 support MIG".
void check_mig_claim(const std::vector<NamedGpu>& gpus, std::string_view text, Mark mark,
                     Report& report) {
    constexpr std::array<std::string_view, 7> kClaims{
        "support", "capable", "enable mig", "available", "partition", "mig on", "due to mig"};
    if (!contains_word(text, "MIG") || is_negated(text) || !contains_any(text, kClaims) ||
        contains(text, "only") || contains(text, "while") || contains(text, "time-slic") ||
        contains(text, "time slic") || contains(text, "but") || contains(text, "whereas") ||
        contains(text, "if ") || contains(text, "\xE2\x9D\x8C") || contains(text, "MPS") ||
        contains(text, "e.g") || contains(text, "whether")) {
        return;
    }
    for (const auto& gpu : gpus) {
        if (!gpu.has_mig()) {
            report.add("DOC001", mark, std::string(gpu.models[0]->name) + " has no MIG")
                .expected("A30, A100, H100 and newer data-centre GPUs");
            return;
        }
    }
}

double cores_of(const catalog::GpuModel& model) { return model.cuda_cores; }
double tensor_cores_of(const catalog::GpuModel& model) { return model.tensor_cores; }
double power_of(const catalog::GpuModel& model) { return model.tdp_watts; }

/// The GPU that a part of a text is about: the only one of the nearest heading that names any.
std::optional<NamedGpu> gpu_of_heading(const File& file, int heading) {
    for (int steps = 0; heading >= 0 && steps < 10; ++steps) {
        if (static_cast<std::size_t>(heading) >= file.headings.size()) {
            break;
        }
        const auto& found = file.headings[static_cast<std::size_t>(heading)];
        auto gpus = named_gpus(found.text, Topic::kGpus);
        if (!gpus.empty()) {
            return gpus.size() == 1 ? std::optional<NamedGpu>(std::move(gpus[0])) : std::nullopt;
        }
        heading = found.parent;
    }
    return std::nullopt;
}

/// A column "MIG" with "Yes", "No", marks of either.
void check_mig_cell(const NamedGpu& gpu, const Table::Cell& cell, Report& report) {
    const auto word = lower(cell.text);
    constexpr std::array<std::string_view, 4> kYes{"yes", "supported", "true", "full"};
    constexpr std::array<std::string_view, 5> kNo{"no", "none", "not supported", "false",
                                                  "unsupported"};
    const auto is = [&word](std::string_view one) { return word == one; };
    const bool yes = std::any_of(kYes.begin(), kYes.end(), is) ||
                     word.starts_with("\xE2\x9C\x85") || word == "\xE2\x9C\x94" ||
                     word == "\xE2\x9C\x93" || word.starts_with("yes (") ||
                     word.starts_with("yes,");
    const bool no = std::any_of(kNo.begin(), kNo.end(), is) || word == "\xE2\x9D\x8C" ||
                    word == "\xE2\x9C\x97" || word == "\xE2\x9C\x98";
    const std::string name(gpu.models[0]->name);
    if (yes && !gpu.has_mig()) {
        report.add("DOC001", cell.mark, name + " has no MIG").expected("No");
    } else if (no && gpu.has_mig()) {
        report.add("DOC001", cell.mark, name + " has MIG").expected("Yes");
    }
}

bool is_mig_head(std::string_view folded) {
    return folded == "mig" || folded == "mig support" || folded == "mig supported" ||
           folded == "mig capable" || folded == "mig-capable" || folded == "mig support?" ||
           folded == "mig?" || folded == "supports mig" || folded == "supports mig?";
}

void check_cell(const NamedGpu& gpu, std::string_view head, const Table::Cell& cell,
                Report& report) {
    if (is_mig_head(lower(head))) {
        check_mig_cell(gpu, cell, report);
        return;
    }
    const auto numbers = numbers_in(cell.text);
    if (numbers.size() != 1) {
        return;
    }
    const auto folded = lower(head);
    const auto compare = [&](double (*get)(const catalog::GpuModel&), const std::string& what) {
        const auto known = known_values(gpu, get);
        const bool agrees =
            std::any_of(gpu.models.begin(), gpu.models.end(), [&](const catalog::GpuModel* model) {
                return std::abs(get(*model) - numbers[0].value) < 0.5;
            });
        if (!known.empty() && !agrees && numbers[0].value >= 8) {
            report
                .add("DOC001", cell.mark,
                     std::string(gpu.models[0]->name) + " has " + known + " " + what + ", not " +
                         plain(numbers[0].value))
                .expected(known);
        }
    };
    if (folded == "cuda cores") {
        compare(cores_of, "CUDA cores");
    } else if (folded == "tensor cores") {
        compare(tensor_cores_of, "tensor cores");
    } else if ((folded == "vram" || folded == "gpu memory" || folded == "gpu ram") &&
               contains(cell.text, "g") && !memory_agrees(gpu, numbers[0].value)) {
        report_memory(gpu, numbers[0].value, cell.mark, report);
    }
}

void check_tables(const File& file, Report& report) {
    for (const auto& table : file.tables) {
        if (table.rows.size() < 2) {
            continue;
        }
        const auto& head = table.rows[0];
        for (std::size_t r = 1; r < table.rows.size(); ++r) {
            const auto& row = table.rows[r];
            if (row.empty()) {
                continue;
            }
            const auto gpus = named_gpus(row[0].text, Topic::kGpus);
            if (gpus.size() != 1) {
                continue;
            }
            for (std::size_t c = 1; c < row.size() && c < head.size(); ++c) {
                check_cell(gpus[0], head[c].text, row[c], report);
            }
        }
    }
}

}  // namespace

void check_gpu_facts(const File& file, Report& report) {
    check_tables(file, report);
    for (const auto& statement : file.statements) {
        const std::string_view text = statement.text;
        const bool about_gpus = contains(text, "nvidia") || contains(text, "gpu") ||
                                contains(text, "tesla") ||
                                statement.kind == Statement::Kind::kTableRow;
        const auto gpus = named_gpus(text, about_gpus ? Topic::kGpus : Topic::kUnknown);
        for (const auto& gpu : gpus) {
            check_memory(gpu, text, statement.mark, report);
            check_told_memory(gpu, text, statement.mark, report);
            check_architecture(gpu, text, statement.mark, report);
        }
        check_mig_claim(gpus, text, statement.mark, report);
        const bool has_count =
            contains(text, "cuda cores") || contains(text, "tensor cores") || contains(text, "tdp");
        if (!has_count || statement.kind == Statement::Kind::kTableRow) {
            continue;
        }
        const auto about = gpus.size() == 1 ? std::optional<NamedGpu>(gpus[0])
                           : gpus.empty()   ? gpu_of_heading(file, statement.heading)
                                            : std::nullopt;
        if (!about) {
            continue;
        }
        check_count(*about, text, "cuda cores", statement.mark, cores_of, report);
        check_count(*about, text, "tensor cores", statement.mark, tensor_cores_of, report);
        check_count(*about, text, "tdp", statement.mark, power_of, report);
    }
}

}  // namespace aliquot::lint
