// SPDX-License-Identifier: Apache-2.0
// aliquot placement: what is booked of the cluster's GPUs, which pods wait, and letting them go by hand.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/answer.h"
#include "cli/cluster/placement_books.h"
#include "cli/cluster/placement_defrag.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "scheduling/plan.h"
#include "scheduling/release.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;
using scheduling::Decision;
using scheduling::GpuPod;

// ---- status ---------------------------------------------------------------------------------------

struct StatusOptions {
    ClusterOptions cluster;
    std::string format = "table";
};

/// What the cluster has of one resource.
struct ResourceSummary {
    std::set<std::string> nodes;
    std::set<std::string> free_nodes;  // all GPUs free
    unsigned gpus = 0;
    unsigned free_gpus = 0;
    unsigned units = 0;
    unsigned free_units = 0;
    unsigned free_on_used = 0;  // units free on GPUs that others use
};

std::map<std::string, ResourceSummary> summary_of(const scheduling::Books& books) {
    std::map<std::string, ResourceSummary> summary;
    for (const auto& row : books.gpus()) {
        ResourceSummary& one = summary[row.resource];
        one.nodes.insert(row.node);
        ++one.gpus;
        one.units += row.units;
        one.free_units += row.free;
        if (row.free == row.units) {
            ++one.free_gpus;
        } else {
            one.free_on_used += row.free;
        }
    }
    for (auto& [resource, one] : summary) {
        one.free_nodes = one.nodes;
        for (const auto& row : books.gpus()) {
            if (row.resource == resource && row.free < row.units) one.free_nodes.erase(row.node);
        }
    }
    return summary;
}

struct WaitingPod {
    const GpuPod* pod;
    std::string state;  // "waits", "placed", "unschedulable"
    std::string why;
    std::string gang{};  // NAMESPACE/NAME; empty: it goes alone
};

/// Pods of one gang have one answer.
class GangAnswers {
public:
    explicit GangAnswers(PlacementPicture& picture) : picture_(&picture) {}
    /// Empty: it goes alone.
    std::optional<WaitingPod> of(const GpuPod& pod) {
        if (pod.claim.key.empty()) return std::nullopt;
        const auto known = by_uid_.find(pod.uid);
        if (known == by_uid_.end()) {
            const auto gang = gang_of(*picture_, pod, 0);
            if (!gang) return std::nullopt;
            for (const GpuPod* const one : gang->turn.waiting)
                by_uid_[one->uid] = {gang->why(), one->name_space + "/" + one->claim.name};
            return of(pod);
        }
        return WaitingPod{&pod, "waits", known->second.first, known->second.second};
    }

private:
    PlacementPicture* picture_;
    std::map<std::string, std::pair<std::string, std::string>> by_uid_;
};

/// Pods that are gated by us or have a plan and no node.
std::vector<WaitingPod> waiting_pods(PlacementPicture& picture) {
    std::vector<WaitingPod> waiting;
    GangAnswers gangs(picture);
    for (const GpuPod& pod : picture.pods) {
        if (!pod.node.empty() || pod.is_leaving) continue;
        if (auto answer = pod.waits() ? gangs.of(pod) : std::nullopt) {
            waiting.push_back(*std::move(answer));
        } else if (pod.is_gated) {
            const Decision decision = picture.books.what_if(pod);
            const bool could = decision.kind == Decision::Kind::kPlaced;
            waiting.push_back({&pod, pod.is_gated_else ? "gated" : "waits",
                               pod.is_gated_else ? "another scheduling gate holds it, too"
                               : could           ? "there is room; the controller places it next"
                                                 : decision.why});
        } else if (!pod.plan.empty()) {
            waiting.push_back(
                {&pod, pod.unschedulable.empty() ? "placed" : "unschedulable",
                 pod.unschedulable.empty() ? "kube-scheduler binds it next" : pod.unschedulable});
        }
    }
    return waiting;
}

