// SPDX-License-Identifier: Apache-2.0
// Queues of Kueue, and what waits in them, as documents.
#include <algorithm>
#include <map>

#include "base/number.h"
#include "cluster_jobs/cluster_jobs.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/resource_name.h"

namespace aliquot::cluster_jobs {
namespace {

using document::items_at;
using document::make_mapping;
using document::only_if;
using document::text_at;
using document::Value;

const Value* named_in(const std::vector<Value>& list, const std::string& name) {
    const auto found = std::find_if(
        list.begin(), list.end(), [&](const Value& one) { return text_at(one, {"name"}) == name; });
    return found == list.end() ? nullptr : &*found;
}

/// Of each flavour that has GPUs: quota, what is used and borrowed.
Value gpus_of_queue(const Value& queue) {
    Value list = document::make_sequence();
    const auto& usage = items_at(queue, {"status", "flavorsReservation"});
    for (const Value& group : items_at(queue, {"spec", "resourceGroups"})) {
        for (const Value& flavor : items_at(group, {"flavors"})) {
            const std::string name = text_at(flavor, {"name"});
            const Value* const used = named_in(usage, name);
            for (const Value& resource : items_at(flavor, {"resources"})) {
                const std::string what = text_at(resource, {"name"});
                if (!k8s::is_gpu_resource(what)) continue;
                const Value* const of =
                    used == nullptr ? nullptr : named_in(items_at(*used, {"resources"}), what);
                const std::string total = text_at(of, {"total"});
                const std::string borrowed = text_at(of, {"borrowed"});
                const std::string borrow = text_at(resource, {"borrowingLimit"});
                const std::string lend = text_at(resource, {"lendingLimit"});
                list.items.push_back(
                    make_mapping({{"flavor", name},
                                  {"resource", what},
                                  {"quota", text_at(resource, {"nominalQuota"})},
                                  {"used", total.empty() ? "0" : total},
                                  {"borrowed", borrowed.empty() ? "0" : borrowed},
                                  {"borrowLimit", only_if(!borrow.empty(), borrow)},
                                  {"lendLimit", only_if(!lend.empty(), lend)}}));
            }
        }
    }
    return list;
}

Value queue_document(const Value& queue, const std::vector<std::string>& spaces) {
    std::string active = "Unknown";
    std::string why;
    for (const Value& one : items_at(queue, {"status", "conditions"})) {
        if (text_at(one, {"type"}) != "Active") continue;
        active = text_at(one, {"status"});
        why = text_at(one, {"message"});
    }
    std::vector<std::string> checks;
    for (const Value& one : items_at(queue, {"spec", "admissionChecksStrategy", "admissionChecks"}))
        checks.push_back(text_at(one, {"name"}));
    const std::string cohort = text_at(queue, {"spec", "cohortName"});
    const auto count = [&](const char* field) {
        return parse_number<std::uint64_t>(text_at(queue, {"status", field})).value_or(0);
    };
    return make_mapping({{"name", text_at(queue, {"metadata", "name"})},
                         {"cohort", only_if(!cohort.empty(), cohort)},
                         {"active", active == "True"},
                         {"reason", only_if(active != "True" && !why.empty(), why)},
                         {"order", text_at(queue, {"spec", "queueingStrategy"})},
                         {"pending", count("pendingWorkloads")},
                         {"running", count("admittedWorkloads")},
                         {"namespaces", spaces},
                         {"admissionChecks", only_if(!checks.empty(), checks)},
                         {"gpus", gpus_of_queue(queue)}});
}

Result<std::vector<Value>> objects(kube_client::Api& api, const kube_client::Resource& resource,
                                   const std::string& space, const kube_client::Call& call) {
    const auto page =
        api.list(resource, {.namespace_name = space, .keep_managed_fields = false}, call);
    if (!page && page.failure().is(kube_client::Reason::kNotFound)) {
        return Error{ErrorCode::kNotFound,
                     "this cluster has no queues: Kueue, which keeps quotas, is not installed; "
                     "without it jobs start when there is room, by priority and age"};
    }
    if (!page) return page.error();
    std::vector<Value> all;
    for (const auto& object : page->items) {
        if (auto value = document::parse_json(object.json)) all.push_back(*std::move(value));
    }
    return all;
}

}  // namespace

Result<Value> ClusterJobs::queues() {
    const auto queues = objects(api_, cluster_queues(), "", call_);
    if (!queues) return queues.error();
    auto locals = objects(api_, local_queues(), "", call_);
    if (!locals) locals = objects(api_, local_queues(), space_, call_);
    if (!locals) return std::move(locals).error();
    std::map<std::string, std::vector<std::string>> spaces;
    for (const Value& local : *locals) {
        const std::string name = text_at(local, {"metadata", "name"});
        const std::string queue = text_at(local, {"spec", "clusterQueue"});
        const std::string space = text_at(local, {"metadata", "namespace"});
        spaces[queue].push_back(name == queue ? space : space + "/" + name);
    }
    Value list = document::make_sequence();
    for (const Value& queue : *queues)
        list.items.push_back(queue_document(queue, spaces[text_at(queue, {"metadata", "name"})]));
    return make_mapping({{"queues", std::move(list)}});
}

Result<Value> ClusterJobs::pending(const std::string& queue) {
    auto jobs = list({.space = space_, .queue = queue, .ended = false});
    if (!jobs) return std::move(jobs).error();
    struct Line {
        std::uint64_t position;
        Value value;
    };
    std::vector<Line> lines;
    for (const JobSight& job : *jobs) {
        const bool waits = jobs::is_waiting(job.state) || job.state == jobs::State::kReserving;
        if (!waits) continue;
        const Value why = to_explanation(job, {});
        const std::string position = text_at(why, {"position"});
        const auto likely = text_at(why, {"likelyStart"});
        const auto latest = text_at(why, {"latestStart"});
        const auto number = parse_number<std::uint64_t>(position);
        lines.push_back(
            {number.value_or(UINT64_MAX),
             make_mapping({{"position", only_if(number.has_value(), number.value_or(0))},
                           {"id", job.name},
                           {"namespace", job.space},
                           {"user", job.user},
                           {"queue", job.queue},
                           {"gpus", job.gpus * job.pods},
                           {"submitted", job.created},
                           {"likelyStart", only_if(!likely.empty(), likely)},
                           {"latestStart", only_if(!latest.empty(), latest)},
                           {"why", text_at(why, {"why"})}})});
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.position < b.position; });
    Value list = document::make_sequence();
    for (Line& line : lines) list.items.push_back(std::move(line.value));
    return make_mapping({{"pending", std::move(list)}});
}

}  // namespace aliquot::cluster_jobs
