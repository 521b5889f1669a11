// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <span>

#include "base/number.h"
#include "base/sentence.h"
#include "base/units.h"
#include "catalog/version.h"
#include "cli/answer.h"
#include "cli/files/config_command.h"
#include "cli/files/size_command.h"
#include "command_line/command.h"
#include "document/build.h"
#include "k8s/memory_amount.h"
#include "sizing/floor.h"
#include "sizing/instance.h"
#include "sizing/measured.h"
#include "sizing/text.h"

namespace aliquot::cli {
namespace {

using document::append;
using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::make_string;
using document::or_null;
using document::Value;

// instance ------------------------------------------------------------------------------------

struct InstanceOptions {
    std::string cpu = "0";
    std::string memory;
    std::string gpu;
    unsigned count = 1;
    std::string gpu_memory;
    std::string cloud;
    std::string type;
    std::string daemon_cpu = "100m";
    std::string daemon_memory = "256Mi";
    std::string format = "text";
};

Result<double> cores_of(const std::string& option, const std::string& word) {
    const bool milli = word.ends_with('m');
    const auto value = parse_number<double>(std::string_view(word).substr(0, word.size() - milli));
    constexpr double kMost = 1e6;
    if (!value || *value < 0 || *value > kMost) {
        return Error{ErrorCode::kInvalidInput,
                     option + ": '" + word + "' found, cores such as 4 or 4000m are expected"};
    }
    constexpr double kMilli = 1000;
    return milli ? *value / kMilli : *value;
}

Result<double> mib_of(const std::string& option, const std::string& word) {
    if (word.empty()) return 0.0;
    const auto bytes = k8s::parse_bytes(word);
    if (!bytes) return Error(bytes.error()).during(option);
    return static_cast<double>(*bytes) / kBytesPerMib;
}

Value reasons_node(const std::vector<sizing::Shortfall>& reasons) {
    return make_sequence(reasons, [&](const sizing::Shortfall& reason) {
        return make_mapping(
            {{"resource", reason.resource}, {"needed", reason.needed}, {"best", reason.available}});
    });
}

Value fitting_node(const sizing::FittingInstance& one) {
    const catalog::GpuInstance& instance = *one.instance;
    return make_mapping({{"type", instance.type},
                         {"cloud", instance.cloud},
                         {"gpu", instance.model->key},
                         {"gpu_count", instance.gpu_count},
                         {"allocatable_cpu", make_number(one.allocatable.cpu, 3)},
                         {"allocatable_memory_mib", make_number(one.allocatable.memory_mib, 0)},
                         {"allocatable_estimated", one.allocatable.estimated},
                         {"usd_per_hour", instance.usd_per_hour},
                         {"price_date", instance.price_date}});
}

Value answer_of(const sizing::InstanceChoice& choice) {
    constexpr std::size_t kMost = 3;
    Value root = make_mapping({{"schedulable", !choice.fitting.empty()}});
    const std::span fitting(choice.fitting.data(), std::min(kMost, choice.fitting.size()));
    append(root, "instance",
           fitting.empty() ? Value{} : make_string(std::string(fitting.front().instance->type)));
    append(root, "fitting", make_sequence(fitting, fitting_node));
    append(root, "too_small", make_sequence(choice.cheaper, [&](const auto& one) {
               return make_mapping({{"type", one.instance->type},
                                    {"usd_per_hour", one.instance->usd_per_hour},
                                    {"short_of", reasons_node(one.reasons)}});
           }));
    append(root, "never", reasons_node(choice.never));
    return root;
}

void print_text(Context& context, const sizing::InstanceChoice& choice) {
    constexpr std::size_t kMost = 3;
    auto& out = context.out;
    if (choice.fitting.empty())
        out << "never schedulable: no machine of the table takes this pod\n";
    for (const auto& reason : choice.never) {
        out << "  " << reason.resource << ": " << reason.needed << " needed, best "
            << reason.available << '\n';
    }
    for (std::size_t i = 0; i < std::min(kMost, choice.fitting.size()); ++i) {
        const auto& one = choice.fitting[i];
        out << (i == 0 ? "" : "  or ") << one.instance->type << " (" << one.instance->gpu_count
            << " x " << one.instance->model->key << "), $"
            << sizing::money_text(one.instance->usd_per_hour) << "/h, "
            << decimal_text(one.allocatable.cpu, 3) << " cores and "
            << decimal_text(one.allocatable.memory_mib, 0) << " MiB for pods"
            << (one.allocatable.estimated ? " (estimated)" : "") << '\n';
    }
    for (const auto& one : choice.cheaper) {
        out << "  not " << one.instance->type << ":";
        for (const auto& reason : one.reasons) {
            out << (&reason == &one.reasons.front() ? " " : "; ") << reason.resource << ' '
                << reason.needed << " needed, " << reason.available;
        }
        out << '\n';
    }
}

void choose(Context& context, const InstanceOptions& words) {
    const auto cpu = cores_of("--cpu", words.cpu);
    const auto memory = mib_of("--memory", words.memory);
    const auto gpu_memory = mib_of("--gpu-memory", words.gpu_memory);
    const auto daemon_cpu = cores_of("--daemon-cpu", words.daemon_cpu);
    const auto daemon_memory = mib_of("--daemon-memory", words.daemon_memory);
    for (const auto* const value : {&cpu, &memory, &gpu_memory, &daemon_cpu, &daemon_memory}) {
        if (*value) continue;
        return fail(context, kUsage, value->error().message);
    }
    sizing::PodNeed need;
    need.cpu = *cpu;
    need.memory_mib = *memory;
    need.gpus = words.count;
    need.gpu = words.gpu;
    need.gpu_memory_mib = *gpu_memory;
    const auto choice =
        choose_instance(need, {*daemon_cpu, *daemon_memory}, words.cloud, words.type);
    if (!choice) return fail(context, kUsage, choice.error().message);
    context.exit_code = choice->fitting.empty() ? kFindings : kOk;
    if (words.format == "text") {
        print_text(context, *choice);
    } else {
        print_answer(context.out, "InstanceChoice", versioned(with_camel_case(answer_of(*choice))),
                     words.format);
    }
}

// node ----------------------------------------------------------------------------------------

struct NodeCheckOptions {
    std::string type;
    std::string profile = "training";
    sizing::NodeFacts facts;
    std::string format = "text";
};

void check_node(Context& context, const NodeCheckOptions& words) {
    sizing::NodeFacts facts = words.facts;
    if (!words.type.empty()) {
        const catalog::GpuInstance* const instance = catalog::find_gpu_instance(words.type);
        if (instance == nullptr) {
            const auto near = catalog::nearest_gpu_instance(words.type);
            return fail(
                context, kUsage,
                "machine type '" + words.type + "' is not in the table" + did_you_mean(near));
        }
        const sizing::NodeFacts known = sizing::facts_of(*instance);
        if (facts.gpu.empty()) facts.gpu = known.gpu;
        if (facts.cpu == 0) facts.cpu = known.cpu;
        if (facts.memory_gib == 0) facts.memory_gib = known.memory_gib;
        facts.gpus = known.gpus;
    }
    if (words.type.empty() && facts.gpu.empty() && facts.cpu == 0 && facts.memory_gib == 0 &&
        facts.driver.empty() && facts.kubernetes.empty()) {
        return fail(context, kUsage,
                    "which node? A machine type such as g4dn.xlarge is expected, or what the node "
                    "has: --gpu, --cpu, --memory, --driver, --kubernetes");
    }
    const auto checks = check_floor(facts, *sizing::find_node_floor(words.profile));
    const bool failed = std::ranges::any_of(checks, [](const sizing::FloorCheck& check) {
        return check.verdict == sizing::Verdict::kFail;
    });
    context.exit_code = failed ? kFindings : kOk;
    if (words.format != "text") {
        const auto check_node = [](const sizing::FloorCheck& check) {
            return make_mapping({{"name", check.name},
                                 {"result", to_text(check.verdict)},
                                 {"found", check.found},
                                 {"expected", check.expected}});
        };
        return print_answer(
            context.out, "NodeCheck",
            versioned(make_mapping({{"node", words.type},
                                    {"profile", words.profile},
                                    {"success", !failed},
                                    {"checks", make_sequence(checks, check_node)}})),
            words.format);
    }
    for (const sizing::FloorCheck& check : checks) {
        context.out << to_text(check.verdict) << "  " << check.name << ": "
                    << (check.found.empty() ? "not known" : check.found) << "; " << check.expected
                    << " is expected\n";
    }
}

// measured ------------------------------------------------------------------------------------

struct MeasuredOptions {
    std::string file;
    unsigned runs = 3;
    std::string format = "text";
};

Value right_size_node(const sizing::RightSize& size) {
    Value node = make_mapping({{"workload", size.workload},
                               {"instance", size.instance},
                               {"runs", size.runs},
                               {"direction", to_text(size.direction)},
                               {"to", or_null(!size.to.empty(), size.to)},
                               {"usd_per_month_saved", make_number(size.usd_per_month_saved, 2)}});
    append(node, "reasons", size.reasons);
    return node;
}

void right_size_runs(Context& context, const MeasuredOptions& words) {
    const auto input = read_input(words.file);
    if (!input) return fail(context, kUsage, input.error().message);
    const auto runs = sizing::read_runs(input->name, input->text);
    if (!runs) return fail(context, kUsage, runs.error().message);
    const auto sizes = right_size(*runs, words.runs);
    if (!sizes) return fail(context, kUsage, input->name + ": " + sizes.error().message);
    if (words.format != "text") {
        Value root = make_mapping({{"workloads", make_sequence(*sizes, right_size_node)}});
        print_answer(context.out, "RightSizeList", versioned(with_camel_case(root)), words.format);
        return;
    }
    for (const auto& size : *sizes) {
        context.out << size.workload << ": " << to_text(size.direction) << ", " << size.instance;
        if (!size.to.empty()) {
            context.out << " -> " << size.to << ", "
                        << (size.usd_per_month_saved >= 0 ? "saves $" : "costs $")
                        << sizing::money_text(std::abs(size.usd_per_month_saved))
                        << (size.usd_per_month_saved >= 0 ? " a month" : " a month more");
        }
        context.out << '\n';
        for (const std::string& reason : size.reasons) context.out << "  " << reason << '\n';
    }
}

}  // namespace

void add_size_instance(command_line::Command& size, Context& context) {
    command_line::Command* command = size.add_subcommand(
        "instance",
        "Find the machine that fits a pod, by its allocatable resources and not by its name\n\n"
        "Exit code 1: the pod can never be scheduled.");
    command->footer(
        "aliquot size instance --cpu 4 --memory 16Gi --gpu t4\n"
        "aliquot size instance --cpu 48 --memory 64Gi --gpu t4 --count 4 --type g4dn.12xlarge\n"
        "aliquot size instance --cpu 8 --memory 32Gi --gpu-memory 40Gi --cloud aws -o json");
    auto words = std::make_shared<InstanceOptions>();
    command->add_option("--cpu", words->cpu, "CPU request of the pod", "CORES");
    command->add_option("--memory", words->memory, "Memory request of the pod", "AMOUNT (16Gi)");
    command->add_option("--gpu", words->gpu, "GPU model; default: any", "MODEL")
        ->complete_by("gpu-models");
    command->add_option("--count", words->count, "GPUs of the pod", "N")->range(1U, 64U);
    command->add_option("--gpu-memory", words->gpu_memory, "Memory that each GPU must have",
                        "AMOUNT (40Gi)");
    command->add_option("--cloud", words->cloud, "Only this cloud", "aws|azure|gcp")
        ->one_of({"aws", "azure", "gcp"});
    command->add_option("--type", words->type, "Only this machine type", "TYPE")
        ->complete_by("machine-types");
    command->add_option("--daemon-cpu", words->daemon_cpu, "CPU that DaemonSets take on every node",
                        "CORES");
    command->add_option("--daemon-memory", words->daemon_memory,
                        "Memory that DaemonSets take on every node", "AMOUNT");
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { choose(context, *words); });
}

