// SPDX-License-Identifier: Apache-2.0
#include "cmd/aliquot/placement_handover.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>

#include "cli/cluster/explain_pod.h"
#include "command_line/command.h"

namespace aliquot {

std::optional<int> hand_over(int argc, char** argv) {
    int at = 1;  // of the first word that is no option of the whole program
    while (at < argc && std::string_view(argv[at]).starts_with("--color")) {
        at += std::string_view(argv[at]) == "--color" ? 2 : 1;
    }
    const std::string_view word = at < argc ? argv[at] : "";
    const std::string_view next = at + 1 < argc ? argv[at + 1] : "";
    // `explain pod` asks a cluster, and is of this program.
    const bool places = word == "simulate" || (word == "explain" && next == "placement");
    if (!places && (word != "sim" || next != "cluster")) return std::nullopt;
    const std::string name = places ? "aliquot-placement" : "aliquot-fleet";
    std::error_code ignored;
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name;
    ::execv(program.c_str(), argv);
    std::cerr << "aliquot: " << program.native() << ": "
              << std::error_code(errno, std::generic_category()).message() << ": it "
              << (places ? "replays placements" : "simulates clusters") << "; build the target "
              << name << " and put it beside aliquot\n";
    return cli::kCouldNotRun;
}

void list_simulate_command(command_line::Command& program, cli::Context& /*context*/) {
    constexpr const char* kExample =
        "aliquot simulate placement --nodes nodes.csv --pods pods.csv --compare aliquot,fgd";
    command_line::Command* const simulate =
        program.add_subcommand("simulate", "Replay a cluster's trace: what would be placed where");
    simulate->footer(kExample);
    simulate->add_subcommand("placement", "Replay arrivals of tasks on a cluster")
        ->footer(kExample);
}

void list_explain_command(command_line::Command& program, cli::Context& context) {
    command_line::Command* const explain = program.add_subcommand(
        "explain", "Explain why a pod or a simulated task was placed where it was, or not at all");
    explain->require_subcommand(1);
    explain->footer(
        "aliquot explain pod train-0 -n research\n"
        "aliquot explain placement --nodes nodes.csv --pods pods.csv --pod trainer-3");
    cli::add_explain_pod(*explain, context);
    explain
        ->add_subcommand("placement",
                         "Explain one decision of a simulation: the place and the next best ones")
        ->footer("aliquot explain placement --nodes nodes.csv --pods pods.csv --pod trainer-3");
}

}  // namespace aliquot
