// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gang_claim.h"

#include <algorithm>

#include "base/number.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::scheduling {
namespace {

using document::Value;
using Source = GangClaim::Source;

constexpr char kNoGang[] = "none";
constexpr char kJobIndex[] = "batch.kubernetes.io/job-completion-index";
constexpr char kJobSetName[] = "jobset.sigs.k8s.io/jobset-name";
constexpr char kJobSetPart[] = "jobset.sigs.k8s.io/replicatedjob-name";
constexpr char kJobSetAttempt[] = "jobset.sigs.k8s.io/restart-attempt";

std::string text_of(const k8s::Labels& labels, const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string() : found->second;
}

const Value* job_of(const Value& object) {
    for (const Value& one : document::items_at(object, {"metadata", "ownerReferences"})) {
        if (document::is_true(document::at_path(one, {"controller"})) &&
            document::text_at(one, {"kind"}) == "Job" &&
            document::text_at(one, {"apiVersion"}).starts_with("batch/"))
            return &one;
    }
    return nullptr;
}

void read_size(const std::string& text, GangClaim& claim) {
    const auto size = parse_number<unsigned>(text);
    if (size && *size >= 1 && *size <= kMostMembers) {
        claim.size = *size;
        return;
    }
    claim.wrong = std::string(kGangSize) + " is \"" + text + "\"; expected 1 to " +
                  std::to_string(kMostMembers);
}

/// How many pods of a Job run at once: of its spec.
unsigned pods_of(const Value* spec) {
    const auto number = [&](const char* key, unsigned otherwise) {
        return parse_number<unsigned>(document::text_at(spec, {key})).value_or(otherwise);
    };
    const unsigned parallel = number("parallelism", 1);
    return std::min(parallel, number("completions", parallel));
}

/// Bounded far above kMostMembers.
unsigned product(unsigned a, unsigned b) {
    constexpr unsigned kMost = 10'000;
    return std::min(a, kMost) * std::min(b, kMost);
}

GangSize job_size(const GangClaim& claim, const Value& job) {
    const Value* const spec = document::at_path(job, {"spec"});
    const unsigned size = pods_of(spec);
    const auto completions = parse_number<unsigned>(document::text_at(spec, {"completions"}));
    const bool at_once =
        document::text_at(spec, {"completionMode"}) == "Indexed" && completions == size && size > 1;
    return {.is_gang = claim.is_named || at_once, .size = size};
}

GangSize job_set_size(const Value& job_set) {
    GangSize made{.is_gang = true};
    bool in_order =
        document::text_at(job_set, {"spec", "startupPolicy", "startupPolicyOrder"}) == "InOrder";
    for (const Value& one : document::items_at(job_set, {"spec", "replicatedJobs"})) {
        const unsigned replicas =
            parse_number<unsigned>(document::text_at(one, {"replicas"})).value_or(1);
        const unsigned size =
            product(replicas, pods_of(document::at_path(one, {"template", "spec"})));
        in_order = in_order || !document::items_at(one, {"dependsOn"}).empty();
        made.parts[document::text_at(one, {"name"})] = size;
        made.size = std::min(made.size, 1'000'000U) + size;
    }
    if (in_order) {
        made.size = 0;
    } else {
        made.parts.clear();
    }
    return made;
}

GangSize pod_group_size(const Value& group) {
    const auto count = parse_number<unsigned>(
        document::text_at(group, {"spec", "schedulingPolicy", "gang", "minCount"}));
    return {.is_gang = count.has_value(), .size = count.value_or(0)};
}

}  // namespace

GangClaim read_gang_claim(const k8s::Pod& pod, const Value& object) {
    const std::string label = text_of(pod.labels, kGangLabel);
    if (label == kNoGang) return {};
    GangClaim claim{.name = label,
                    .is_named = !label.empty(),
                    .preferred_topology = text_of(pod.annotations, kGangPreferredTopology),
                    .required_topology = text_of(pod.annotations, kGangRequiredTopology)};
    std::string size = text_of(pod.labels, kGangSize);
    if (size.empty()) size = text_of(pod.annotations, kGangSize);
    const Value* const job = job_of(object);
    const std::string group =
        document::text_at(object, {"spec", "schedulingGroup", "podGroupName"});
    const std::string job_set = text_of(pod.labels, kJobSetName);
    const bool is_indexed = pod.labels.contains(kJobIndex) || pod.annotations.contains(kJobIndex);
    const auto known_by = [&](Source source, const std::string& name, const std::string& key) {
        claim.source = source;
        claim.object = name;
        if (claim.name.empty()) claim.name = name;
        claim.key = pod.name_space + "/" + key;
    };
    if (!label.empty() && !size.empty()) {
        known_by(Source::kLabel, label, "gang/" + label);
        read_size(size, claim);
    } else if (!group.empty()) {
        known_by(Source::kPodGroup, group, "podgroup/" + group);
    } else if (!job_set.empty() && job != nullptr) {
        known_by(Source::kJobSet, job_set,
                 "jobset/" + job_set + "/" + text_of(pod.labels, kJobSetAttempt));
        claim.part = text_of(pod.labels, kJobSetPart);
    } else if (job != nullptr && (is_indexed || !label.empty())) {
        known_by(Source::kJob, document::text_at(*job, {"name"}),
                 "job/" + document::text_at(*job, {"uid"}));
    } else if (!label.empty()) {
        known_by(Source::kLabel, label, "gang/" + label);
        claim.wrong = "nobody says how many pods it has; expected the label or annotation " +
                      std::string(kGangSize) + ", or a Job, JobSet or PodGroup";
    }
    return claim.key.empty() ? GangClaim{} : claim;
}

Result<GangSize> read_gang_size(const GangClaim& claim, std::string_view object) {
    const auto root = document::parse_json(object);
    if (!root) return Error(root.error()).during(claim.object);
    if (claim.source == Source::kJob) return job_size(claim, *root);
    if (claim.source == Source::kJobSet) return job_set_size(*root);
    if (claim.source == Source::kPodGroup) return pod_group_size(*root);
    return GangSize{.is_gang = claim.size > 0, .size = claim.size};
}

}  // namespace aliquot::scheduling
