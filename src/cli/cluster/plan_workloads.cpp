// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/plan_workloads.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_value.h"
#include "kube_client/resource.h"

namespace aliquot::cli {
namespace {

using PlanJson = nlohmann::json;
using plan::Asked;
using plan::MovedWorkload;
using Kind = WorkloadWay::Kind;

/// A key as RFC 6901 writes it in a path.
std::string step(const std::string& key) {
    std::string text;
    for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return "/" + text;
}

std::string asked_text(const Asked& asked) {
    return std::to_string(asked.count) + " x " + asked.resource;
}

/// A number or a text, as manifests have them.
std::string plain(const PlanJson& value) {
    return value.is_string() ? value.get<std::string>() : dumped(value);
}

/// What of GPUs a list of limits or requests asks for, besides `resource`.
std::string other_gpu(const PlanJson& list, const std::string& resource) {
    if (!list.is_object()) return {};
    const std::string domain = resource.substr(0, resource.find('/') + 1);
    for (const auto& [key, value] : list.items()) {
        if (key != resource && key.starts_with(domain)) return plain(value) + " x " + key;
    }
    return {};
}

/// Whether the pods that run would end before others are ready.
bool ends_first(const PlanJson& deployment) {
    const PlanJson& strategy = member(member(deployment, "spec"), "strategy");
    if (text_at(strategy, "type") == "Recreate") return true;
    const PlanJson& surge = member(member(strategy, "rollingUpdate"), "maxSurge");
    return !surge.is_null() && (plain(surge) == "0" || plain(surge) == "0%");
}

class PatchBuilder {
public:
    PatchBuilder(std::string base, const PlanJson& container)
        : base_(std::move(base)), container_(container) {
        add("test", "/name", member(container, "name"));
    }

    /// Takes one resource out of "limits" or "requests", and puts the earlier one in its place.
    void move(const char* list, const Asked& given, const Asked& before) {
        const PlanJson& there = member(member(container_, "resources"), list);
        if (there.is_object() && there.contains(given.resource)) {
            const std::string path = std::string("/resources/") + list + step(given.resource);
            add("test", path, there[given.resource]);
            if (before.resource == given.resource) {
                add("replace", path, std::to_string(before.count));
                return;
            }
            operations_.push_back({{"op", "remove"}, {"path", base_ + path}});
            if (!before.resource.empty()) {
                add("add", std::string("/resources/") + list + step(before.resource),
                    std::to_string(before.count));
            }
        }
    }

    /// Takes variables away that stand there exactly as the plan named them.
    void drop_environment(const std::vector<std::string>& lines) {
        const PlanJson& there = member(container_, "env");
        if (!there.is_array()) return;
        for (std::size_t i = there.size(); i-- > 0;) {  // from the end: the places before it stay
            const std::string line = text_at(there[i], "name") + "=" + text_at(there[i], "value");
            if (std::ranges::find(lines, line) == lines.end()) continue;
            const std::string path = "/env/" + std::to_string(i);
            add("test", path, there[i]);
            operations_.push_back({{"op", "remove"}, {"path", base_ + path}});
        }
    }

