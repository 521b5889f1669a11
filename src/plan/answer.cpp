// SPDX-License-Identifier: Apache-2.0
#include "document/json.h"
#include "document/write.h"
#include "plan/plan.h"

namespace aliquot::plan {
namespace {

using document::append;
using document::make_bool;
using document::make_integer;
using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::make_string;
using document::Node;

Node strings(const std::vector<std::string>& texts) {
    Node list = make_sequence();
    for (const std::string& text : texts) list.items.push_back(make_string(text));
    return list;
}

Node text(std::string_view word) { return make_string(std::string(word)); }

Node share_node(const Share& share) {
    Node node = make_mapping();
    append(node, "workload", text(share.workload));
    append(node, "replica", make_integer(share.replica));
    append(node, "mode", text(to_text(share.mode)));
    append(node, "pool", text(share.pool));
    append(node, "gpu", share.gpu < 0 ? Node{} : make_integer(share.gpu));
    append(node, "memory_mib", make_number(share.memory_mib, 0));
    append(node, "needs_mib", make_number(share.need_mib, 0));
    append(node, "headroom_mib", make_number(share.headroom_mib, 0));
    append(node, "compute_percent", make_integer(share.compute_percent));
    append(node, "resource", text(share.resource));
    if (!share.profile.empty()) {
        append(node, "mig_profile", text(share.profile));
        append(node, "mig_start", make_integer(share.slot));
    }
    append(node, "risk", text(share.risk));
    return node;
}

Node numbers_node(const Numbers& numbers) {
    Node node = make_mapping();
    append(node, "gpus", make_integer(numbers.gpus));
    append(node, "gpus_used", make_integer(numbers.gpus_used));
    append(node, "gpus_if_exclusive", make_integer(numbers.gpus_exclusive));
    append(node, "gpus_saved", make_integer(numbers.gpus_saved));
    append(node, "packing_efficiency_percent", make_number(numbers.packing_percent, 1));
    append(node, "memory_slack_mib", make_number(numbers.slack_mib, 0));
    append(node, "worst_case_out_of_memory", strings(numbers.worst_case));
    const auto money = [](const std::optional<double>& usd) {
        return usd ? make_number(*usd, 2) : Node{};
    };
    append(node, "usd_per_month_before", money(numbers.usd_per_month_before));
    append(node, "usd_per_month_after", money(numbers.usd_per_month_after));
    append(node, "price_source", text(numbers.price_source));
    append(node, "kwh_per_month_at_full_power", make_number(numbers.kwh_per_month, 1));
    append(node, "disruption", text(numbers.disruption));
    return node;
}

Node speed_node(const Speed& speed) {
    Node node = make_mapping();
    append(node, "workload", text(speed.workload));
    append(node, "work", text(speed.work));
    append(node, "cpu", text(speed.cpu));
    append(node, "gpu", text(speed.gpu));
    append(node, "speedup_alone", speed.alone > 0 ? make_number(speed.alone, 2) : Node{});
    append(node, "speedup_all_busy", speed.alone > 0 ? make_number(speed.all_busy, 2) : Node{});
    append(node, "sharers", make_integer(speed.sharers));
    append(node, "part_of_gpu_when_busy", make_number(speed.part_of_gpu, 2));
    append(node, "formula", text(speed.formula));
    append(node, "verdict", text(speed.verdict));
    return node;
}

Node step_node(const Step& step) {
    Node node = make_mapping();
    append(node, "title", text(step.title));
    append(node, "commands", strings(step.commands));
    append(node, "check", text(step.check));
    append(node, "rollback", strings(step.rollback));
    return node;
}

void append_lists(Node& root, const Plan& plan) {
    Node reasons = make_sequence();
    for (const Reason& reason : plan.reasons) {
        Node node = make_mapping();
        append(node, "rule", text(reason.rule));
        append(node, "reason", text(reason.text));
        reasons.items.push_back(std::move(node));
    }
    append(root, "reasons", std::move(reasons));
    Node workloads = make_sequence();
    for (const Share& share : plan.shares) workloads.items.push_back(share_node(share));
    append(root, "workloads", std::move(workloads));
    append(root, "unplaced", strings(plan.unplaced));
    append(root, "gpus_missing", make_integer(plan.gpus_missing));
    append(root, "node_too_small", make_bool(plan.node_too_small));
    append(root, "never_schedulable", make_bool(plan.never_schedulable));
    Node rejected = make_sequence();
    for (const Rejected& one : plan.rejected) {
        Node node = make_mapping();
        append(node, "rule", text(one.rule));
        append(node, "mode", text(one.mode));
        append(node, "workload", text(one.subject));
        append(node, "reason", text(one.reason));
        rejected.items.push_back(std::move(node));
    }
    append(root, "rejected", std::move(rejected));
    append(root, "numbers", numbers_node(plan.numbers));
    Node speed = make_sequence();
    for (const Speed& one : plan.speed) speed.items.push_back(speed_node(one));
    append(root, "expected_speed", std::move(speed));
    Node migration = make_sequence();
    for (const Step& step : plan.migration) migration.items.push_back(step_node(step));
    append(root, "migration", std::move(migration));
    append(root, "environment", strings(plan.environment));
    append(root, "warnings", strings(plan.warnings));
}

}  // namespace

Node to_node(const Plan& plan, const Request& request) {
    Node root = make_mapping();
    append(root, "recommendation", text(plan.recommendation));
    if (!request.pools.empty()) {
        const GpuPool& pool = request.pools.front();
        append(root, "gpu", text(pool.model->key));
        append(root, "gpu_count", make_integer(plan.numbers.gpus));
        append(root, "gpu_memory_gib", make_number(pool.model->memory_gib));
        append(root, "tdp_watts",
               pool.model->tdp_watts == 0 ? Node{} : make_integer(pool.model->tdp_watts));
        append(root, "mig_capable", make_bool(pool.model->has_mig()));
    }
    append(root, "technique", text(plan.technique));
    append(root, "mode", text(to_text(plan.mode)));
    append(root, "replicas", make_integer(plan.replicas));
    append(root, "per_pod_memory_gib", make_number(plan.per_pod_gib));
    append(root, "reserve_gib", make_number(plan.reserve_gib));
    append(root, "usable_gib", make_number(plan.usable_gib));
    append(root, "formula", text(plan.formula));
    append_lists(root, plan);
    Node files = make_sequence();
    for (const File& file : plan.files) {
        Node node = make_mapping();
        append(node, "name", text(file.name));
        append(node, "purpose", text(file.purpose));
        append(node, "text", text(file.text));
        files.items.push_back(std::move(node));
    }
    append(root, "files", std::move(files));
    Node confidence = make_sequence();
    for (const Confidence& one : plan.confidence) {
        Node node = make_mapping();
        append(node, "input", text(one.input));
        append(node, "confidence", text(sizing::to_text(one.certainty)));
        append(node, "source", text(one.source));
        confidence.items.push_back(std::move(node));
    }
    append(root, "confidence", std::move(confidence));
    return root;
}

}  // namespace aliquot::plan
