// SPDX-License-Identifier: Apache-2.0
// What the commands below aliquot gate have in common: their options, and the quarantine of a node.
#include <filesystem>
#include <ostream>

#include "base/sentence.h"
#include "cli/host/gate_command.h"
#include "command_line/command.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/memory_amount.h"
#include "kube_client/event_recorder.h"

namespace aliquot::cli {
namespace {

constexpr const char* kGateTaint = "aliquot.dev/gpu-gate";

/// A driver tells pids of the host: in another pid namespace they are other programs.
bool sees_host_pids() {
    constexpr std::string_view kInitial = "pid:[4026531836]";
    std::error_code problem;
    return std::filesystem::read_symlink("/proc/self/ns/pid", problem) == kInitial;
}

/// Adds our taint or takes it away. The API server keeps taints as one list, so the others are written again as they were
/// read, unless somebody has changed the node meanwhile: then it is read anew.
bool set_taint(Context& context, const kube_client::Connection& connection,
               const GateOptions& words, bool is_wanted) {
    constexpr int kTries = 5;
    const kube_client::ObjectKey key{"", words.quarantine};
    for (int i = 0; i < kTries; ++i) {
        const auto node =
            connection.api->get(kube_client::resources::nodes(), key, call_of(words.cluster));
        if (!node) return fail(context, node.failure()), false;
        const auto read = document::parse_json(node->json);
        if (!read) return fail(context, kCouldNotRun, read.error().message), false;
        document::Value taints = document::make_sequence();
        bool is_there = false;
        for (const document::Value& one : document::items_at(*read, {"spec", "taints"})) {
            const bool ours = document::text_at(one, {"key"}) == kGateTaint;
            is_there = is_there || ours;
            if (!ours) taints.items.push_back(one);
        }
        if (is_there == is_wanted) return true;
        if (is_wanted) {
            taints.items.push_back(document::make_mapping(
                {{"key", kGateTaint}, {"value", "dirty"}, {"effect", "NoSchedule"}}));
        }
        const auto patched = connection.api->patch(
            kube_client::resources::nodes(), key,
            document::to_json_line(document::make_mapping(
                {{"metadata",
                  document::make_mapping({{"resourceVersion", node->resource_version}})},
                 {"spec", document::make_mapping({{"taints", taints}})}})),
            {.write = {.call = call_of(words.cluster)}});
        if (patched) return true;
        if (!patched.failure().is(kube_client::Reason::kConflict)) {
            return fail(context, patched.failure()), false;
        }
    }
    fail(context, kCouldNotRun, "node " + words.quarantine + " changes all the time; try again");
    return false;
}

}  // namespace

std::optional<gate::RunOptions> run_options(Context& context, const GateOptions& words) {
    if (words.end_orphans && words.driver.node_state.empty() && !sees_host_pids()) {
        fail(context, kCouldNotRun,
             "--end-orphans: the processes of the host are not seen from here; run it on the host, "
             "or "
             "in a pod with hostPID: true");
        return std::nullopt;
    }
    const auto memory = k8s::parse_bytes(words.memory);
    if (!memory) {
        fail(context, kUsage, "--memory: " + memory.error().message);
        return std::nullopt;
    }
    return gate::RunOptions{
        .rules = {.memory_bytes = *memory},
        .orphans = words.end_orphans ? gate::Orphans::kEnd : gate::Orphans::kLeave,
        .settle = std::chrono::milliseconds(words.settle_ms)};
}

void add_gate_options(command_line::Command& options, GateOptions& words) {
    command_line::Command* const command = &options;
    command->add_option("--memory", words.memory, "GPU memory in use that is not a leftover",
                        "AMOUNT (200Mi)");
    command
        ->add_option("--settle", words.settle_ms, "How long memory may take to be freed",
                     "MS (2000)")
        ->range(0U, 60'000U);
    command->add_flag("--end-orphans", words.end_orphans,
                      "End processes that are left on the GPUs: SIGTERM, after a second SIGKILL");
    command->add_option("--quarantine", words.quarantine,
                        "Taint this node and write an Event when something is left over", "NODE");
}

bool quarantine(Context& context, const GateOptions& words,
                const std::vector<gate::Leftover>& leftovers) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return false;
    if (!set_taint(context, *connection, words, true)) return false;
    constexpr std::size_t kNoteBytes = 900;
    const std::string note = listed(leftovers, &gate::Leftover::message, "; ") +
                             "; when it is clean again: kubectl taint node " + words.quarantine +
                             " " + kGateTaint + "-";
    kube_client::EventRecorder events(
        *connection->api, {.controller = "aliquot.dev/gate", .instance = words.quarantine});
    events.record({.regarding = {.api_version = "v1", .kind = "Node", .name = words.quarantine},
                   .warning = true,
                   .reason = "GpuNotClean",
                   .action = "Quarantine",
                   .note = one_line(note, kNoteBytes)});
    (void)events.flush(std::chrono::seconds(5));
    context.err << "aliquot: node " << words.quarantine << " is tainted " << kGateTaint
                << "=dirty:NoSchedule\n";
    return true;
}

bool end_quarantine(Context& context, const GateOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return false;
    if (!set_taint(context, *connection, words, false)) return false;
    context.err << "aliquot: node " << words.quarantine << " is clean again\n";
    return true;
}

}  // namespace aliquot::cli