    [[nodiscard]] std::string text() const { return dumped(operations_); }

private:
    void add(const char* operation, const std::string& path, const PlanJson& value) {
        operations_.push_back({{"op", operation}, {"path", base_ + path}, {"value", value}});
    }
    std::string base_;
    const PlanJson& container_;
    PlanJson operations_ = PlanJson::array();
};

WorkloadWay refused(std::string why) { return {.kind = Kind::kRefused, .why = std::move(why)}; }
WorkloadWay nothing(std::string why) { return {.kind = Kind::kNothing, .why = std::move(why)}; }

/// What its container asks for, judged.
WorkloadWay way_of_container(const MovedWorkload& workload, const PlanJson& deployment,
                             const PlanJson& container, std::size_t index) {
    const Asked& given = workload.given;
    const PlanJson& limits = member(member(container, "resources"), "limits");
    const std::string other = other_gpu(limits, given.resource);
    const PlanJson& limit = member(limits, given.resource.c_str());
    const std::string before =
        workload.before.resource.empty() ? std::string() : asked_text(workload.before);
    if (limit.is_null()) {
        if (other == before) return nothing("asks for no " + given.resource + " any more");
        return refused("asks for " + (other.empty() ? "no GPU" : other) + ", the plan gave it " +
                       asked_text(given) + ": changed by hand");
    }
    const bool same_resource = workload.before.resource == given.resource;
    if (same_resource && plain(limit) == std::to_string(workload.before.count)) {
        return nothing("asks for " + before + " as before");
    }
    if (plain(limit) != std::to_string(given.count) || (!other.empty() && other != before)) {
        return refused("asks for " + plain(limit) + " x " + given.resource +
                       (other.empty() ? "" : " and " + other) + ", the plan gave it " +
                       asked_text(given) + ": changed by hand");
    }
    const auto running = number_at<unsigned>(member(deployment, "status"), "replicas");
    if (running > 0 && ends_first(deployment)) {
        return refused(
            "its update strategy ends the running pods before others are ready; set "
            "maxSurge to 1, or scale it to 0 first");
    }
    PatchBuilder patch("/spec/template/spec/containers/" + std::to_string(index), container);
    patch.move("limits", given, workload.before);
    patch.move("requests", given, workload.before);
    patch.drop_environment(workload.environment);
    return {.kind = Kind::kPatch,
            .why = before.empty() ? "back to the CPU" : "back to " + before,
            .patch = patch.text()};
}

std::string name_of(const MovedWorkload& workload) {
    return (workload.job ? "Job " : "Deployment ") +
           (workload.namespace_name.empty() ? "" : workload.namespace_name + "/") + workload.name;
}

}  // namespace

WorkloadWay way_of(const MovedWorkload& workload, const std::string& deployment) {
    if (workload.given == workload.before) return nothing("asked for the same before the plan");
    if (workload.job) {
        return {.kind = Kind::kLeft,
                .why =
                    "left as it is: its pod keeps the GPU until it ends; submit the next one "
                    "without " +
                    workload.given.resource};
    }
    if (deployment.empty()) return nothing("is not there");
    const PlanJson json = parse_json<PlanJson>(deployment);
    const PlanJson& containers =
        member(member(member(member(json, "spec"), "template"), "spec"), "containers");
    if (!containers.is_array()) return refused("cannot be read: it has no list of containers");
    for (std::size_t i = 0; i < containers.size(); ++i) {
        if (text_at(containers[i], "name") == workload.name) {
            return way_of_container(workload, json, containers[i], i);
        }
    }
    return nothing("has no container '" + workload.name + "', which the plan was for");
}

bool PlanWorkloads::look(Context& context, const ClusterOptions& words) {
    connection_ = connect_cluster(context, words);
    if (!connection_) return false;
    for (MovedWorkload& workload : workloads_) {
        if (workload.namespace_name.empty()) workload.namespace_name = connection_->namespace_name;
        std::string json;
        if (!workload.job) {
            const auto found =
                connection_->api->get(kube_client::resources::deployments(),
                                      {workload.namespace_name, workload.name}, call_of(words));
            if (!found && !found.failure().is(kube_client::Reason::kNotFound)) {
                fail(context, found.failure());
                return false;
            }
            if (found) json = found->json;
        }
        ways_.push_back(way_of(workload, json));
        if (ways_.back().kind == Kind::kRefused) {
            fail(context, kFindings, name_of(workload) + ' ' + ways_.back().why);
        }
    }
    return true;
}

bool PlanWorkloads::undo(Context& context, const ClusterOptions& words, bool dry_run) {
    for (std::size_t i = 0; i < ways_.size(); ++i) {
        const WorkloadWay& way = ways_[i];
        if (way.kind == Kind::kPatch) {
            const auto done = connection_->api->patch(
                kube_client::resources::deployments(),
                {workloads_[i].namespace_name, workloads_[i].name}, way.patch,
                {.kind = kube_client::PatchKind::kJson,
                 .write = {.dry_run = dry_run, .call = call_of(words)}});
            if (!done) {
                fail(context, done.failure());
                return false;
            }
        }
        context.out << name_of(workloads_[i]) << ' '
                    << (way.kind == Kind::kPatch && dry_run ? "would go " : "") << way.why << '\n';
    }
    return true;
}

}  // namespace aliquot::cli
