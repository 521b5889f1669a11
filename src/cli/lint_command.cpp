// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/lint_files.h"
#include "document/yaml.h"
#include "findings/finding.h"
#include "findings/rule.h"

namespace aliquot::cli {
namespace {

using findings::Finding;
using findings::Severity;

struct LintOptions {
    std::vector<std::string> paths;
    std::vector<std::string> formats{"text"};
    std::string fail_on = "error";
    std::string facts;
    std::string baseline;
    bool fix = false;
    bool diff = false;
    bool rules = false;
    bool init = false;
};

const std::set<std::string> kFormats{"text", "wide",  "table",  "json",
                                     "yaml", "sarif", "github", "junit"};

std::string check_format(const std::string& word) {
    const std::string format = word.substr(0, word.find('='));
    if (kFormats.count(format) != 0) return {};
    return "'" + format +
           "' is no format: expected text, wide, table, json, yaml, sarif, github or junit, "
           "with =PATH to write to a file";
}

/// All that one run knows.
struct Run {
    std::vector<LintFile> inputs;
    lint::Set set;
    std::vector<Finding> findings;
};

const lint::File* file_of(const Run& run, std::string_view name) {
    const auto files = run.set.files();
    const auto found = std::find_if(files.begin(), files.end(),
                                    [name](const auto& one) { return one->name == name; });
    return found == files.end() ? nullptr : found->get();
}

/// Reads and takes apart all files, several at a time.
Result<Done> read_all(Run& run) {
    std::vector<std::unique_ptr<lint::File>> files(run.inputs.size());
    std::vector<std::string> problems(run.inputs.size());
    constexpr std::size_t kFilesPerThread = 8;
    for_each_in_parallel(
        files.size(), 0,
        [&](std::size_t i) {
            LintFile& input = run.inputs[i];
            const auto read = read_lint_file(input);
            if (!read) {
                problems[i] = read.error().message;
                return;
            }
            files[i] = lint::read_file(input.path, std::move(input.bytes));
            files[i]->aliquot = input.settings->settings.aliquot;
        },
        kFilesPerThread);
    for (const std::string& problem : problems) {
        if (!problem.empty()) return Error{ErrorCode::kInvalidInput, problem};
    }
    run.set = lint::Set(std::move(files));
    return Done{};
}

/// --facts, else `facts:` of the settings of the first file.
Result<std::optional<lint::Facts>> load_facts(const Run& run, const LintOptions& words) {
    LintFile file;
    file.path = words.facts;
    if (file.path.empty() && !run.inputs.empty()) {
        const FoundSettings& found = *run.inputs.front().settings;
        if (!found.settings.facts.empty()) {
            file.path = (std::filesystem::path(found.directory) / found.settings.facts).string();
        }
    }
    if (file.path.empty()) return std::optional<lint::Facts>();
    const auto read = read_lint_file(file);
    if (!read) return read.error();
    auto facts = lint::read_facts(file.path, file.bytes);
    if (!facts) return std::move(facts).error();
    return std::optional<lint::Facts>(*std::move(facts));
}

void check_all(Run& run, const lint::Facts* facts) {
    std::map<std::string_view, const lint::Settings*> settings;
    for (const LintFile& input : run.inputs) settings[input.path] = &input.settings->settings;
    const std::vector<Finding> all = lint::check(run.set, facts);
    run.findings.clear();
    for (auto first = all.begin();
         first != all.end();) {  // sorted: the findings of a file stand together
        const auto last = std::find_if(first, all.end(),
                                       [&](const Finding& one) { return one.file != first->file; });
        std::vector<Finding> of_file(first, last);
        if (const auto own = settings.find(first->file); own != settings.end())
            lint::apply_settings(*own->second, of_file);
        std::move(of_file.begin(), of_file.end(), std::back_inserter(run.findings));
        first = last;
    }
}

/// Takes out what an earlier `-o json` already has, by file, rule and message; each of its entries once.
Result<Done> subtract_baseline(Run& run, const std::string& path) {
    LintFile file;
    file.path = path;
    const auto read = read_lint_file(file);
    if (!read) return read.error();
    const auto stream = document::parse_yaml(file.bytes, {16U << 20U, 2'000'000, 16});
    const document::Node* list =
        stream.errors.empty() ? stream.documents.front().find("findings") : nullptr;
    if (list == nullptr || !list->is_sequence()) {
        return Error{ErrorCode::kInvalidInput,
                     path + ": no baseline: expected the output of aliquot lint -o json"};
    }
    const auto text = [](const document::Node& node, std::string_view key) {
        const document::Node* found = node.find(key);
        return found == nullptr ? std::string() : found->scalar;
    };
    std::multiset<std::string> known;
    for (const document::Node& item : list->items) {
        known.insert(text(item, "file") + '\n' + text(item, "rule") + '\n' + text(item, "message"));
    }
    std::vector<Finding> fresh;
    for (Finding& one : run.findings) {
        const auto found = known.find(one.file + '\n' + one.rule + '\n' + one.message);
        if (found == known.end()) {
            fresh.push_back(std::move(one));
        } else {
            known.erase(found);
        }
    }
    run.findings = std::move(fresh);
    return Done{};
}

void print(std::ostream& out, const Run& run, const std::string& format, bool colour) {
    const findings::SourceLine source = [&run](std::string_view file, unsigned line) {
        const lint::File* found = file_of(run, file);
        return found == nullptr ? std::string_view() : found->line(line);
    };
    if (format == "text") findings::print_text(out, run.findings, colour);
    if (format == "wide") findings::print_wide(out, run.findings, colour, source);
    if (format == "table") findings::print_table(out, run.findings);
    if (format == "json") findings::print_json(out, run.findings);
    if (format == "yaml") findings::print_yaml(out, run.findings);
    if (format == "sarif") findings::print_sarif(out, run.findings, source);
    if (format == "github") findings::print_github(out, run.findings);
    if (format == "junit") {
        std::vector<std::string> files;
        for (const LintFile& input : run.inputs) files.push_back(input.path);
        findings::print_junit(out, run.findings, files);
    }
}

void print_all(Context& context, const Run& run, const LintOptions& words) {
    for (const std::string& word : words.formats) {
        const auto equals = word.find('=');
        const std::string format = word.substr(0, equals);
        if (equals == std::string::npos) {
            print(context.out, run, format, context.colour);
            continue;
        }
        const std::string path = word.substr(equals + 1);
        std::ofstream file(path, std::ios::binary);
        print(file, run, format, false);
        file.flush();
        if (!file) fail(context, kCouldNotRun, path + ": cannot be written");
    }
}

std::multiset<std::string> rules_of(const std::vector<Finding>& findings) {
    std::multiset<std::string> rules;
    for (const Finding& one : findings) {
        if (one.severity != Severity::kInfo) rules.insert(one.rule);
    }
    return rules;
}

/// The findings of one file in its mended form, within its set of one.
std::vector<Finding> check_again(const lint::File& file, const std::string& text,
                                 const lint::Facts* facts) {
    std::vector<std::unique_ptr<lint::File>> files;
    files.push_back(lint::read_file(file.name, text));
    files.back()->aliquot = file.aliquot;
    return lint::check(lint::Set(std::move(files)), facts, 1);
}

/// Mends one file; an edit that would bring a new error or warning is not made.
std::string mended_text(const lint::File& file, const std::vector<Finding>& findings,
                        const lint::Facts* facts) {
    const auto before = rules_of(check_again(file, file.original, facts));
    const auto is_better = [&](const std::string& text) {
        const auto after = rules_of(check_again(file, text, facts));
        return std::includes(before.begin(), before.end(), after.begin(), after.end());
    };
    std::string all = lint::mend(file.original, findings).text;
    if (is_better(all)) return all;
    std::vector<Finding> kept;  // one after the other: leave out what does harm
    for (const Finding& one : findings) {
        if (one.edits.empty()) continue;
        kept.push_back(one);
        if (!is_better(lint::mend(file.original, kept).text)) kept.pop_back();
    }
    return lint::mend(file.original, kept).text;
}

/// --fix and --diff.
void mend_all(Context& context, const Run& run, const lint::Facts* facts,
              const LintOptions& words) {
    std::size_t files = 0;
    for (const auto& file : run.set.files()) {
        std::vector<Finding> mechanical;
        for (const Finding& one : run.findings) {
            if (one.file == file->name && !one.edits.empty()) mechanical.push_back(one);
        }
        if (mechanical.empty()) continue;
        const std::string text = mended_text(*file, mechanical, facts);
        if (text == file->original) continue;
        ++files;
        if (words.diff) context.out << lint::unified_diff(file->name, file->original, text);
        if (!words.fix) continue;
        if (file->name == "<stdin>") {
            if (!words.diff) context.out << text;
            continue;
        }
        const auto done = replace_file(file->name, text);
        if (!done) fail(context, kCouldNotRun, done.error().message);
    }
    if (words.fix && !words.diff) {
        context.err << "aliquot: mended " << files << (files == 1 ? " file\n" : " files\n");
    }
}

bool fails(const std::vector<Finding>& findings, const std::string& fail_on) {
    if (fail_on == "never") return false;
    const Severity worst = fail_on == "error"     ? Severity::kError
                           : fail_on == "warning" ? Severity::kWarning
                                                  : Severity::kInfo;
    return std::any_of(findings.begin(), findings.end(),
                       [worst](const Finding& one) { return one.severity <= worst; });
}

void write_settings(Context& context) {
    const std::string path = ".aliquot.yaml";
    std::error_code problem;
    if (std::filesystem::exists(path, problem))
        return fail(context, kUsage, path + ": is already there");
    std::ofstream file(path, std::ios::binary);
    file << lint::settings_template();
    file.flush();
    if (!file) return fail(context, kCouldNotRun, path + ": cannot be written");
    context.out << "wrote " << path << '\n';
}

void list_rules(Context& context, const LintOptions& words) {
    if (words.formats.front() == "json") return findings::print_rules_json(context.out, "lint");
    findings::print_rules_table(context.out, "lint");
}

void lint_paths(Context& context, const LintOptions& words) {
    if (words.init) return write_settings(context);
    if (words.rules) return list_rules(context, words);
    if (words.paths.empty())
        return fail(context, kUsage, "lint: PATH is missing; - is the standard input");
    Run run;
    auto inputs = find_lint_files(words.paths);
    if (!inputs) return fail(context, kUsage, inputs.error().message);
    run.inputs = *std::move(inputs);
    const auto read = read_all(run);
    if (!read) return fail(context, kUsage, read.error().message);
    const auto facts = load_facts(run, words);
    if (!facts) return fail(context, kUsage, facts.error().message);
    const lint::Facts* known = *facts ? &**facts : nullptr;
    check_all(run, known);
    if (!words.baseline.empty()) {
        const auto done = subtract_baseline(run, words.baseline);
        if (!done) return fail(context, kUsage, done.error().message);
    }
    if (words.fix || words.diff) {
        mend_all(context, run, known, words);
        if (!words.fix) return;
        if (context.exit_code != kOk) return;
        // What is left is what must be said.
        for (LintFile& input : run.inputs) {
            if (input.path == "<stdin>") return;
        }
        if (!read_all(run))
            return fail(context, kCouldNotRun, "the mended files cannot be read again");
        check_all(run, known);
    }
    print_all(context, run, words);
    if (context.exit_code == kOk && fails(run.findings, words.fail_on))
        context.exit_code = kFindings;
}

void add_options(CLI::App& command, LintOptions& words) {
    command.add_option("PATH", words.paths, "Files and directories; - is the standard input")
        ->option_text("...");
    command
        .add_option("-o,--output", words.formats,
                    "How to print; with =PATH into a file; may be given several times")
        ->check(CLI::Validator(check_format, ""))
        ->take_all()
        ->allow_extra_args(false)  // -o json PATH: PATH is no format
        ->option_text("FORMAT[=PATH] (text, wide, table, json, yaml, sarif, github, junit)");
    command.add_option("--fail-on", words.fail_on, "The least that makes the exit code 1")
        ->check(CLI::IsMember({"error", "warning", "info", "never"}))
        ->option_text("SEVERITY (error, warning, info, never)");
    command.add_flag("--fix", words.fix,
                     "Write the mends that are mechanical, then report what is left");
    command.add_flag("--diff", words.diff, "Show those mends as a diff; with --fix write them too");
    command
        .add_option("--facts", words.facts,
                    "What the cluster has: kubectl get nodes,runtimeclasses -o json")
        ->option_text("FILE");
    command
        .add_option("--baseline", words.baseline, "Leave out what this earlier -o json already has")
        ->option_text("FILE");
    command.add_flag("--rules", words.rules, "List all rules");
    command.add_flag("--init", words.init, "Write a .aliquot.yaml to begin with");
}

}  // namespace

void add_lint_command(CLI::App& program, Context& context) {
    CLI::App* command = program.add_subcommand(
        "lint",
        "Say what is wrong in GPU manifests, configurations, runbooks and Dockerfiles\n\n"
        "Reads YAML and JSON (also inside ConfigMaps and scripts), Helm values, Markdown, "
        "AsciiDoc, RST and\n"
        "text with their code blocks, Dockerfiles, shell scripts and Prometheus rules. Directories "
        "are read\n"
        "with all below them. Exit code 0: nothing at or above --fail-on; 1: findings; 2: a file "
        "that\n"
        "cannot be read.");
    command->footer(
        "aliquot lint deploy/ docs/\n"
        "helm template gpu-app | aliquot lint -\n"
        "aliquot lint -o text -o sarif=lint.sarif --fail-on warning .\n"
        "aliquot lint --diff deploy/            # what --fix would change\n"
        "aliquot lint --facts nodes.json job.yaml");
    auto words = std::make_shared<LintOptions>();
    add_options(*command, *words);
    command->callback([words, &context] { lint_paths(context, *words); });
}

}  // namespace aliquot::cli