void print_status(Context& context, const PlacementPicture& picture,
                  const std::vector<WaitingPod>& waiting) {
    const auto now = std::chrono::system_clock::now();
    if (picture.nodes.empty()) {
        context.err << "aliquot: no agent tells which GPUs it serves; is it installed with "
                       "--placement?\n";
    } else {
        std::vector<Row> rows{{"RESOURCE", "NODES", "WHOLLY FREE", "GPUS", "FREE", "UNITS", "FREE",
                               "FREE ON USED GPUS"}};
        for (const auto& [resource, one] : summary_of(picture.books)) {
            rows.push_back({resource, std::to_string(one.nodes.size()),
                            std::to_string(one.free_nodes.size()), std::to_string(one.gpus),
                            std::to_string(one.free_gpus), std::to_string(one.units),
                            std::to_string(one.free_units), std::to_string(one.free_on_used)});
        }
        print_rows(context.out, rows);
    }
    if (picture.books.overbooked() > 0) {
        context.out << '\n'
                    << picture.books.overbooked()
                    << " bookings do not fit: pods took GPUs without a plan, or on a GPU that is "
                       "gone\n";
    }
    if (waiting.empty()) {
        context.out << "\nNo pod waits.\n";
        return;
    }
    context.out << '\n';
    std::vector<Row> rows{{"POD", "AGE", "STATE", "ASKS", "WHY"}};
    for (const WaitingPod& one : waiting) {
        rows.push_back({one.pod->full_name(), age_of(one.pod->created, now), one.state,
                        asked_text(*one.pod), one.why});
    }
    print_rows(context.out, rows);
}

Json status_json(const PlacementPicture& picture, const std::vector<WaitingPod>& waiting) {
    Json resources = Json::array();
    for (const auto& [resource, one] : summary_of(picture.books)) {
        resources.push_back({{"resource", resource},
                             {"nodes", one.nodes.size()},
                             {"whollyFreeNodes", one.free_nodes.size()},
                             {"gpus", one.gpus},
                             {"freeGpus", one.free_gpus},
                             {"units", one.units},
                             {"freeUnits", one.free_units},
                             {"freeUnitsOnUsedGpus", one.free_on_used}});
    }
    Json pods = Json::array();
    for (const WaitingPod& one : waiting) {
        pods.push_back({{"pod", one.pod->full_name()},
                        {"created", one.pod->created},
                        {"state", one.state},
                        {"gang", one.gang},
                        {"asks", asked_text(*one.pod)},
                        {"why", one.why}});
    }
    Json gpus = Json::array();
    for (const auto& row : picture.books.gpus()) {
        gpus.push_back({{"node", row.node},
                        {"gpu", row.gpu},
                        {"resource", row.resource},
                        {"units", row.units},
                        {"free", row.free},
                        {"pods", row.pods}});
    }
    return {{"resources", std::move(resources)},
            {"overbooked", picture.books.overbooked()},
            {"waiting", std::move(pods)},
            {"gpus", std::move(gpus)}};
}

void status(Context& context, const StatusOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    auto picture = read_placement(context, *connection->api, words.cluster);
    if (!picture) return;
    const auto waiting = waiting_pods(*picture);
    if (words.format == "table") {
        print_status(context, *picture, waiting);
    } else {
        print_answer(context.out, "PlacementStatus", status_json(*picture, waiting), words.format);
    }
}

void add_status(command_line::Command& placement, Context& context) {
    command_line::Command* command = placement.add_subcommand(
        "status", "Show how much of the GPUs is reserved, and which pods wait and why");
    command->footer("aliquot placement status\naliquot placement status -o json");
    auto words = std::make_shared<StatusOptions>();
    add_output(*command, words->format);
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { status(context, *words); });
}

// ---- release --------------------------------------------------------------------------------------

struct ReleaseOptions {
    ClusterOptions cluster;
    std::vector<std::string> pods;
    bool all = false;
    bool dry_run = false;
};

