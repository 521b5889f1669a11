// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/statements.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/number.h"
#include "base/sentence.h"
#include "catalog/drivers.h"
#include "catalog/embedded.h"
#include "catalog/gpu_instances.h"
#include "catalog/table.h"
#include "lint/words.h"

namespace aliquot::lint {

using findings::Severity;

bool contains_any(std::string_view text, std::span<const std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [text](std::string_view word) { return contains(text, word); });
}

bool is_negated(std::string_view text) {
    constexpr std::array<std::string_view, 11> kWords{"not",     "no",     "never",   "cannot",
                                                      "without", "unlike", "instead", "nor",
                                                      "neither", "lacks",  "avoid"};
    return contains(text, "n't") || contains(text, "n\xE2\x80\x99t") ||
           std::any_of(kWords.begin(), kWords.end(),
                       [text](std::string_view word) { return contains_word(text, word); });
}

bool NamedGpu::has_mig() const {
    return std::any_of(models.begin(), models.end(),
                       [](const catalog::GpuModel* model) { return model->has_mig(); });
}

namespace {

bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// A name as people write it, and the models with it: "a100", "rtx 3090".
struct BaseName {
    std::string text;
    std::vector<const catalog::GpuModel*> models;
};

/// "a100-80-pcie" is "a100", "rtx-4060-ti-16" is "rtx-4060-ti".
std::string base_of(std::string_view key) {
    constexpr std::array<std::string_view, 13> kVariants{
        "40", "80", "96", "94", "141", "12", "16", "32", "24", "144", "sxm2", "pcie", "nvl"};
    auto parts = split(key, '-');
    while (parts.size() > 1 &&
           std::find(kVariants.begin(), kVariants.end(), parts.back()) != kVariants.end()) {
        parts.pop_back();
    }
    std::string base = listed(
        parts, [](const auto part) { return std::string(part); }, "-");
    return base;
}

const std::vector<BaseName>& base_names() {
    static const std::vector<BaseName> kNames = [] {
        std::vector<BaseName> names;
        const auto add = [&names](std::string text, const catalog::GpuModel& model) {
            const auto found = std::find_if(names.begin(), names.end(),
                                            [&text](const BaseName& n) { return n.text == text; });
            if (found == names.end()) {
                names.push_back({std::move(text), {&model}});
            } else {
                found->models.push_back(&model);
            }
        };
        for (const auto& model : catalog::gpu_models()) {
            const auto base = base_of(model.key);
            add(base, model);
            if (base.starts_with("rtx-a")) {
                add(base.substr(4), model);
            }
        }
        std::sort(names.begin(), names.end(), [](const BaseName& a, const BaseName& b) {
            return a.text.size() > b.text.size();
        });
        return names;
    }();
    return kNames;
}

/// Whether `name` stands at `at`; '-' stands for a blank, '-', '_' or nothing. Its end; 0: no.
std::size_t match_at(std::string_view text, std::size_t at, std::string_view name) {
    std::size_t i = at;
    for (const char c : name) {
        if (c == '-') {
            if (i < text.size() && (text[i] == ' ' || text[i] == '-' || text[i] == '_')) {
                ++i;
            }
            continue;
        }
        const char have = i < text.size() ? text[i] : '\0';
        const char folded = have >= 'A' && have <= 'Z' ? static_cast<char>(have - 'A' + 'a') : have;
        if (folded != c) {
            return 0;
        }
        ++i;
    }
    return i;
}

/// "RTX 4070 Laptop", "(mobile)": another GPU than the card of that name.
bool is_laptop(std::string_view behind) {
    const auto from = behind.find_first_not_of(" (-");
    const auto word = lower(behind.substr(std::min(from, behind.size()), 6));
    return word.starts_with("laptop") || word.starts_with("mobile") || word.starts_with("max-q");
}

}  // namespace

