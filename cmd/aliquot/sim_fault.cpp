// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <ostream>

#include "base/number.h"
#include "cmd/aliquot/sim_command.h"
#include "command_line/command.h"

namespace aliquot::sim {
namespace {

enum class Value : std::uint8_t { kNone, kOptional, kNeeded };

struct Word {
    std::string_view name;
    FaultKind kind;
    Value value;
    std::uint64_t otherwise;  // when the value is left out
    std::string_view unit;
};

constexpr std::uint64_t kHardwareThermalSlowdown = 0x40;

constexpr Word kWords[] = {
    {"xid", FaultKind::kXid, Value::kNeeded, 0, "the Xid number"},
    {"lost", FaultKind::kLost, Value::kNone, 0, ""},
    {"call-error", FaultKind::kCallError, Value::kNeeded, 0, "the NVML error number"},
    {"hang", FaultKind::kHang, Value::kOptional, 0, "milliseconds"},
    {"ecc", FaultKind::kEccUncorrected, Value::kOptional, 1, "the number of errors"},
    {"throttle", FaultKind::kThrottle, Value::kOptional, kHardwareThermalSlowdown,
     "the bits of NVML's clocks event reasons"},
    {"temperature", FaultKind::kTemperature, Value::kNeeded, 0, "degrees Celsius"},
    {"link-width", FaultKind::kLinkWidth, Value::kNeeded, 0, "PCIe lanes"},
    {"remap-pending", FaultKind::kRemapPending, Value::kNone, 0, ""},
    {"remap-failed", FaultKind::kRemapFailed, Value::kNone, 0, ""},
    {"retire-pending", FaultKind::kRetirePending, Value::kNone, 0, ""},
    {"driver-mismatch", FaultKind::kDriverMismatch, Value::kNone, 0, ""},
    {"clear", FaultKind::kClear, Value::kNone, 0, ""},
};

std::optional<std::uint64_t> decimal_or_hex(std::string_view text) {
    return text.starts_with("0x") ? parse_number<std::uint64_t>(text.substr(2), 16)
                                  : parse_number<std::uint64_t>(text);
}

Error usage(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

struct FaultOptions {
    std::string word;
    std::optional<std::string> value;
    std::optional<std::string> gpu;
    std::optional<std::string> mig;
    bool corrected = false;
    std::string state;
};

/// Which GPUs --gpu means. Left out it is the only one.
Result<std::vector<unsigned>> chosen_gpus(const std::optional<std::string>& option,
                                          std::size_t count) {
    if (!option && count == 1) return std::vector<unsigned>{0};
    if (!option) {
        return usage("the node has " + std::to_string(count) +
                     " GPUs: say which with --gpu INDEX or --gpu all");
    }
    std::vector<unsigned> chosen;
    if (*option == "all") {
        for (unsigned i = 0; i < count; ++i) chosen.push_back(i);
        return chosen;
    }
    const auto number = decimal_or_hex(*option);
    if (!number || *number >= count) {
        return usage("--gpu " + *option + ": expected " +
                     (count == 0 ? std::string("a node that has GPUs")
                                 : "0 to " + std::to_string(count - 1) + ", or all"));
    }
    chosen.push_back(static_cast<unsigned>(*number));
    return chosen;
}

void run_mig_fault(const FaultOptions& options, const FaultWords& fault, Node& node,
                   cli::Context& context) {
    if (fault.kind != FaultKind::kXid) {
        return fail_with(context, usage("--mig belongs to 'xid' only: other faults are about the "
                                        "whole GPU"));
    }
    std::optional<unsigned> gpu;
    if (options.gpu) {
        const auto chosen = chosen_gpus(options.gpu, node.gpus().size());
        if (!chosen) return fail_with(context, chosen.error());
        gpu = chosen->front();
    }
    const auto place = find_mig_device(node.gpus(), *options.mig, gpu);
    if (!place) return fail_with(context, place.error());
    const auto done = node.inject(place->gpu.index, fault.kind, fault.value, place->instance());
    if (!done) return fail_with(context, done.error());
    const auto now = node.gpus()[place->gpu.index].fault;
    context.out << "GPU " << place->gpu.index << ": " << (now.empty() ? "ok" : now) << "\n";
}

void run_fault(const FaultOptions& options, cli::Context& context) {
    const auto fault = parse_fault(options.word, options.value, options.corrected);
    if (!fault) return fail_with(context, fault.error());
    auto node = open_node(state_directory(options.state));
    if (!node) return fail_with(context, node.error());
    if (options.mig) return run_mig_fault(options, *fault, *node, context);
    // The whole node has this one, so it matters not to which GPU it is told.
    const bool of_node = fault->kind == FaultKind::kDriverMismatch && !options.gpu;
    const auto chosen =
        chosen_gpus(of_node ? std::optional<std::string>("0") : options.gpu, node->gpus().size());
    if (!chosen) return fail_with(context, chosen.error());
    for (const unsigned gpu : *chosen) {
        if (const auto done = node->inject(gpu, fault->kind, fault->value); !done) {
            return fail_with(context, done.error());
        }
    }
    const auto gpus = node->gpus();
    for (const unsigned gpu : *chosen) {
        context.out << "GPU " << gpu << ": " << (gpus[gpu].fault.empty() ? "ok" : gpus[gpu].fault)
                    << "\n";
    }
}

}  // namespace

Result<FaultWords> parse_fault(const std::string& word, const std::optional<std::string>& value,
                               bool corrected) {
    const Word* known = nullptr;
    std::string all;
    for (const Word& candidate : kWords) {
        if (candidate.name == word) known = &candidate;
        all += (all.empty() ? "" : ", ") + std::string(candidate.name);
    }
    if (known == nullptr) return usage("'" + word + "' is not a fault; known faults: " + all);
    if (corrected && known->kind != FaultKind::kEccUncorrected) {
        return usage("--corrected belongs to 'ecc' only");
    }
    FaultWords fault{.kind = corrected ? FaultKind::kEccCorrected : known->kind,
                     .value = known->otherwise};
    if (!value) {
        if (known->value != Value::kNeeded) return fault;
        return usage("'" + word + "' needs a value: " + std::string(known->unit));
    }
    if (known->value == Value::kNone)
        return usage("'" + word + "' takes no value, but got '" + *value + "'");
    const auto number = decimal_or_hex(*value);
    if (!number) {
        return usage("'" + word + " " + *value + "': expected a number, " +
                     std::string(known->unit));
    }
    fault.value = *number;
    return fault;
}

void add_sim_fault(command_line::Command& sim, cli::Context& context) {
    auto* const command =
        sim.add_subcommand("fault", "Inject a fault into a GPU of the node, or clear it");
    command->footer(
        "aliquot sim fault xid 79 --gpu 1 --state /tmp/node\n"
        "aliquot sim fault temperature 95 --gpu all\n"
        "aliquot sim fault clear --gpu all");
    const auto options = std::make_shared<FaultOptions>();
    command
        ->add_option(
            "fault", options->word,
            "Fault: xid N, lost, call-error N, hang [MS], ecc [N], throttle [BITS], "
            "temperature C, link-width LANES, remap-pending, remap-failed, retire-pending, "
            "driver-mismatch, clear")
        ->required()
        ->type_name("FAULT");
    command->add_option("value", options->value, "Number that goes with the fault")
        ->type_name("VALUE");
    command->add_option("--gpu", options->gpu, "Index of the GPU, or all")->type_name("INDEX");
    command
        ->add_option("--mig", options->mig,
                     "With xid: the MIG device that it is about: its uuid, or GPU:DEVICE by index")
        ->type_name("DEVICE");
    command->add_flag("--corrected", options->corrected, "With ecc: errors that ECC could correct");
    command->add_option("--state", options->state, "Directory of the node")->type_name("DIR");
    command->callback([options, &context] { run_fault(*options, context); });
}

}  // namespace aliquot::sim