/// The gated pods that were named. Empty: it was said what is wrong.
std::optional<std::vector<kube_client::ObjectKey>> chosen_pods(Context& context,
                                                               kube_client::Api& api,
                                                               const ReleaseOptions& words,
                                                               const std::string& space) {
    std::vector<kube_client::ObjectKey> keys;
    if (!words.all) {
        for (const std::string& name : words.pods) keys.push_back({space, name});
        return keys;
    }
    const auto picture = read_placement(context, api, words.cluster);
    if (!picture) return std::nullopt;
    for (const GpuPod& pod : picture->pods) {
        if (pod.is_gated && (words.cluster.namespace_name.empty() || pod.name_space == space))
            keys.push_back({pod.name_space, pod.name});
    }
    return keys;
}

/// Opens one gate. False: it was said why not.
bool open_gate(Context& context, kube_client::Api& api, const ReleaseOptions& words,
               const kube_client::ObjectKey& key) {
    constexpr unsigned kMostTries = 5;  // somebody else may write the pod meanwhile
    for (unsigned tries = 1;; ++tries) {
        const auto pod = api.get(kube_client::resources::pods(), key, call_of(words.cluster));
        if (!pod) {
            fail(context, pod.failure());
            return false;
        }
        const std::string title = "pod/" + key.name;
        const auto patch = scheduling::release_patch(pod->json, {}, {});
        if (!patch) {
            context.out << title << " unchanged: it has no gate aliquot.dev/placement\n";
            return true;
        }
        const auto done =
            api.patch(kube_client::resources::pods(), key, *patch,
                      {.kind = kube_client::PatchKind::kJson,
                       .write = {.dry_run = words.dry_run, .call = call_of(words.cluster)}});
        if (done) {
            context.out << title << " released" << (words.dry_run ? " (dry run)" : "") << '\n';
            return true;
        }
        const bool again = done.failure().is(kube_client::Reason::kInvalid) ||
                           done.failure().is(kube_client::Reason::kConflict);
        if (again && tries < kMostTries) continue;
        fail(context, done.failure());
        return false;
    }
}

void release(Context& context, const ReleaseOptions& words) {
    if (words.all == !words.pods.empty())
        return fail(context, kUsage, "which pods? expected names, or --all");
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto keys = chosen_pods(context, *connection->api, words, connection->namespace_name);
    if (!keys) return;
    if (keys->empty()) context.err << "aliquot: no pod has the gate aliquot.dev/placement\n";
    for (const auto& key : *keys) {
        if (!open_gate(context, *connection->api, words, key)) return;
    }
}

void add_release(command_line::Command& placement, Context& context) {
    command_line::Command* command = placement.add_subcommand(
        "release",
        "Let pods go to kube-scheduler without a place: for when the controller is down\n\n"
        "Removes the scheduling gate aliquot.dev/placement. kube-scheduler then places them by "
        "the\n"
        "number of devices, as in a namespace that did not ask for placement.");
    command->footer(
        "aliquot placement release train-0 -n research\n"
        "aliquot placement release --all");
    auto words = std::make_shared<ReleaseOptions>();
    command->add_option("POD", words->pods, "Names of gated pods", "...");
    command->add_flag("--all", words->all, "All gated pods, of one namespace with -n");
    command->add_flag("--dry-run", words->dry_run,
                      "Let the API server validate it without changing anything");
    add_namespace_flag(*command, words->cluster, "Namespace of the pods");
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { release(context, *words); });
}

}  // namespace

void add_placement_command(command_line::Command& program, Context& context) {
    command_line::Command* placement = program.add_subcommand(
        "placement", "Show and control where pods of the cluster get their GPUs");
    placement->require_subcommand(1);
    placement->footer("aliquot placement status\naliquot placement release --all");
    add_status(*placement, context);
    add_release(*placement, context);
    add_placement_defrag(*placement, context);
}

}  // namespace aliquot::cli
