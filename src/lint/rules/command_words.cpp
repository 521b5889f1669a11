// SPDX-License-Identifier: Apache-2.0
// Words that a program does not know: fields of nvidia-smi, commands and flags of nvidia-ctk (RUN005),
// effects of taints and labels of nodes (SH014), values given to a chart (FORM001, FORM003).
#include <algorithm>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/forms.h"
#include "lint/kept.h"
#include "lint/rules/evidence.h"
#include "lint/rules/form_values.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;
using Names = std::vector<std::string_view>;

bool knows(const Names& names, std::string_view word) {
    return std::find(names.begin(), names.end(), word) != names.end();
}

/// A word that is none of those that a program knows: an error where one is nearly it.
void say_unknown(const Word& word, const std::string& what, std::string_view text,
                 const Names& known, bool complete, Report& report) {
    const std::string_view meant = nearest(text, known);
    if (meant.empty() && !complete) return;
    std::string all;
    for (const std::string_view one : known) {
        constexpr std::size_t kMost = 60;
        if (all.size() < kMost) all += (all.empty() ? "" : ", ") + std::string(one);
    }
    report.add("RUN005", word.mark, what + " '" + std::string(text) + '\'')
        .expected(meant.empty() ? "one of " + all + (known.size() > 4 ? ", ..." : "")
                                : std::string(meant));
}

void check_list(const Word& word, std::string_view list, std::string_view form,
                const std::string& what, bool complete, Report& report) {
    const Names known = words_of_form(form);
    for (std::string_view field : split(list, ',')) {
        field = trim(field);
        if (field.empty() || is_placeholder(field) || contains(field, "$") || knows(known, field))
            continue;
        say_unknown(word, what, field, known, complete, report);
    }
}

void check_smi(const Command& command, Report& report) {
    for (std::size_t i = 1; i < command.words.size(); ++i) {
        const Word& word = command.words[i];
        const auto equals = word.text.find('=');
        const std::string_view name = std::string_view(word.text).substr(0, equals);
        std::string_view list;
        if (equals != std::string::npos) {
            list = std::string_view(word.text).substr(equals + 1);
        } else if (i + 1 < command.words.size()) {
            list = command.words[i + 1].text;
        }
        if (list.empty() || list.starts_with("-")) continue;
        if (name == "--query-gpu") {
            check_list(word, list, "nvidia-smi query-gpu", "nvidia-smi has no field", true, report);
        } else if (name == "--query-compute-apps") {
            check_list(word, list, "nvidia-smi query-compute-apps", "nvidia-smi has no field", true,
                       report);
        } else if (name == "--format") {
            check_list(word, list, "nvidia-smi format", "nvidia-smi has no format", true, report);
        }
    }
}

/// nvidia-ctk COMMAND [COMMAND] FLAGS.
void check_ctk(const Command& command, Report& report) {
    std::string path = "nvidia-ctk";
    for (std::size_t i = 1; i < command.words.size(); ++i) {
        const Word& word = command.words[i];
        if (word.text.empty() || is_placeholder(word.text) || contains(word.text, "$")) return;
        const std::string below = path + ' ' + word.text;
        const Names known = words_of_form(path);
        if (!word.text.starts_with("-")) {
            if (known.empty() || known.front().starts_with("-")) continue;  // a value of a flag
            if (!knows(known, word.text))
                return say_unknown(word, path + " has no command", word.text, known, true, report);
            if (words_of_form(below).empty()) return;
            path = below;
            continue;
        }
        const auto equals = word.text.find('=');
        const std::string flag = word.text.substr(0, equals);
        if (known.empty() || !known.front().starts_with("-")) continue;  // a flag for all commands
        if (flag.starts_with("--") && !knows(known, flag)) {
            say_unknown(word, path + " has no flag", flag, known, false, report);
        } else if (flag == "--runtime") {
            const std::string value = equals != std::string::npos    ? word.text.substr(equals + 1)
                                      : i + 1 < command.words.size() ? command.words[i + 1].text
                                                                     : std::string();
            const Names runtimes = words_of_form("nvidia-ctk runtimes");
            if (!value.empty() && !is_placeholder(value) && !contains(value, "$") &&
                !knows(runtimes, value)) {
                say_unknown(word, "nvidia-ctk knows no runtime", value, runtimes, true, report);
            }
        }
    }
}

