// SPDX-License-Identifier: Apache-2.0
#include "cli/files/plan_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/svg_file.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/write.h"
#include "plan/drawing.h"
#include "sizing/text.h"

namespace aliquot::cli {
namespace {

using document::append;
using document::Value;

/// What changes, in a few fields.
Value what_if_node(const std::string& change, const plan::Plan& after,
                   const plan::Request& request) {
    const Value all = to_node(after, request);
    Value node = document::make_mapping();
    append(node, "change", document::make_string(change));
    for (const char* const key :
         {"recommendation", "technique", "mode", "replicas", "per_pod_memory_gib", "workloads",
          "unplaced", "gpus_missing", "numbers"}) {
        const Value* const value = all.find(key);
        if (value != nullptr) append(node, key, *value);
    }
    return node;
}

/// The configurations of several nodes as one ConfigMap with a key for each.
void print_config_map(Context& context, const std::vector<const plan::File*>& files,
                      std::string_view name, std::string_view space) {
    context.out << "# Each node reads the key that its label names:\n";
    for (const plan::File* const file : files) {
        context.out << "# kubectl label node NODE nvidia.com/device-plugin.config=" << file->node
                    << " --overwrite\n";
    }
    context.out << "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " << name
                << "\n  namespace: " << space << "\ndata:\n";
    for (const plan::File* const file : files) {
        context.out << "  " << file->node << ": |\n";
        std::istringstream lines(file->data);
        for (std::string line; std::getline(lines, line);) context.out << "    " << line << '\n';
    }
}

/// Prints what differs from node to node as one ConfigMap. False: there is one configuration.
bool print_of_nodes(Context& context, const plan::Plan& made, bool ours) {
    std::vector<const plan::File*> files;
    for (const plan::File& file : made.files) {
        const char* const begin = ours ? "sharing" : "nvidia-configmap";
        if (file.name.starts_with(begin) && !file.node.empty()) files.push_back(&file);
    }
    if (files.size() < 2) return false;
    print_config_map(context, files, ours ? "aliquot-config" : "aliquot-plan",
                     ours ? "aliquot-system" : "gpu-operator");
    return true;
}

/// The files of one kind, as one YAML stream.
void print_files(Context& context, const plan::Plan& made, const std::string& format) {
    const bool mig = std::ranges::any_of(
        made.files, [](const plan::File& file) { return file.name.starts_with("mig-"); });
    const auto wanted = [&](const plan::File& file) {
        if (format == "aliquot") return file.name.starts_with("sharing");
        return file.name.starts_with("nvidia-configmap") || file.name.starts_with("mig-configmap");
    };
    const auto count = std::ranges::count_if(made.files, wanted);
    if (count == 0) {
        return fail(context, made.shares.empty() ? kFindings : kCouldNotRun,
                    "the plan needs no configuration: " + made.recommendation);
    }
    if (format == "nvidia") {
        context.out << "# gpu-operator reads it when its values name it:\n"
                       "# helm upgrade gpu-operator nvidia/gpu-operator -n gpu-operator "
                       "--reuse-values \\\n#   --set devicePlugin.config.name=aliquot-plan "
                       "--set devicePlugin.config.default=any";
        if (mig) {
            context.out << " \\\n#   --set mig.strategy=mixed "
                           "--set migManager.config.name=aliquot-mig\n"
                           "# kubectl label node NODE nvidia.com/mig.config=aliquot --overwrite";
        }
        context.out << '\n';
    }
    const bool combined = print_of_nodes(context, made, format == "aliquot");
    bool first = !combined;
    for (const plan::File& file : made.files) {
        if (!wanted(file) || (combined && !file.name.starts_with("mig-"))) continue;
        if (!first) context.out << "---\n";
        first = false;
        context.out << "# " << file.name << ": " << file.purpose << '\n' << file.text;
    }
}

void print_claims(Context& context, const plan::Plan& made) {
    const std::string text = plan::claim_templates(made);
    if (text.empty()) {
        return fail(context, kFindings, "nothing of the plan needs a GPU: " + made.recommendation);
    }
    context.out
        << "# For nodes whose agent runs with --dra. A pod names one by spec.resourceClaims: "
           "docs/guide/dra.md\n"
        << text;
}

void make(Context& context, const PlanOptions& words) {
    if (!words.undo.directory.empty()) return undo_plan(context, words.undo);
    const auto request = gather_request(words);
    if (!request) return fail(context, kUsage, request.error().message);
    const plan::Plan made = make_plan(*request);
    std::optional<plan::Plan> after;
    std::optional<plan::Request> changed;
    if (!words.what_if.empty()) {
        auto result = changed_request(*request, words.what_if);
        if (!result) return fail(context, kUsage, result.error().message);
        changed = *std::move(result);
        after = make_plan(*changed);
    }
    context.exit_code =
        made.unplaced.empty() && !made.never_schedulable && !made.node_too_small ? kOk : kFindings;
    for (const std::string& objection : made.objections) {
        fail(context, kCouldNotRun,
             "the plan cannot be written, aliquot-agent would refuse it: " + objection);
    }
    if (!words.write.empty()) write_plan(context, made, *request, words.write);
    if (!words.svg.empty()) write_svg(context, words.svg, plan::drawing(after ? *after : made));
    if (!prints_beside(words.svg)) return;
    if (words.format == "aliquot" || words.format == "nvidia") {
        if (context.exit_code == kFindings) {
            context.out << "# Not all of it has a place: " << made.recommendation << '\n';
        }
        print_files(context, made, words.format);
        return;
    }
    if (words.format == "dra") return print_claims(context, made);
    if (words.format == "text") {
        context.out << to_text(made, *request);
        if (after) {
            context.out << "\nWhat if " << words.what_if << ":\n" << to_text(*after, *changed);
        }
        return;
    }
    Value root = to_node(made, *request);
    if (after) append(root, "what_if", what_if_node(words.what_if, *after, *changed));
    print_answer(context.out, "SharingPlan", versioned(with_camel_case(root)), words.format);
}

void add_inputs(command_line::Command& command, PlanOptions& words) {
    command
        .add_option("--gpu", words.gpus, "A GPU model, with a count if there are several",
                    "MODEL (\"2x A2\")")
        ->complete_by("gpu-models");
    command
        .add_option("--node-type", words.node_types, "A cloud machine: all its GPUs",
                    "TYPE (g4dn.xlarge)")
        ->complete_by("machine-types");
    command.add_option(
        "--nodes", words.nodes_file,
        "Facts of nodes, or what kubectl get nodes -o json prints; - is the standard "
        "input",
        "FILE");
    command.add_option("--workloads", words.workloads_file,
                       "Workloads to run: a list of names with memory, duty, tenant, ...", "FILE");
    command.add_option("--from-manifests", words.manifests,
                       "Kubernetes manifests: plan for what requests a GPU in them", "PATH");
    command
        .add_option("--services", words.services,
                    "Plan for this many identical services on each GPU", "N")
        ->range(1U, 1000U);
    auto* const model =
        command.add_option("--model", words.model, "A neural network to run", "NAME (llama-3-8b)")
            ->complete_by("models");
    command
        .add_option("--quant", words.quant, "Number format of its weights",
                    "FORMAT (fp32, bf16, fp16, fp8, int8, int4, q4_k_m ...)")
        ->needs(model);
    command.add_option("--train", words.train, "Training instead of inference", "full|lora|qlora")
        ->one_of({"full", "lora", "qlora"})
        ->needs(model);
    command.add_option("--ctx", words.context, "Its context in tokens", "TOKENS (8192, 128k)")
        ->needs(model)
        ->range(1U, 100'000'000U)
        ->transform(sizing::token_count);
    command.add_option("--batch", words.batch, "Concurrent requests", "N")
        ->needs(model)
        ->range(1U, 1'000'000U);
}

void add_undo(command_line::Command& command, PlanOptions& words) {
    auto* const undo = command.add_option("--undo", words.undo.directory,
                                          "Undo what --write wrote there; makes no plan", "DIR");
    command
        .add_flag("--cluster", words.undo.on_cluster,
                  "With --undo: Deployments that the plan moved to a GPU go back as well")
        ->needs(undo);
    command.add_flag("--dry-run", words.undo.dry_run, "With --undo: only print what would be done")
        ->needs(undo);
    for (const char* const other :
         {"--gpu", "--node-type", "--nodes", "--workloads", "--from-manifests", "--services",
          "--model", "--what-if", "--write", "--svg", "--output"}) {
        undo->excludes(other);
    }
    add_cluster_flags(command, words.undo.cluster);
    add_namespace_flag(command, words.undo.cluster, "Namespace of the Deployments");
}

}  // namespace

void add_plan_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "plan",
        "Plan how to share GPUs: technique, sizes, files, and why not another way\n\n"
        "Without workloads the answer is about the card alone. Exit code 0: everything has a\n"
        "place; 1: more GPUs or another machine are needed; 2: input that cannot be read.");
    command->footer(
        "aliquot plan --gpu gtx-1070\n"
        "aliquot plan --gpu a2 --services 2 -o json\n"
        "aliquot plan --gpu \"2x a2\" --workloads services.yaml\n"
        "aliquot plan --gpu a2 --workloads services.yaml -o aliquot > sharing.yaml\n"
        "aliquot plan --node-type g4dn.xlarge --from-manifests k8s/\n"
        "aliquot plan --model llama-3-8b --quant int4 --ctx 8192 --batch 4\n"
        "aliquot plan --gpu a2 --workloads services.yaml --what-if add=3xwhisper\n"
        "aliquot plan --gpu a2 --workloads services.yaml --write plan/\n"
        "aliquot plan --gpu a2 --workloads services.yaml --svg plan.svg\n"
        "aliquot plan --undo plan/ --dry-run");
    auto words = std::make_shared<PlanOptions>();
    add_inputs(*command, *words);
    command
        ->add_option("--guard", words->guard,
                     "Whether limits of a share are enforced; off: plain time-slicing", "on|off")
        ->one_of({"on", "off"});
    command->add_flag("--no-reboot", words->no_reboot,
                      "Avoid anything that drains a node or resets a GPU");
    command
        ->add_option("--usd-per-kwh", words->usd_per_kwh,
                     "Price of energy, for hardware of your own", "USD")
        ->range(0.0, 100.0);
    command->add_option("--what-if", words->what_if, "Plan again with more of a workload",
                        "add=NxNAME");
    command->add_option("--write", words->write, "Write all files of the plan to a directory",
                        "DIR");
    add_svg_flag(*command, words->svg, "the GPUs and their shares as a picture");
    add_output(*command, words->format, {"text"}, {"aliquot", "nvidia", "dra"},
               "Output format; aliquot, nvidia: the configuration itself; dra: "
               "ResourceClaimTemplates for its pods");
    add_undo(*command, *words);
    command->callback([words, &context] { make(context, *words); });
}

}  // namespace aliquot::cli
