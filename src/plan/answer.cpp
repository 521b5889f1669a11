// SPDX-License-Identifier: Apache-2.0
#include "document/json.h"
#include "document/write.h"
#include "plan/plan.h"

namespace aliquot::plan {
namespace {

using document::append;
using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::only_if;
using document::or_null;
using document::Value;

Value share_node(const Share& share) {
    const bool mig = !share.profile.empty();
    return make_mapping({{"workload", share.workload},
                         {"replica", share.replica},
                         {"mode", to_text(share.mode)},
                         {"pool", share.pool},
                         {"gpu", or_null(share.gpu >= 0, share.gpu)},
                         {"memory_mib", make_number(share.memory_mib, 0)},
                         {"needs_mib", make_number(share.need_mib, 0)},
                         {"headroom_mib", make_number(share.headroom_mib, 0)},
                         {"compute_percent", share.compute_percent},
                         {"resource", share.resource},
                         {"mig_profile", only_if(mig, share.profile)},
                         {"mig_start", only_if(mig, share.slot)},
                         {"risk", share.risk}});
}

Value numbers_node(const Numbers& numbers) {
    const auto money = [](const std::optional<double>& usd) {
        return usd ? make_number(*usd, 2) : Value{};
    };
    return make_mapping({{"gpus", numbers.gpus},
                         {"gpus_used", numbers.gpus_used},
                         {"gpus_if_exclusive", numbers.gpus_exclusive},
                         {"gpus_saved", numbers.gpus_saved},
                         {"packing_efficiency_percent", make_number(numbers.packing_percent, 1)},
                         {"memory_slack_mib", make_number(numbers.slack_mib, 0)},
                         {"worst_case_out_of_memory", numbers.worst_case},
                         {"usd_per_month_before", money(numbers.usd_per_month_before)},
                         {"usd_per_month_after", money(numbers.usd_per_month_after)},
                         {"price_source", numbers.price_source},
                         {"kwh_per_month_at_full_power", make_number(numbers.kwh_per_month, 1)},
                         {"disruption", numbers.disruption}});
}

Value speed_node(const Speed& speed) {
    return make_mapping(
        {{"workload", speed.workload},
         {"work", speed.work},
         {"cpu", speed.cpu},
         {"gpu", speed.gpu},
         {"speedup_alone", or_null(speed.alone > 0, make_number(speed.alone, 2))},
         {"speedup_all_busy", or_null(speed.alone > 0, make_number(speed.all_busy, 2))},
         {"sharers", speed.sharers},
         {"part_of_gpu_when_busy", make_number(speed.part_of_gpu, 2)},
         {"formula", speed.formula},
         {"verdict", speed.verdict}});
}

Value step_node(const Step& step) {
    return make_mapping({{"title", step.title},
                         {"commands", step.commands},
                         {"check", step.check},
                         {"rollback", step.rollback}});
}

void append_lists(Value& root, const Plan& plan) {
    append(root, "reasons", make_sequence(plan.reasons, [&](const Reason& reason) {
               return make_mapping({{"rule", reason.rule}, {"reason", reason.text}});
           }));
    append(root, "workloads", make_sequence(plan.shares, share_node));
    append(root, "unplaced", plan.unplaced);
    append(root, "gpus_missing", plan.gpus_missing);
    append(root, "node_too_small", plan.node_too_small);
    append(root, "never_schedulable", plan.never_schedulable);
    append(root, "rejected", make_sequence(plan.rejected, [&](const Rejected& one) {
               return make_mapping({{"rule", one.rule},
                                    {"mode", one.mode},
                                    {"workload", one.subject},
                                    {"reason", one.reason}});
           }));
    append(root, "numbers", numbers_node(plan.numbers));
    append(root, "expected_speed", make_sequence(plan.speed, speed_node));
    append(root, "migration", make_sequence(plan.migration, step_node));
    append(root, "environment", plan.environment);
    append(root, "warnings", plan.warnings);
}

}  // namespace

Value to_node(const Plan& plan, const Request& request) {
    Value root = make_mapping({{"recommendation", plan.recommendation}});
    if (!request.pools.empty()) {
        const GpuPool& pool = request.pools.front();
        append(root, "gpu", pool.model->key);
        append(root, "gpu_count", plan.numbers.gpus);
        append(root, "gpu_memory_gib", pool.model->memory_gib);
        append(root, "tdp_watts", or_null(pool.model->tdp_watts != 0, pool.model->tdp_watts));
        append(root, "mig_capable", pool.model->has_mig());
    }
    append(root, "technique", plan.technique);
    append(root, "mode", to_text(plan.mode));
    append(root, "replicas", plan.replicas);
    append(root, "per_pod_memory_gib", plan.per_pod_gib);
    append(root, "reserve_gib", plan.reserve_gib);
    append(root, "usable_gib", plan.usable_gib);
    append(root, "formula", plan.formula);
    append_lists(root, plan);
    append(root, "files", make_sequence(plan.files, [&](const File& file) {
               return make_mapping(
                   {{"name", file.name}, {"purpose", file.purpose}, {"text", file.text}});
           }));
    append(root, "confidence", make_sequence(plan.confidence, [&](const Confidence& one) {
               return make_mapping({{"input", one.input},
                                    {"confidence", sizing::to_text(one.certainty)},
                                    {"source", one.source}});
           }));
    return root;
}

}  // namespace aliquot::plan