// --- kubectl ---

/// `kubectl taint nodes NAME KEY=VALUE:EFFECT`.
void check_taint(const Command& command, Report& report) {
    static const Names kEffects = words_of_form("kubernetes taint effects");
    const auto words = command.positionals();
    for (std::size_t i = 2; i < words.size(); ++i) {
        std::string_view text = words[i]->text;
        if (is_placeholder(text) || contains(text, "$")) continue;
        const auto colon = text.rfind(':');
        if (text.ends_with('-')) text.remove_suffix(1);
        if (colon == std::string_view::npos) {
            const bool sets = contains(text, "=") && !words[i]->text.ends_with('-');
            if (!sets) continue;
            report
                .add("SH014", words[i]->mark, "the taint '" + std::string(text) + "' has no effect")
                .expected(std::string(text) + ":NoSchedule");
            continue;
        }
        const std::string_view effect = text.substr(colon + 1);
        if (effect.empty() || knows(kEffects, effect)) continue;
        const std::string_view meant = nearest(effect, kEffects);
        report.add("SH014", words[i]->mark, "a taint has no effect '" + std::string(effect) + '\'')
            .expected(meant.empty() ? "NoSchedule, PreferNoSchedule or NoExecute"
                                    : std::string(meant));
    }
}

/// The value of nvidia.com/device-plugin.config: a key of the sharing configurations of the file.
void check_choice(const File& file, const Word& word, Report& report) {
    constexpr std::string_view kLabel = "nvidia.com/device-plugin.config=";
    if (!word.text.starts_with(kLabel)) return;
    const std::string_view value = std::string_view(word.text).substr(kLabel.size());
    Names keys;
    for (const Object& object : file.objects) {
        if (object.role == Role::kDevicePluginConfig && !object.key.empty())
            keys.push_back(object.key);
    }
    if (keys.empty() || value.empty() || is_placeholder(value) || contains(value, "$") ||
        knows(keys, value)) {
        return;
    }
    report
        .add("REF004", word.mark, "no configuration here has the key '" + std::string(value) + '\'')
        .expected("one of its keys: " + std::string(keys.front()))
        .severity(Severity::kWarning);
}

/// `kubectl label node NAME KEY=VALUE`: keys that are nearly one that something reads.
void check_label(const File& file, const Command& command, Report& report) {
    const FormNode* pod = find_form("pod");
    if (pod == nullptr) return;
    const auto selector = pod->keys.find("nodeSelector");
    const auto words = command.positionals();
    if (selector == pod->keys.end() || words.size() < 3 ||
        (words[1]->text != "node" && words[1]->text != "nodes" && words[1]->text != "no")) {
        return;
    }
    const Names& known = selector->second.values;
    for (std::size_t i = 2; i < words.size(); ++i) {
        check_choice(file, *words[i], report);
        std::string_view key = words[i]->text;
        key = key.substr(0, key.find('='));
        if (key.ends_with('-')) key.remove_suffix(1);
        if (!contains(key, "/") || is_placeholder(key) || contains(key, "$") || knows(known, key))
            continue;
        const std::string_view meant = nearest_key(key, known);
        if (meant.empty()) continue;
        report.add("SH014", words[i]->mark, "nothing reads the label '" + std::string(key) + '\'')
            .expected(std::string(meant))
            .severity(Severity::kWarning);
    }
}

// --- helm ---

