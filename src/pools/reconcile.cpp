// SPDX-License-Identifier: Apache-2.0
#include "pools/reconcile.h"

#include <algorithm>
#include <iterator>

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "document/json.h"
#include "document/path.h"
#include "pools/read.h"
#include "pools/spot.h"

namespace aliquot::pools {
namespace {

using document::make_mapping;
using document::only_if;
using document::Value;
using std::chrono::seconds;

constexpr std::chrono::minutes kBetweenWrites{10};

std::optional<Instant> time_at(const Value& object, std::initializer_list<std::string_view> path) {
    const auto at = parse_rfc3339(document::text_at(object, path));
    return at ? std::optional(std::chrono::floor<seconds>(*at)) : std::nullopt;
}

ScheduleState schedule_state(const Value& object) {
    return {.looked = time_at(object, {"status", "schedule", "looked"}),
            .replicas = parse_number<unsigned>(
                            document::text_at(object, {"status", "schedule", "replicas"}))
                            .value_or(0),
            .step = document::text_at(object, {"status", "schedule", "step"})};
}

OutputName name_of(const Value& object) {
    return {document::text_at(object, {"apiVersion"}), document::text_at(object, {"kind"}),
            document::text_at(object, {"metadata", "name"})};
}

/// Karpenter keeps an empty node as long as its NodePool says; other engines have one delay for all, so we hold it.
bool keeps_nodes(Engine engine) {
    return engine != Engine::kKarpenter && engine != Engine::kKarpenterStatic;
}

std::map<std::string, std::string> wanted_marks(const Round& round, const PoolNode& node,
                                                const k8s::Node& known, Instant now) {
    std::map<std::string, std::string> marks;
    if (node.pods == 0 && node.is_capacity()) {
        const auto since = known.annotations.find(std::string(kEmptySince));
        marks[std::string(kEmptySince)] =
            since == known.annotations.end() ? rfc3339(now) : since->second;
    }
    const bool goes =
        node.leaves || !node.sick.empty() ||
        std::ranges::find(round.desired.remove, node.name) != round.desired.remove.end();
    if (keeps_nodes(round.pool.engine) && !goes) {
        marks[std::string(kKeptBy)] = round.pool.name;
        marks[std::string(kScaleDownDisabled)] = "true";
    }
    return marks;
}

/// Whether the node has ours as they should be. Somebody else's "false" is left alone.
bool has_marks(const k8s::Node& node, const std::map<std::string, std::string>& wanted) {
    for (const std::string_view key : {kEmptySince, kKeptBy}) {
        const auto is = node.annotations.find(std::string(key));
        const auto should = wanted.find(std::string(key));
        const bool missing = is == node.annotations.end();
        if (missing != (should == wanted.end())) return false;
        if (!missing && is->second != should->second) return false;
    }
    return true;
}

void note_if_started(Round& round, const PoolNode& node, const Value& object) {
    if (!node.is_ready || !node.not_passed.empty()) return;
    StartedNode started{
        .node = node.name,
        .resource_version = document::text_at(object, {"metadata", "resourceVersion"})};
    const auto& taints = document::items_at(object, {"spec", "taints"});
    std::ranges::copy_if(taints, std::back_inserter(started.taints), [](const Value& taint) {
        return document::text_at(taint, {"key"}) != kStartupTaint;
    });
    if (started.taints.size() != taints.size()) round.started.push_back(std::move(started));
}

void mark_nodes(Round& round, const std::vector<Value>& nodes, Instant now) {
    for (const Value& object : nodes) {
        const k8s::Node known = k8s::read_node(object);
        const auto node = std::ranges::find(round.observed.nodes, known.name, &PoolNode::name);
        if (node == round.observed.nodes.end()) continue;
        note_if_started(round, *node, object);
        auto wanted = wanted_marks(round, *node, known, now);
        if (!has_marks(known, wanted)) {
            round.marks.push_back({known.name, known.uid, std::move(wanted)});
        }
    }
}

Numbers numbers_of(const Round& round) {
    Numbers numbers{.nodes = round.desired.nodes, .placeholders = round.desired.placeholders};
    if (round.desired.is_held) numbers.most = round.desired.nodes;
    for (const PoolNode& node : round.observed.nodes) {
        ++(node.capacity_type == "spot" ? numbers.spot_nodes : numbers.on_demand_nodes);
    }
    numbers.first_gave_up = std::ranges::any_of(round.observed.waiting, [&](const Claim& claim) {
        return claim.waited > round.pool.spot_patience;
    });
    return numbers;
}

void add_reasons(Round& round) {
    for (const Leaving& leaving : round.observed.leaving) {
        round.desired.reasons.push_back(
            leaving.node + " goes" +
            (leaving.notice.goes_at ? " at " + rfc3339(*leaving.notice.goes_at) : "") + ": " +
            leaving.notice.why);
    }
    if (!round.pool.is_production()) return;
    for (const PoolNode& node : round.observed.nodes) {
        if (node.capacity_type != "spot") continue;
        round.desired.reasons.push_back(node.name +
                                        " is a spot node, and the pool's environment is "
                                        "production: it gets no further one");
    }
}

/// What belongs to the pool goes with it.
void own(Value& output, const Value& object, const std::string& pool) {
    Value* metadata = nullptr;
    for (auto& [key, value] : output.entries) {
        if (key.scalar == "metadata") metadata = &value;
    }
    if (metadata == nullptr) return;
    document::append(*metadata, "labels",
                     make_mapping({{"app.kubernetes.io/managed-by", "aliquot"},
                                   {std::string(kPoolLabel), pool}}));
    document::append(
        *metadata, "ownerReferences",
        std::vector{make_mapping({{"apiVersion", document::text_at(object, {"apiVersion"})},
                                  {"kind", "Pool"},
                                  {"name", pool},
                                  {"uid", document::text_at(object, {"metadata", "uid"})}})});
}

Value condition(const Value& object, const char* type, bool is_true, const char* reason,
                const std::string& message, Instant now) {
    std::string since = rfc3339(now);
    for (const Value& one : document::items_at(object, {"status", "conditions"})) {
        const bool same = document::text_at(one, {"type"}) == type &&
                          document::text_at(one, {"status"}) == (is_true ? "True" : "False");
        if (same) since = document::text_at(one, {"lastTransitionTime"});
    }
    return make_mapping({{"type", type},
                         {"status", document::make_string(is_true ? "True" : "False")},
                         {"reason", reason},
                         {"message", message},
                         {"lastTransitionTime", since}});
}

/// JSON in which the order of keys, which the API server does not keep, tells nothing.
std::string canonical(Value value) {
    const auto sort = [](auto&& self, Value& node) -> void {
        for (Value& item : node.items) self(self, item);
        for (auto& [key, inner] : node.entries) self(self, inner);
        std::ranges::sort(node.entries, [](const auto& a, const auto& b) {
            return a.first.scalar < b.first.scalar;
        });
    };
    sort(sort, value);
    return document::to_json_line(value);
}

std::string errors_of(const std::vector<Problem>& problems) {
    std::vector<std::string> words;
    for (const Problem& one : problems) {
        if (!one.is_warning) words.push_back(one.message);
    }
    return join(words, "; ");
}

}  // namespace

Round look_at_pool(const Value& object, const std::vector<Value>& nodes,
                   const std::vector<Value>& pods, const std::set<std::string>& taken,
                   Instant now) {
    Round round;
    ReadPools read = read_pool(object);
    round.problems = std::move(read.problems);
    round.is_valid = read.pools.size() == 1;
    if (!round.is_valid) return round;
    round.pool = std::move(read.pools[0]);
    round.observed = observe(round.pool, nodes, pods, now);
    std::erase_if(round.observed.waiting,
                  [&](const Claim& claim) { return taken.contains(claim.pod); });
    round.schedule = look_at(round.pool.schedules, schedule_state(object), now);
    round.desired =
        decide(round.pool, round.schedule, round.observed.waiting, round.observed.nodes, now);
    round.served = {round.desired.served.begin(), round.desired.served.end()};
    add_reasons(round);
    Outputs outputs = outputs_of(round.pool, numbers_of(round));
    round.remarks = std::move(outputs.remarks);
    round.objects = std::move(outputs.objects);
    std::set<OutputName> wanted;
    for (Value& one : round.objects) {
        wanted.insert(name_of(one));
        // The class of placeholders belongs to all pools.
        if (document::text_at(one, {"kind"}) != "PriorityClass") own(one, object, round.pool.name);
    }
    for (const Value& one : document::items_at(object, {"status", "outputs"})) {
        OutputName name{document::text_at(one, {"apiVersion"}), document::text_at(one, {"kind"}),
                        document::text_at(one, {"name"})};
        if (!wanted.contains(name) && name.kind != "PriorityClass") {
            round.obsolete.push_back(std::move(name));
        }
    }
    mark_nodes(round, nodes, now);
    return round;
}

Value status_of(const Round& round, const Carried& carried, const Value& object, Instant now) {
    const Desired& desired = round.desired;
    const std::string wrong = errors_of(round.problems);
    std::vector<Value> conditions{condition(
        object, "Valid", round.is_valid, round.is_valid ? "SpecRead" : "SpecRefused", wrong, now)};
    if (!round.is_valid) {
        return make_mapping({{"conditions", conditions},
                             {"nodes", 0},
                             {"reasons", std::vector<std::string>{wrong}}});
    }
    std::vector<std::string> notes = carried.problems;
    const bool applied = notes.empty();
    if (applied) notes = round.remarks;
    conditions.push_back(condition(object, "Applied", applied, applied ? "Written" : "Refused",
                                   join(notes, "; "), now));
    const auto output = [](const OutputName& one) {
        return make_mapping(
            {{"apiVersion", one.api_version}, {"kind", one.kind}, {"name", one.name}});
    };
    const ScheduleState& state = round.schedule.state;
    const auto& next = round.schedule.next;
    return make_mapping({{"desired", desired.nodes},
                         {"nodes", desired.present},
                         {"busy", desired.busy},
                         {"starting", desired.starting},
                         {"failed", desired.failed},
                         {"sick", desired.sick},
                         {"placeholders", desired.placeholders},
                         {"waiting", round.observed.waiting.size()},
                         {"reasons", desired.reasons},
                         {"next", document::or_null(next.has_value(), next ? rfc3339(*next) : "")},
                         {"schedule", make_mapping({{"looked", rfc3339(state.looked.value_or(now))},
                                                    {"replicas", state.replicas},
                                                    {"step", document::make_string(state.step)}})},
                         {"outputs", document::make_sequence(carried.written, output)},
                         {"conditions", conditions}});
}

bool is_news(const Value& before, const Value& status, Instant now) {
    const auto looked = time_at(before, {"schedule", "looked"});
    if (looked && now - *looked >= kBetweenWrites) return true;
    for (const auto& [key, value] : status.entries) {
        const Value* const known = before.find(key.scalar);
        if (key.scalar == "schedule") {
            const auto* const step = known == nullptr ? nullptr : known->find("step");
            const auto* const count = known == nullptr ? nullptr : known->find("replicas");
            if (document::text_of(step) != document::text_of(value.find("step")) ||
                document::text_of(count) != document::text_of(value.find("replicas"))) {
                return true;
            }
            continue;
        }
        const bool is_null = value.kind == Value::Kind::kNull;
        if (known == nullptr) {
            if (!is_null) return true;
            continue;
        }
        if (canonical(*known) != canonical(value)) return true;
    }
    return false;
}

std::vector<NodeMarks> stray_marks(const std::vector<Value>& nodes,
                                   const std::set<std::string>& members) {
    std::vector<NodeMarks> strays;
    for (const Value& object : nodes) {
        const k8s::Node node = k8s::read_node(object);
        if (members.contains(node.name)) continue;
        for (const std::string_view key : {kEmptySince, kKeptBy}) {
            if (!node.annotations.contains(std::string(key))) continue;
            strays.push_back({node.name, node.uid, {}});
            break;
        }
    }
    return strays;
}

}  // namespace aliquot::pools
