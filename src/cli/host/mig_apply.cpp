// SPDX-License-Identifier: Apache-2.0
// aliquot mig apply.
#include <ostream>

#include "cli/answer.h"
#include "cli/host/mig_command.h"
#include "document/build.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::only_if;
using document::Value;

Value report_node(const mig::ApplyReport& report) {
    Value gpus = make_sequence(report.gpus, [&](const mig::GpuReport& gpu) {
        return make_mapping(
            {{"index", gpu.index},
             {"uuid", gpu.gpu.text},
             {"state", to_text(gpu.state)},
             {"migEnabled", gpu.enabled},
             {"modeChanges", gpu.mode_changes},
             {"steps", to_node(gpu.steps)},
             {"layout", to_node(gpu.layout)},
             {"refused", gpu.refusal ? to_node(*gpu.refusal) : only_if(false, Value{})},
             {"message", only_if(!gpu.message.empty(), gpu.message)}});
    });
    return make_mapping({{"reached", report.reached},
                         {"problem", only_if(!report.problem.empty(), report.problem)},
                         {"recovered", only_if(!report.recovered.empty(), report.recovered)},
                         {"gpus", std::move(gpus)}});
}

void print_report(std::ostream& out, const mig::ApplyReport& report) {
    if (!report.recovered.empty()) {
        out << "brought an earlier change to its end: " << report.recovered << '\n';
    }
    for (const mig::GpuReport& gpu : report.gpus) {
        out << "GPU " << gpu.index << ": " << to_text(gpu.state);
        if (gpu.state == mig::GpuReport::State::kRefused && gpu.refusal) {
            out << '\n';
            print_refusal(out, *gpu.refusal);
            continue;
        }
        if (gpu.state == mig::GpuReport::State::kPlanned && gpu.mode_changes) {
            out << ", MIG mode to be turned " << (gpu.enabled ? "on" : "off");
        }
        if (gpu.enabled) out << ": " << layout_text(gpu.layout);
        if (!gpu.enabled) out << ": MIG off";
        if (!gpu.message.empty()) out << "; " << gpu.message;
        out << '\n';
        if (gpu.state == mig::GpuReport::State::kPlanned) print_steps(out, gpu.steps);
    }
}

mig::ApplyOptions options_of(Context& context, const MigOptions& words, const MigNode& node) {
    mig::ApplyOptions options{.limit = std::chrono::seconds(words.limit_s),
                              .dry_run = words.dry_run,
                              .leave_busy = words.leave_busy,
                              .allow_reset = !words.no_reset,
                              .held = node.held};
    if (context.err_is_terminal) {
        options.progress = [&context](unsigned index, std::string_view what) {
            context.err << "GPU " << index << ": " << what << '\n';
        };
    }
    return options;
}

}  // namespace

void mig_apply(Context& context, const MigOptions& words) {
    auto node = open_mig_node(words);
    if (!node) return fail(context, kCouldNotRun, node.error().message);
    if (!node->remark.empty()) {
        return fail(context, kCouldNotRun,
                    node->remark +
                        "; nothing was changed (with --pod-resources-socket none only running "
                        "processes count as busy)");
    }
    std::vector<mig::GpuSpec> specs;
    if (!words.restore) {
        auto desired = specs_of(context, words, *node);
        if (!desired) return;
        specs = std::move(*desired);
        if (specs.empty()) {
            return fail(context, kFindings, "the configuration is for no GPU of this node");
        }
    } else if (!words.file.empty() || !words.want.empty()) {
        return fail(context, kUsage, "--restore goes back to what was applied last: no --want");
    }
    os::SystemClock clock;
    const auto state = mig::StateDirectory::open(*node->root, words.state,
                                                 std::chrono::seconds(words.wait_s), clock);
    if (!state) return fail(context, kCouldNotRun, state.error().message);
    const mig::ApplyOptions options = options_of(context, words, *node);
    const auto report = words.restore
                            ? mig::restore(*node->partitioner, *state, options, clock)
                            : mig::apply(*node->partitioner, *state, specs, options, clock);
    if (!report) return fail(context, kCouldNotRun, report.error().message);
    if (words.format == "table") {
        print_report(context.out, *report);
    } else {
        print_answer(context.out, "MigReport", report_node(*report), words.format);
    }
    if (report->reached) return;
    context.exit_code = kFindings;
    if (!report->problem.empty()) context.err << "aliquot: " << report->problem << '\n';
}

}  // namespace aliquot::cli
