// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <vector>

#include "cli/answer.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "findings/finding.h"
#include "findings/rule.h"
#include "lint/baseline.h"
#include "lint/fix.h"
#include "lint/run.h"
#include "os/replace_file.h"

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
           "' is not a format: expected text, wide, table, json, yaml, sarif, github or junit, "
           "with =PATH to write to a file";
}

void print(std::ostream& out, const lint::Run& run, const std::string& format, Colour colour) {
    const findings::SourceLine source = [&run](std::string_view file, unsigned line) {
        const lint::File* found = run.find(file);
        return found == nullptr ? std::string_view() : found->line(line);
    };
    if (format == "text") findings::print_text(out, run.findings, colour);
    if (format == "wide") findings::print_wide(out, run.findings, colour, source);
    if (format == "table") findings::print_table(out, run.findings);
    if (format == "json" || format == "yaml") {
        print_answer(out, "FindingList", findings::to_json(run.findings), format);
    }
    if (format == "sarif") findings::print_sarif(out, run.findings, source);
    if (format == "github") findings::print_github(out, run.findings);
    if (format == "junit") {
        std::vector<std::string> files;
        for (const lint::SourceFile& input : run.inputs) files.push_back(input.path);
        findings::print_junit(out, run.findings, files);
    }
}

void print_all(Context& context, const lint::Run& run, const LintOptions& words) {
    for (const std::string& word : words.formats) {
        const auto equals = word.find('=');
        const std::string format = word.substr(0, equals);
        if (equals == std::string::npos) {
            print(context.out, run, format, context.colour);
            continue;
        }
        const std::string path = word.substr(equals + 1);
        std::ostringstream text;
        print(text, run, format, Colour::kNever);
        const auto written = os::write_output(path, text.view());
        if (!written) fail(context, kCouldNotRun, written.error().message);
    }
}

/// --fix and --diff.
void fix_all(Context& context, const lint::Run& run, const lint::Facts* facts,
             const LintOptions& words) {
    std::size_t files = 0;
    for (const auto& file : run.set.files()) {
        std::vector<Finding> mechanical;
        for (const Finding& one : run.findings) {
            if (one.file == file->name && !one.edits.empty()) mechanical.push_back(one);
        }
        if (mechanical.empty()) continue;
        const std::string text = lint::fixed_text(*file, mechanical, facts);
        if (text == file->original) continue;
        ++files;
        if (words.diff) context.out << lint::unified_diff(file->name, file->original, text);
        if (!words.fix) continue;
        if (file->name == "<stdin>") {
            if (!words.diff) context.out << text;
            continue;
        }
        const auto done = os::write_output(file->name, lint::as_written(*file, text));
        if (!done) fail(context, kCouldNotRun, done.error().message);
    }
    if (words.fix && !words.diff) {
        context.err << "aliquot: fixed " << files << (files == 1 ? " file\n" : " files\n");
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
    const auto written = os::write_output(path, lint::settings_template());
    if (!written) return fail(context, kCouldNotRun, written.error().message);
    context.out << "wrote " << path << '\n';
}

void list_rules(Context& context, const LintOptions& words) {
    const std::string& format = words.formats.front();
    if (format == "json" || format == "yaml") {
        return print_answer(context.out, "RuleList", findings::rules_json("lint"), format);
    }
    findings::print_rules_table(context.out, "lint");
}

Result<Done> leave_out_baseline(lint::Run& run, const std::string& path) {
    lint::SourceFile file;
    file.path = path;
    const auto read = lint::read_source_file(file);
    if (!read) return read.error();
    return lint::subtract_baseline(run.findings, path, file.bytes);
}

void lint_paths(Context& context, const LintOptions& words) {
    if (words.init) return write_settings(context);
    if (words.rules) return list_rules(context, words);
    if (words.paths.empty())
        return fail(context, kUsage, "lint: PATH is missing; - is the standard input");
    lint::Run run;
    auto inputs = lint::find_source_files(words.paths);
    if (!inputs) return fail(context, kUsage, inputs.error().message);
    run.inputs = *std::move(inputs);
    const auto read = lint::read_all(run);
    if (!read) return fail(context, kUsage, read.error().message);
    const auto facts = lint::load_facts(run, words.facts);
    if (!facts) return fail(context, kUsage, facts.error().message);
    const lint::Facts* known = *facts ? &**facts : nullptr;
    lint::check_all(run, known);
    if (!words.baseline.empty()) {
        const auto done = leave_out_baseline(run, words.baseline);
        if (!done) return fail(context, kUsage, done.error().message);
    }
    if (words.fix || words.diff) {
        fix_all(context, run, known, words);
        if (!words.fix) return;
        if (context.exit_code != kOk) return;
        // What is left is what must be said.
        for (lint::SourceFile& input : run.inputs) {
            if (input.path == "<stdin>") return;
        }
        if (!lint::read_all(run))
            return fail(context, kCouldNotRun, "the fixed files cannot be read again");
        lint::check_all(run, known);
    }
    print_all(context, run, words);
    if (context.exit_code == kOk && fails(run.findings, words.fail_on))
        context.exit_code = kFindings;
}

void add_options(command_line::Command& command, LintOptions& words) {
    command.add_option("PATH", words.paths, "Files and directories; - is the standard input",
                       "...");
    command
        .add_option("-o,--output", words.formats,
                    "Output format; =PATH writes to a file; may be repeated")
        ->check(check_format)
        ->take_all()
        ->allow_extra_args(false)  // -o json PATH: PATH is no format
        ->option_text("FORMAT[=PATH] (text, wide, table, json, yaml, sarif, github, junit)");
    command
        .add_option("--fail-on", words.fail_on, "The lowest severity that makes the exit code 1",
                    "SEVERITY (error, warning, info, never)")
        ->one_of({"error", "warning", "info", "never"});
    command.add_flag("--fix", words.fix, "Apply the mechanical fixes, then report what is left");
    command.add_flag("--diff", words.diff, "Show those fixes as a diff; with --fix apply them too");
    command.add_option("--facts", words.facts,
                       "Facts about the cluster: kubectl get nodes,runtimeclasses -o json", "FILE");
    command.add_option("--baseline", words.baseline,
                       "Leave out findings that are in this earlier -o json report", "FILE");
    command.add_flag("--rules", words.rules, "List all rules");
    command.add_flag("--init", words.init, "Write a .aliquot.yaml to begin with");
}

}  // namespace

void add_lint_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "lint",
        "Check GPU manifests, configurations, runbooks and Dockerfiles for mistakes\n\n"
        "Reads YAML and JSON (also inside ConfigMaps and scripts), Helm values, Markdown, "
        "AsciiDoc, RST and\n"
        "text with their code blocks, Dockerfiles, shell scripts and Prometheus rules. Directories "
        "are read\nrecursively. Exit code 0: nothing at or above --fail-on; 1: findings; 2: a file "
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