/// A step of `a.b[0].c\.d=`; what is left of the path stays in it.
std::string next_step(std::string_view& path) {
    std::string step;
    std::size_t at = 0;
    for (; at < path.size() && path[at] != '.' && path[at] != '['; ++at) {
        if (path[at] == '\\' && at + 1 < path.size()) ++at;
        step += path[at];
    }
    if (at < path.size() && path[at] == '[') {
        const auto end = path.find(']', at);
        at = end == std::string_view::npos ? path.size() : end + 1;
        if (at < path.size() && path[at] == '.') ++at;
        path.remove_prefix(at);
        return step + "[]";
    }
    path.remove_prefix(std::min(at + 1, path.size()));
    return step;
}

Value as_value(const Word& word, std::string_view text) {
    Value value;
    value.mark = word.mark;
    value.scalar = std::string(text);
    value.kind = text == "true" || text == "false" ? Value::Kind::kBool
                 : parse_number<long>(text)        ? Value::Kind::kInteger
                 : text == "null"                  ? Value::Kind::kNull
                                                   : Value::Kind::kString;
    return value;
}

const FormNode* step_down(const FormNode& form, const std::string& key) {
    if (const auto at = form.keys.find(key); at != form.keys.end()) return &at->second;
    const FormNode* part = form.include.empty() ? nullptr : find_form(form.include);
    if (part != nullptr) {
        if (const auto at = part->keys.find(key); at != part->keys.end()) return &at->second;
    }
    return form.any.empty() ? nullptr : &form.any.front();
}

void check_set(const ChartInstall& install, std::string_view path, const Word& word,
               Report& report) {
    const FormNode* form = find_form(install.chart);
    std::string above;
    while (form != nullptr && !path.empty()) {
        const std::string step = next_step(path);
        if (step.ends_with("[]") || is_placeholder(step) || contains(step, "$")) return;
        const FormNode* child = step_down(*form, step);
        if (child == nullptr) {
            if (above.empty() || form->known.empty() || has_key(*form, step)) return;
            const std::string_view meant = nearest_key(step, form->known);
            if (meant.empty()) return;  // another release of the chart may have it
            report
                .add("FORM001", word.mark,
                     '\'' + above + "' of the chart " + install.chart + " has no key '" + step +
                         '\'')
                .expected(std::string(meant));
            return;
        }
        above += (above.empty() ? "" : ".") + step;
        form = child;
    }
    if (form == nullptr || form->type == FormType::kMap || form->type == FormType::kOpen ||
        form->type == FormType::kList || form->type == FormType::kClosed) {
        return;
    }
    const auto equals = word.text.find('=');
    const std::string_view text =
        equals == std::string::npos ? word.text : std::string_view(word.text).substr(equals + 1);
    if (text.empty() || is_placeholder(text) || contains(text, "$") || contains(text, ",")) return;
    const Value value = as_value(word, text);
    const auto wrong = find_wrong_value(*form, value);
    if (!wrong || (form->type == FormType::kText && wrong->type)) return;
    report
        .add("FORM003", word.mark,
             '\'' + above + "' of the chart " + install.chart + " is '" + std::string(text) + '\'')
        .expected(wrong->meant.empty() ? wrong->expected : wrong->meant);
}

}  // namespace

void check_command_words(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    for (const Command& command : file.commands) {
        if (command.shown || command.wrapper == "command") continue;
        if (command.is("nvidia-smi")) check_smi(command, report);
        if (command.is("nvidia-ctk")) check_ctk(command, report);
        if (command.is("kubectl", "taint") || command.is("oc", "taint"))
            check_taint(command, report);
        if (command.is("kubectl", "label") || command.is("oc", "label"))
            check_label(file, command, report);
    }
    if (!file.mentions("helm") || !file.mentions("--set")) return;
    for (const ChartInstall& install : chart_installs(file)) {
        for (const auto& [path, word] : install.sets) check_set(install, path, word, report);
    }
}

}  // namespace aliquot::lint