std::vector<NamedGpu> named_gpus(std::string_view text, Topic topic) {
    std::vector<NamedGpu> found;
    for (std::size_t at = 0; at < text.size();) {
        const bool begins = is_word_byte(text[at]) && (at == 0 || !is_word_byte(text[at - 1]));
        const bool in_path = at > 0 && (text[at - 1] == '-' || text[at - 1] == '_' ||
                                        text[at - 1] == '.' || text[at - 1] == '/');
        if (!begins || (in_path && text[at] != 'A' && text[at] != 'H')) {
            ++at;
            continue;
        }
        const BaseName* best = nullptr;
        std::size_t end = 0;
        const char first =
            text[at] >= 'A' && text[at] <= 'Z' ? static_cast<char>(text[at] - 'A' + 'a') : text[at];
        for (const auto& name : base_names()) {
            const auto stop = name.text[0] == first ? match_at(text, at, name.text) : 0;
            if (stop > end && (stop >= text.size() || !is_word_byte(text[stop]))) {
                const bool is_machine =  // a2-highgpu-1g, a100-...; an L2 cache
                    name.text.size() < 3 &&
                    (topic == Topic::kUnknown ||
                     (stop < text.size() && (text[stop] == '-' || text[stop] == '_')) ||
                     (text[at] >= 'a' && text[at] <= 'z') ||
                     (name.text == "l2" && !text.substr(0, at).ends_with("NVIDIA ")));
                if (!is_machine) {
                    best = &name;
                    end = stop;
                }
            }
        }
        if (best != nullptr) {
            if (!is_laptop(text.substr(end))) found.push_back({best->text, at, end, best->models});
            at = end;
        } else {
            while (at < text.size() && is_word_byte(text[at])) {
                ++at;
            }
        }
    }
    return found;
}

