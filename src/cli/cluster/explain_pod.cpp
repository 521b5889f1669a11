// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/explain_pod.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.h"
#include "base/time_text.h"
#include "cli/answer.h"
#include "cli/cluster/placement_books.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "scheduling/plan.h"

namespace aliquot::cli {
namespace {

using Json = nlohmann::ordered_json;
using scheduling::Decision;
using scheduling::GpuPod;

constexpr std::chrono::minutes kLeastRun{10};  // --placement-preemption-least-run
constexpr char kAsks[] = "aliquot.dev/placement=enabled";

struct ExplainPodOptions {
    ClusterOptions cluster;
    std::string name;
    std::string format = "text";
    unsigned top = 5;
};

/// What is told of one pod.
struct PodStory {
    std::string state;  // "running", "placed", "unschedulable", "waiting", "unplaced"
    std::string what;   // one line
    std::string advice;
    std::vector<std::pair<scheduling::Target, bool>> targets;  // planned, and whether it is there
    scheduling::DeviceUnits granted;
    std::vector<scheduling::NearMiss> misses;
    std::optional<GangPicture> gang;
    std::optional<scheduling::Preemption> preemption;  // what the controller may do for it
};

void add_plan(const GpuPod& pod, PodStory& story) {
    const auto plan = pod.plan.empty() ? std::nullopt : scheduling::parse_plan(pod.plan);
    if (!plan) return;
    for (const scheduling::Target& target : plan->targets)
        story.targets.emplace_back(target, target.node == pod.node);
}

/// kube-scheduler bound it.
void tell_bound(const PlacementPicture& picture, const GpuPod& pod, PodStory& story) {
    story.state = "running";
    const auto choice = std::find_if(story.targets.begin(), story.targets.end(),
                                     [&](const auto& one) { return one.first.node == pod.node; });
    if (story.targets.empty()) {
        story.what = "on " + pod.node + "; kube-scheduler chose the node, no GPU was planned";
    } else if (choice == story.targets.end()) {
        story.what = "on " + pod.node + ", which was none of its planned nodes";
    } else {
        const auto number = choice - story.targets.begin() + 1;
        story.what = "on " + pod.node + ", choice " + std::to_string(number) + " of " +
                     std::to_string(story.targets.size()) + "; kube-scheduler took it of these";
    }
    const auto node = picture.nodes.find(pod.node);
    if (node == picture.nodes.end()) return;
    const auto granted = node->second.granted.find(pod.uid);
    if (granted != node->second.granted.end()) story.granted = granted->second;
}

constexpr char kIfItStays[] =
    "if it stays so, the controller is down: kubectl -n aliquot-system get pods; ";

/// It is placed together with others.
void tell_gang(const GpuPod& pod, PodStory& story) {
    const scheduling::GangTurn& turn = story.gang->turn;
    story.what = story.gang->why().substr(turn.name.size() + std::string_view(": ").size());
    story.misses = story.gang->misses;
    if (story.gang->decision.kind == Decision::Kind::kNever) {
        story.advice =
            "no cluster state lets it start: ask for less, take fewer pods, or add nodes; the "
            "label "
            "aliquot.dev/gang=none lets its pods start one by one";
    } else if (!turn.ask.empty() && story.gang->has_room()) {
        const auto self = std::find_if(turn.ask.begin(), turn.ask.end(),
                                       [&](const auto* one) { return one->uid == pod.uid; });
        if (self != turn.ask.end()) {
            const auto index = static_cast<std::size_t>(self - turn.ask.begin());
            story.targets.emplace_back(story.gang->decision.targets[index], false);
        }
        story.advice = std::string(kIfItStays) +
                       "'aliquot placement release' lets each of its pods go without a place";
    }
}

void tell_gated(PlacementPicture& picture, const GpuPod& pod, unsigned top, PodStory& story) {
    story.state = "waiting";
    story.gang = gang_of(picture, pod, top);
    if (story.gang) return tell_gang(pod, story);
    const Decision decision = picture.books.what_if(pod);
    if (pod.is_gated_else) {
        story.what = "another scheduling gate holds it, too; it is placed when that one is gone";
        return;
    }
    if (decision.kind == Decision::Kind::kPlaced) {
        for (const scheduling::Target& target : decision.targets)
            story.targets.emplace_back(target, false);
        story.what = "there is room, the controller places it next";
        story.advice = std::string(kIfItStays) + "'aliquot placement release " + pod.name + " -n " +
                       pod.name_space + "' lets it go without a place";
        return;
    }
    if (decision.kind == Decision::Kind::kNotServed) {
        story.what = "no agent of Aliquot serves what it asks for; the controller lets it go";
        return;
    }
    story.what = decision.why;
    if (decision.kind == Decision::Kind::kNever)
        story.advice = "no node could take it, were it empty: ask for less, or add such a node";
    story.misses = picture.books.near_misses(pod, top);
    const auto now = std::chrono::system_clock::now();
    story.preemption =
        picture.books.preemption_for(pod, {.bound_before = rfc3339(now - kLeastRun)});
}

std::string preemption_text(const scheduling::Preemption& preemption) {
    if (preemption.victims.empty()) return "not needed: pods leave " + preemption.node;
    std::string names;
    for (const GpuPod& one : preemption.victims)
        names += (names.empty() ? "" : ", ") + one.full_name();
    return "with --placement-preemption the controller would evict " + names + " from " +
           preemption.node;
}

PodStory story_of(PlacementPicture& picture, const GpuPod& pod, unsigned top) {
    PodStory story;
    if (!pod.is_gated) add_plan(pod, story);
    if (!pod.node.empty()) {
        tell_bound(picture, pod, story);
    } else if (pod.is_gated) {
        tell_gated(picture, pod, top, story);
    } else if (!story.targets.empty()) {
        const bool refused = !pod.unschedulable.empty();
        story.state = refused ? "unschedulable" : "placed";
        story.what =
            refused ? "kube-scheduler finds none of its planned nodes good: " + pod.unschedulable
                    : "kube-scheduler binds it next";
    } else {
        story.state = "unplaced";
        story.what = "Aliquot does not place it: it has no gate aliquot.dev/placement";
        story.advice = "label the namespace " + std::string(kAsks) +
                       " before the pod is made (aliquot install --placement); "
                       "'aliquot doctor pod " +
                       pod.name + " -n " + pod.name_space + "' tells why kube-scheduler waits";
    }
    return story;
}

/// What would become of a gated pod of the gang now.
std::string fate_of(const GangPicture& gang, const GpuPod& pod, std::string& node) {
    const auto& ask = gang.turn.ask;
    for (std::size_t i = 0; i < ask.size(); ++i) {
        if (ask[i]->uid != pod.uid) continue;
        node = gang.decision.targets.size() > i ? gang.decision.targets[i].node : std::string();
        if (gang.has_room()) return "fits";
        if (gang.decision.kind == Decision::Kind::kNotServed) return "not served";
        return gang.decision.fits.size() > i && gang.decision.fits[i] ? "would fit" : "no room";
    }
    return ask.empty() ? "waits" : "comes after them";
}

/// Its pods: name, state, node.
std::vector<Row> gang_rows(const GangPicture& gang) {
    std::vector<Row> rows;
    for (const GpuPod* const one : gang.turn.let_go) {
        rows.push_back({one->full_name(), one->node.empty() ? "placed" : "running", one->node});
    }
    for (const GpuPod* const one : gang.turn.waiting) {
        std::string node;
        const std::string fate = fate_of(gang, *one, node);
        rows.push_back({one->full_name(), fate, node});
    }
    return rows;
}

void print_gang(Context& context, const GangPicture& gang) {
    context.out << '\n';
    std::vector<Row> rows{{"POD OF THE GANG", "STATE", "NODE"}};
    for (Row& row : gang_rows(gang)) rows.push_back(std::move(row));
    print_rows(context.out, rows);
}

void print_story(Context& context, const GpuPod& pod, const PodStory& story) {
    const auto line = [&](std::string_view name, const std::string& value) {
        if (value.empty()) return;
        context.out << name << std::string(10 - name.size(), ' ') << value << '\n';
    };
    line("Pod", pod.full_name());
    line("Asks", asked_text(pod));
    line("Age", age_of(pod.created, std::chrono::system_clock::now()));
    if (story.gang) {
        line("Gang", story.gang->turn.name.substr(std::string_view("gang ").size()) +
                         (story.gang->turn.size > 0 ? ", " + std::to_string(story.gang->turn.size) +
                                                          " pods start together"
                                                    : ""));
    }
    line("State", story.state + ": " + story.what);
    line("GPUs", units_text(story.granted));
    if (story.preemption) line("Preempts", preemption_text(*story.preemption));
    line("Fix", story.advice);
    if (!story.targets.empty()) {
        context.out << '\n';
        std::vector<Row> rows{{"CHOICE", "NODE", "GPUS", "TAKEN"}};
        for (std::size_t i = 0; i < story.targets.size(); ++i) {
            const auto& [target, taken] = story.targets[i];
            rows.push_back(
                {std::to_string(i + 1), target.node, units_text(target.units), taken ? "yes" : ""});
        }
        print_rows(context.out, rows);
    }
    if (story.gang) print_gang(context, *story.gang);
    if (story.misses.empty()) return;
    context.out << '\n';
    std::vector<Row> rows{{"NODE", "WHY NOT", "FREE WHEN THESE END"}};
    for (const scheduling::NearMiss& one : story.misses)
        rows.push_back({one.node, one.why, join(one.ends, ", ")});
    print_rows(context.out, rows);
}

Json story_json(const GpuPod& pod, const PodStory& story) {
    Json targets = Json::array();
    for (const auto& [target, taken] : story.targets)
        targets.push_back({{"node", target.node}, {"units", target.units}, {"taken", taken}});
    Json misses = Json::array();
    for (const auto& one : story.misses)
        misses.push_back({{"node", one.node}, {"why", one.why}, {"ends", one.ends}});
    Json gang;
    if (story.gang) {
        Json pods = Json::array();
        for (const Row& row : gang_rows(*story.gang))
            pods.push_back({{"pod", row[0]}, {"state", row[1]}, {"node", row[2]}});
        gang = {{"name", story.gang->turn.name.substr(std::string_view("gang ").size())},
                {"size", story.gang->turn.size},
                {"halfPlaced", story.gang->turn.is_half_placed},
                {"pods", std::move(pods)}};
    }
    Json preemption;
    if (story.preemption) {
        Json victims = Json::array();
        for (const GpuPod& one : story.preemption->victims) victims.push_back(one.full_name());
        preemption = {{"node", story.preemption->node}, {"pods", std::move(victims)}};
    }
    return {{"pod", pod.full_name()},        {"node", pod.node},
            {"asks", asked_text(pod)},       {"created", pod.created},
            {"state", story.state},          {"what", story.what},
            {"fix", story.advice},           {"granted", story.granted},
            {"choices", std::move(targets)}, {"nearMisses", std::move(misses)},
            {"gang", std::move(gang)},       {"preemption", std::move(preemption)}};
}

void explain_pod(Context& context, const ExplainPodOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const kube_client::ObjectKey key{connection->namespace_name, words.name};
    const auto object =
        connection->api->get(kube_client::resources::pods(), key, call_of(words.cluster));
    if (!object) return fail(context, object.failure());
    const auto pod = scheduling::read_gpu_pod(object->json);
    if (!pod) return fail(context, kCouldNotRun, pod.error().message);
    if (pod->is_over || pod->devices.empty()) {
        const bool by_claim = object->json.contains("\"resourceClaims\"");
        return fail(context, kUsage,
                    "pod " + pod->full_name() +
                        (pod->is_over ? " has ended"
                         : by_claim   ? " asks by ResourceClaims, which kube-scheduler places; ask "
                                        "'aliquot doctor pod " +
                                          pod->name + " -n " + pod->name_space + "' why it waits"
                                    : " asks for no extended resource, so for no GPU"));
    }
    auto picture = read_placement(context, *connection->api, words.cluster);
    if (!picture) return;
    const PodStory story = story_of(*picture, *pod, words.top);
    if (words.format == "text") {
        print_story(context, *pod, story);
    } else {
        print_answer(context.out, "PodPlacement", story_json(*pod, story), words.format);
    }
    const bool fine = story.state == "running" || story.state == "placed";
    context.exit_code = fine ? kOk : kFindings;
}

}  // namespace

void add_explain_pod(command_line::Command& explain, Context& context) {
    command_line::Command* command =
        explain.add_subcommand("pod",
                               "Explain where a pod of the cluster went, or why it waits\n\n"
                               "For one that waits: what is missing on each node, and which pods "
                               "would have to end first.\n"
                               "Exit code 0: it has a place; 1: it waits.");
    command->footer(
        "aliquot explain pod train-0 -n research\n"
        "aliquot explain pod train-0 -n research -o json");
    auto words = std::make_shared<ExplainPodOptions>();
    command->add_option("NAME", words->name, "The pod", " ")->required();
    command->add_option("--top", words->top, "How many nodes to list (5)", "NUMBER")
        ->range(0U, 1000U);
    add_output(*command, words->format, {"text"});
    add_namespace_flag(*command, words->cluster, "Namespace of the pod");
    add_cluster_flags(*command, words->cluster);
    command->callback([words, &context] { explain_pod(context, *words); });
}

}  // namespace aliquot::cli
