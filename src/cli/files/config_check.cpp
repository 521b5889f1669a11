// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "cli/answer.h"
#include "cli/files/config_command.h"
#include "command_line/command.h"
#include "findings/finding.h"
#include "sharing/config_file.h"

namespace aliquot::cli {
namespace {

struct ConfigCheckOptions {
    std::vector<std::string> files;
    std::string format = "text";
    std::string compatibility = "none";
};

/// "sharing.yaml: ok: time-slicing: nvidia.com/gpu in 2 shares".
void print_ok(std::ostream& out, const std::string& name, const sharing::CheckedFile& checked) {
    out << name << ": ok";
    for (const sharing::FoundConfig& found : checked.configs) {
        out << (&found == &checked.configs.front() ? ": " : "; ");
        if (!found.where.empty()) out << found.where << ": ";
        out << sharing::summary(found.config);
    }
    out << '\n';
}

void check(Context& context, const ConfigCheckOptions& words) {
    const bool text = words.format == "text";
    const auto compatibility = words.compatibility == "nvidia" ? sharing::Compatibility::kNvidia
                                                               : sharing::Compatibility::kStrict;
    std::vector<findings::Finding> all;
    for (const std::string& file : words.files) {
        const auto input = read_input(file);
        if (!input) {
            fail(context, kUsage, input.error().message);
            continue;
        }
        const auto checked = sharing::check_config_file(input->name, input->text, compatibility);
        if (text && checked.findings.empty()) print_ok(context.out, input->name, checked);
        if (text) findings::print_text(context.out, checked.findings, context.colour);
        all.insert(all.end(), checked.findings.begin(), checked.findings.end());
    }
    if (words.format == "json" || words.format == "yaml") {
        print_answer(context.out, "FindingList", findings::to_json(all), words.format);
    }
    if (words.format == "table") findings::print_table(context.out, all);
    if (context.exit_code == kOk && findings::has_errors(all)) context.exit_code = kFindings;
}

}  // namespace

void add_config_check(command_line::Command& config, Context& context) {
    command_line::Command* command = config.add_subcommand(
        "check",
        "Check sharing configurations and show how to fix them\n\n"
        "A FILE is the configuration itself, a ConfigMap that holds it, or gpu-operator Helm\n"
        "values. Exit code 0: nothing wrong, or only warnings; 1: errors; 2: a file that cannot\n"
        "be read.");
    command->footer(
        "aliquot config check sharing.yaml\n"
        "aliquot config check -o json values.yaml configmap.yaml\n"
        "kubectl get configmap slices -o yaml | aliquot config check -\n"
        "aliquot config check --compat nvidia sharing.yaml   # what NVIDIA's plugin makes of it");
    auto words = std::make_shared<ConfigCheckOptions>();
    command->add_option("FILE", words->files, "What to check; - is the standard input", "...")
        ->required();
    add_output(*command, words->format, {"text", "table"});
    command
        ->add_option("--compat", words->compatibility,
                     "Read as NVIDIA's plugin does: ignore what it ignores, with a warning",
                     "MODE (none, nvidia)")
        ->one_of({"none", "nvidia"});
    command->callback([words, &context] { check(context, *words); });
}

}  // namespace aliquot::cli
