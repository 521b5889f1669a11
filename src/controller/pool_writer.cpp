// SPDX-License-Identifier: Apache-2.0
#include "controller/pool_writer.h"

#include <array>

#include "base/log.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"
#include "document/json.h"
#include "document/path.h"
#include "pools/definition.h"

namespace aliquot::controller {
namespace {

using document::make_mapping;
using document::Value;
using kube_client::Reason;

constexpr char kPoolManager[] = "aliquot-pools";
constexpr std::chrono::minutes kBetweenApplies{5};
constexpr std::size_t kNoteBytes = 900;
constexpr std::size_t kMostNoticed = 10'000;

struct KnownKind {
    std::string_view kind;
    kube_client::Resource resource;
};

const kube_client::Resource* resource_of(std::string_view kind) {
    static const std::array<KnownKind, 4> kKinds{
        {{"NodePool", {"karpenter.sh", "v1", "nodepools", "NodePool", false}},
         {"NodeOverlay", {"karpenter.sh", "v1alpha1", "nodeoverlays", "NodeOverlay", false}},
         {"PriorityClass", {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false}},
         {"Deployment", {"apps", "v1", "deployments", "Deployment", true}}}};
    for (const KnownKind& known : kKinds) {
        if (known.kind == kind) return &known.resource;
    }
    return nullptr;
}

pools::OutputName name_of(const Value& output) {
    return {document::text_at(output, {"apiVersion"}), document::text_at(output, {"kind"}),
            document::text_at(output, {"metadata", "name"})};
}

std::string in_words(const pools::OutputName& name) { return name.kind + " " + name.name; }

/// What the API server said, and what a person does about it.
std::string why_refused(const pools::OutputName& name, const kube_client::Failure& failure) {
    if (failure.is(Reason::kConflict) && !failure.causes.empty()) {
        const auto field = [](const kube_client::Cause& cause) {
            return cause.field + " (" + cause.message + ")";
        };
        return in_words(name) + ": left as it is, others own " +
               one_line(listed(failure.causes, field), kNoteBytes) +
               "; take these fields out of what they apply, or change the pool to match";
    }
    if (failure.is(Reason::kNotFound) && name.api_version.starts_with("karpenter.sh/")) {
        return "the cluster knows no " + name.kind + " of " + name.api_version +
               ": is Karpenter installed? Other engines: placeholder, cluster-autoscaler, external";
    }
    return in_words(name) + ": " + one_line(failure.message, kNoteBytes);
}

}  // namespace

kube_client::Resource pool_objects() {
    return {.group = std::string(pools::kPoolGroup),
            .version = std::string(pools::kPoolVersion),
            .plural = std::string(pools::kPoolPlural),
            .kind = "Pool",
            .namespaced = false};
}

PoolWriter::PoolWriter(PoolWorld world, PoolOptions options)
    : world_(std::move(world)),
      options_(std::move(options)),
      events_(world_.api,
              {.controller = "aliquot.dev/controller", .instance = "aliquot-controller"}) {}

void PoolWriter::fail(const std::string& what, const std::string& why) {
    ++failures_;
    log::warning("pools.not_written", {{"what", what}, {"reason", why}});
}

void PoolWriter::note(const Value& object, bool warning, const char* reason,
                      const std::string& words) {
    events_.record({.regarding = {.api_version = document::text_at(object, {"apiVersion"}),
                                  .kind = "Pool",
                                  .namespace_name = "",
                                  .name = document::text_at(object, {"metadata", "name"}),
                                  .uid = document::text_at(object, {"metadata", "uid"})},
                    .warning = warning,
                    .reason = reason,
                    .action = "Scale",
                    .note = one_line(words, kNoteBytes)});
}

/// An object of that name that no pool made stays its maker's.
std::string PoolWriter::whose(const kube_client::Resource& resource,
                              const kube_client::ObjectKey& key, const Value& object,
                              const std::stop_token& stop) {
    const auto call = world_.elector.call(stop);
    if (!call) return "not the leader any more";
    const auto there = world_.api.get(resource, key, *call);
    if (!there) {
        return there.failure().is(Reason::kNotFound) ? "" : there.failure().message;
    }
    const auto read = document::parse_json(there->json);
    if (!read) return "it cannot be read";
    for (const Value& owner : document::items_at(*read, {"metadata", "ownerReferences"})) {
        if (document::text_at(owner, {"uid"}) == document::text_at(object, {"metadata", "uid"})) {
            return "";
        }
    }
    return resource.kind + " " + key.name +
           " is there and this pool did not make it; expected another name of the pool, or that "
           "object deleted";
}

void PoolWriter::apply(const pools::Round& round, const Value& object, const Value& output,
                       pools::Carried& carried, const std::stop_token& stop) {
    const pools::OutputName name = name_of(output);
    const auto* const resource = resource_of(name.kind);
    if (resource == nullptr) return;
    std::string json = document::to_json_line(output);
    auto& known = written_[{round.pool.name, name}];
    if (known.json == json && Steady::now() - known.at < kBetweenApplies) {
        carried.written.push_back(name);
        return;
    }
    const kube_client::ObjectKey key{resource->namespaced ? options_.name_space : "", name.name};
    if (known.json.empty() && name.kind != "PriorityClass") {
        std::string problem = whose(*resource, key, object, stop);
        if (!problem.empty()) return carried.problems.push_back(std::move(problem));
    }
    const auto call = world_.elector.call(stop);
    if (!call) return;
    const auto applied = world_.api.apply(*resource, key, json, false,
                                          {.field_manager = kPoolManager, .call = *call});
    if (!applied) {
        known = {};
        fail(in_words(name), applied.failure().message);
        carried.problems.push_back(why_refused(name, applied.failure()));
        // What it was before is still there, and still ours.
        for (const Value& one : document::items_at(object, {"status", "outputs"})) {
            if (document::text_at(one, {"kind"}) == name.kind &&
                document::text_at(one, {"name"}) == name.name) {
                carried.written.push_back(name);
            }
        }
        return;
    }
    known = {std::move(json), Steady::now()};
    carried.written.push_back(name);
}

void PoolWriter::remove(const pools::OutputName& name, const Value& object, pools::Carried& carried,
                        const std::stop_token& stop) {
    const auto* const resource = resource_of(name.kind);
    if (resource == nullptr) return;
    const kube_client::ObjectKey key{resource->namespaced ? options_.name_space : "", name.name};
    if (!whose(*resource, key, object, stop).empty()) return;
    const auto call = world_.elector.call(stop);
    if (!call) return;
    const auto gone = world_.api.remove(*resource, key, {.call = *call});
    if (gone || gone.failure().is(Reason::kNotFound)) return;
    fail(in_words(name), gone.failure().message);
    carried.problems.push_back(in_words(name) + ": not removed: " + gone.failure().message);
    carried.written.push_back(name);
}

void PoolWriter::write_marks(const std::vector<pools::NodeMarks>& marks,
                             const std::stop_token& stop) {
    for (const pools::NodeMarks& one : marks) {
        auto annotations = one.annotations;
        // Twice: the second time without what another owner has set to another value.
        for (int round = 0; round < 2; ++round) {
            const auto call = world_.elector.call(stop);
            if (!call) return;
            Value all = document::make_mapping();
            for (const auto& [key, value] : annotations) {
                document::append(all, key, document::make_string(value));
            }
            // The uid: a node that has gone meanwhile is not made anew.
            const Value node = make_mapping(
                {{"apiVersion", "v1"},
                 {"kind", "Node"},
                 {"metadata",
                  make_mapping({{"name", one.node}, {"uid", one.uid}, {"annotations", all}})}});
            const auto applied = world_.api.apply(kube_client::resources::nodes(), {"", one.node},
                                                  document::to_json_line(node), false,
                                                  {.field_manager = kPoolManager, .call = *call});
            if (applied || applied.failure().is(Reason::kNotFound)) break;
            const bool owned =
                applied.failure().is(Reason::kConflict) && !applied.failure().causes.empty();
            if (owned && annotations.erase(std::string(pools::kScaleDownDisabled)) != 0) continue;
            if (!applied.failure().is(Reason::kConflict)) {
                fail("node " + one.node, applied.failure().message);
            }
            break;
        }
    }
}

void PoolWriter::end_startup(const std::vector<pools::StartedNode>& started,
                             const std::stop_token& stop) {
    for (const pools::StartedNode& one : started) {
        const auto call = world_.elector.call(stop);
        if (!call) return;
        // Taints are one list: bound to the version that was read, so that nobody else's are undone.
        const Value change =
            make_mapping({{"metadata", make_mapping({{"resourceVersion", one.resource_version}})},
                          {"spec", make_mapping({{"taints", one.taints}})}});
        const auto patched = world_.api.patch(
            kube_client::resources::nodes(), {"", one.node}, document::to_json_line(change),
            {.write = {.field_manager = kPoolManager, .call = *call}});
        if (patched) {
            log::info("pools.node_started", {{"node", one.node}});
        } else if (!patched.failure().is(Reason::kConflict) &&
                   !patched.failure().is(Reason::kNotFound)) {
            fail("startup taint of node " + one.node, patched.failure().message);
        }
    }
}

void PoolWriter::write_status(const pools::Round& round, const pools::Carried& carried,
                              const Value& object, const std::stop_token& stop) {
    const auto now = std::chrono::floor<std::chrono::seconds>(world_.now());
    const Value status = pools::status_of(round, carried, object, now);
    const auto* const before = object.find("status");
    const bool ticked = !round.schedule.ticks.empty();
    if (before != nullptr && !ticked && !pools::is_news(*before, status, now)) return;
    const auto call = world_.elector.call(stop);
    if (!call) return;
    const std::string name = document::text_at(object, {"metadata", "name"});
    const auto patched = world_.api.patch(
        pool_objects(), {"", name}, document::to_json_line(make_mapping({{"status", status}})),
        {.write = {.field_manager = kPoolManager, .subresource = "status", .call = *call}});
    if (!patched) fail("status of pool " + name, patched.failure().message);
}

void PoolWriter::evict_from(const pools::Round& round, const std::stop_token& stop) {
    const auto now = std::chrono::floor<std::chrono::seconds>(world_.now());
    for (const pools::Leaving& leaving : round.observed.leaving) {
        for (const auto& [name_space, name, grace] : leaving.to_end(now)) {
            const auto call = world_.elector.call(stop);
            if (!call) return;
            const auto gone = world_.api.evict({name_space, name}, {},
                                               {.field_manager = kPoolManager, .call = *call});
            if (gone) {
                ++evictions_;
                log::info("pools.evicted",
                          {{"pod", name_space + "/" + name}, {"node", leaving.node}});
            } else if (!gone.failure().is(Reason::kNotFound)) {
                fail("eviction of " + name_space + "/" + name, gone.failure().message);
            }
        }
    }
}

void PoolWriter::tell_of_notices(const pools::Round& round) {
    if (noticed_.size() > kMostNoticed) noticed_.clear();
    for (const pools::Leaving& leaving : round.observed.leaving) {
        if (!leaving.notice.goes_at || !noticed_.insert(leaving.uid).second) continue;
        events_.record(
            {.regarding = {.api_version = "v1",
                           .kind = "Node",
                           .namespace_name = "",
                           .name = leaving.node,
                           .uid = leaving.node},
             .warning = true,
             .reason = "NodeGoes",
             .action = "Replace",
             .note =
                 leaving.notice.why + ", at " + rfc3339(*leaving.notice.goes_at) + "; " +
                 counted(leaving.pods.size(), "pod") +
                 " with GPUs end in time to save (terminationGracePeriodSeconds); another node is "
                 "asked for first"});
    }
}

void PoolWriter::tell(const pools::Round& round, const pools::Carried& carried,
                      const Value& object) {
    const std::string& name = round.pool.name;
    for (const pools::Tick& tick : round.schedule.ticks) {
        using Kind = pools::Tick::Kind;
        if (tick.kind == Kind::kSuperseded) continue;
        const std::string words = "schedule '" + tick.schedule + "' of " + rfc3339(tick.at);
        if (tick.kind == Kind::kMissed) {
            note(object, true, "ScheduleMissed", words + " was noticed after its deadline");
        } else if (tick.kind == Kind::kClosed) {
            note(object, false, "ScheduleEnded", words);
        } else {
            note(object, false, "ScheduleBegan",
                 words + ": at least " + counted(tick.replicas, "node"));
        }
    }
    const auto [before, is_new] = desired_.try_emplace(name, round.desired.nodes);
    if (!is_new && before->second != round.desired.nodes) {
        note(object, false, "Scaled",
             "from " + std::to_string(before->second) + " to " +
                 counted(round.desired.nodes, "node") + ": " + round.desired.reasons.front());
        before->second = round.desired.nodes;
    }
    const std::string problem = join(carried.problems, "; ");
    if (!problem.empty() && problem_[name] != problem) note(object, true, "NotApplied", problem);
    problem_[name] = problem;
    tell_of_notices(round);
}

void PoolWriter::write(const pools::Round& round, const Value& object,
                       const std::stop_token& stop) {
    pools::Carried carried;
    if (round.is_valid) {
        for (const Value& output : round.objects) apply(round, object, output, carried, stop);
        for (const auto& name : round.obsolete) remove(name, object, carried, stop);
        end_startup(round.started, stop);
        write_marks(round.marks, stop);
        evict_from(round, stop);
        tell(round, carried, object);
    }
    write_status(round, carried, object, stop);
}

void PoolWriter::forget(const std::string& pool) {
    desired_.erase(pool);
    problem_.erase(pool);
    std::erase_if(written_, [&](const auto& one) { return one.first.first == pool; });
}

}  // namespace aliquot::controller