void add_size_node(command_line::Command& size, Context& context) {
    command_line::Command* command =
        size.add_subcommand("node",
                            "Check a GPU node against the minimum for a kind of workload\n\n"
                            "Exit code 1: something is below the minimum.");
    command->footer(
        "aliquot size node g4dn.xlarge\n"
        "aliquot size node p3.2xlarge --driver 535.183.01 --kubernetes 1.30\n"
        "aliquot size node --gpu a100 --cpu 32 --memory 128 --gpus 4 --profile vision");
    auto words = std::make_shared<NodeCheckOptions>();
    command->add_option("TYPE", words->type, "A cloud machine")->complete_by("machine-types");
    command->add_option("--profile", words->profile, "Kind of workload", "training|vision")
        ->one_of({"training", "vision"});
    command->add_option("--gpu", words->facts.gpu, "GPU model", "MODEL")->complete_by("gpu-models");
    command->add_option("--gpus", words->facts.gpus, "GPUs of the node", "N")->range(1U, 64U);
    command->add_option("--cpu", words->facts.cpu, "CPU cores", "CORES")->range(0.0, 1e5);
    command->add_option("--memory", words->facts.memory_gib, "Memory in GiB", "GIB")
        ->range(0.0, 1e6);
    const auto version = [](const std::string& value) {
        return catalog::parse_version(value) ? std::string()
                                             : "'" + value + "' is not a version such as 535.183";
    };
    command->add_option("--driver", words->facts.driver, "Driver version", "VERSION")
        ->check(version);
    command->add_option("--kubernetes", words->facts.kubernetes, "Kubernetes version", "VERSION")
        ->check(version);
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { check_node(context, *words); });
}

void add_size_measured(command_line::Command& size, Context& context) {
    command_line::Command* command = size.add_subcommand(
        "measured",
        "Find the smallest machine that is enough, from measurements on the current one");
    command->footer(
        "aliquot size measured runs.yaml\n"
        "aliquot size measured --runs 5 -o json runs.yaml");
    auto words = std::make_shared<MeasuredOptions>();
    command
        ->add_option("FILE", words->file,
                     "A list of runs: workload, instance and peaks; - is the standard input")
        ->required();
    command
        ->add_option("--runs", words->runs,
                     "Number of runs needed before a smaller machine is suggested", "N")
        ->range(1U, 10000U);
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { right_size_runs(context, *words); });
}

}  // namespace aliquot::cli