namespace {

/// The table's own date: what has ended by then has ended.
std::string_view table_date() {
    static const std::string_view kDate = [] {
        const auto table = catalog::read_table(catalog::kDriverBranchTable);
        return table ? table->date : std::string_view{};
    }();
    return kDate;
}

std::optional<unsigned> number_at(std::string_view text, std::size_t at) {
    text.remove_prefix(at);
    return take_number<unsigned>(text);
}

/// "driver 535.104.05", "drivers (535.x+)", "R535": the branch.
std::optional<unsigned> driver_branch_in(std::string_view text) {
    if (!contains(text, "driver") && !contains_word(text, "R535")) {
        return std::nullopt;
    }
    for (std::size_t at = 0; at + 3 <= text.size(); ++at) {
        const bool starts = at == 0 || !is_word_byte(text[at - 1]) || text[at - 1] == 'R';
        if (!starts || text[at] < '3' || text[at] > '9' || (at > 0 && text[at - 1] == '.')) {
            continue;
        }
        const auto number = number_at(text, at);
        const bool three = number && *number >= 390 && *number < 700;
        const char behind = at + 3 < text.size() ? text[at + 3] : '\0';
        const bool is_version =
            behind == '.' || behind == '+' || behind == 'x' || (at > 0 && text[at - 1] == 'R') ||
            text.substr(at > 7 ? at - 7 : 0, 7).find("driver") != std::string_view::npos;
        if (three && is_version && !(behind >= '0' && behind <= '9')) {
            return number;
        }
    }
    return std::nullopt;
}

/// Each branch once in a file.
void check_driver_branch(const Statement& statement, std::set<unsigned>& said, Report& report) {
    // "| nvidia.com/cuda.driver-version.major | ... | 550 |": what a label looks like
    if (statement.kind == Statement::Kind::kTableRow && contains(statement.text, "nvidia.com/"))
        return;
    const auto number = driver_branch_in(statement.text);
    const auto* branch = number ? catalog::find_driver_branch(*number) : nullptr;
    if (branch != nullptr && branch->ended(table_date()) && said.insert(branch->branch).second) {
        report
            .add("DOC007", statement.mark,
                 "driver branch " + std::to_string(branch->branch) + " gets no fixes since " +
                     std::string(branch->end))
            .expected("a branch that is maintained, such as 580");
    }
}

/// "since Kubernetes 1.21", "Kubernetes 1.27 and newer provide", "on Kubernetes 1.32 and 1.33": a version
/// that is told of, not one that somebody is to have. "Kubernetes 1.27+" in a list is one to have.
bool is_history(std::string_view folded, std::size_t name, std::size_t version) {
    const std::string_view before = trim(folded.substr(0, name));
    for (const std::string_view word :
         {"since", "as of", "for", "on", "in", "of", "until", "from"}) {
        const bool own =
            before.size() == word.size() ||
            (before.size() > word.size() && !is_word_byte(before[before.size() - word.size() - 1]));
        if (before.ends_with(word) && own) return true;
    }
    const std::string_view between = folded.substr(name, version - name);
    if (between.find('>') != std::string_view::npos) return true;
    std::string_view behind = folded.substr(version);
    behind = behind.substr(std::min(behind.find_first_not_of("0123456789.x`*"), behind.size()));
    behind = trim(behind);
    for (const std::string_view words :
         {"and newer", "or newer", "and later", "or later", "and above", "or above", "or greater",
          "or higher", "and higher", "and up", "\xe6\x88\x96\xe6\x9b\xb4\xe9\xab\x98"}) {
        if (behind.starts_with(words)) return true;
    }
    return false;
}

void check_kubernetes_version(const Statement& statement, Report& report) {
    constexpr unsigned kOldest = 33;  // as of November 2026
    const std::string_view text = statement.text;
    const auto folded = lower(text);
    for (const std::string_view word : {"kubernetes", "k8s"}) {
        const auto at = folded.find(word);
        if (at == std::string::npos) {
            continue;
        }
        const auto one = folded.find("1.", at);
        if (one == std::string::npos || one > at + word.size() + 14) {
            continue;
        }
        if (is_history(folded, at, one)) continue;
        const auto minor = number_at(text, one + 2);
        if (minor && *minor >= 5 && *minor < kOldest &&
            (one == 0 || text[one - 1] == ' ' || text[one - 1] == 'v' || text[one - 1] == '=')) {
            report
                .add("DOC007", statement.mark,
                     "Kubernetes 1." + std::to_string(*minor) + " gets no fixes any more")
                .severity(Severity::kInfo);
            return;
        }
    }
}

/// What has been replaced, and by what.
struct Replaced {
    std::string_view word;
    std::string_view what;
};
constexpr std::array<Replaced, 2> kReplaced{{
    {"nvidia-docker2",
     "nvidia-docker2 was replaced by the NVIDIA Container Toolkit, and the kubelet "
     "talks to containerd or CRI-O, not to Docker"},
    {"docker configured with nvidia", "the kubelet does not read Docker's settings since 1.24"},
}};

void check_replaced(const File& file, const Statement& statement, Report& report) {
    if (!file.mentions("kubernetes") && !file.mentions("kubectl")) {
        return;
    }
    for (const auto& replaced : kReplaced) {
        if (contains(statement.text, replaced.word) && !is_negated(statement.text) &&
            !contains(statement.text, "deprecat") && !contains(statement.text, "replace")) {
            report.add("DOC007", statement.mark, std::string(replaced.what))
                .severity(Severity::kInfo);
            return;
        }
    }
}

/// p2 and p3 machines: their GPUs have no newer driver branch than 580.
void check_old_machines(const Statement& statement, Report& report) {
    if (statement.kind != Statement::Kind::kTableRow &&
        statement.kind != Statement::Kind::kListItem) {
        return;
    }
    for (const auto& instance : catalog::gpu_instances()) {
        if (instance.model->last_branch != 0 && contains_word(statement.text, instance.type)) {
            report
                .add("DOC007", statement.mark,
                     std::string(instance.type) + " has " + std::string(instance.model->name) +
                         ", whose last driver branch is R" +
                         std::to_string(instance.model->last_branch))
                .severity(Severity::kInfo);
            return;
        }
    }
}

}  // namespace

void check_versions(const File& file, Report& report) {
    const bool names_machines = file.mentions("p3.") || file.mentions("p2.");
    if (contains(file.name, "release") || contains(file.name, "changelog")) {
        return;  // history names what was
    }
    std::set<unsigned> said;
    for (const auto& statement : file.statements) {
        if (is_negated(statement.text)) {
            continue;
        }
        check_driver_branch(statement, said, report);
        check_kubernetes_version(statement, report);
        check_replaced(file, statement, report);
        if (names_machines) {
            check_old_machines(statement, report);
        }
    }
}

void check_statements(const File& file, const Set& /*set*/, const Facts* /*facts*/,
                      Report& report) {
    if (!file.mentions("gpu") && !file.mentions("nvidia") && !file.mentions("cuda")) {
        return;
    }
    if (!file.is_prose()) {  // comments alone
        check_promises_of_sharing(file, report);
        return;
    }
    check_gpu_facts(file, report);
    check_causes(file, report);
    check_memory_advice(file, report);
    check_promises_of_sharing(file, report);
    check_versions(file, report);
}

}  // namespace aliquot::lint
