// SPDX-License-Identifier: Apache-2.0
//
// What kube-scheduler looks at besides GPUs, each with the pods that show it.
#include <algorithm>
#include <set>

#include "tests/e2e/placement_rules_world.h"

namespace aliquot {
namespace {

using Json = nlohmann::json;
using World = PlacementRulesWorld;
using Placed = World::Placed;
using Right = std::function<bool(const Placed&)>;
namespace resources = kube_client::resources;

constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kHost[] = "kubernetes.io/hostname";

Right on(const std::set<std::string>& nodes) {
    return [nodes](const Placed& placed) {
        return !placed.empty() && std::ranges::all_of(placed, [&](const auto& one) {
            return nodes.contains(one.second);
        });
    };
}
bool waits(const Placed& placed) {
    return std::ranges::all_of(placed, [](const auto& one) { return one.second.empty(); });
}
/// Each of `count` pods on another node.
Right apart(std::size_t count) {
    return [count](const Placed& placed) {
        std::set<std::string> nodes;
        for (const auto& [pod, node] : placed) nodes.insert(node);
        return nodes.size() == count && !nodes.contains("");
    };
}
/// Six pods, two in each zone.
bool even_in_zones(const Placed& placed) {
    std::map<int, int> zones;
    for (const auto& [pod, node] : placed) {
        if (node.empty()) return false;
        ++zones[(node.back() - '0') % 3];
    }
    return zones == std::map<int, int>{{0, 2}, {1, 2}, {2, 2}};
}

Json required(const Json& terms) {
    return {
        {"affinity",
         {{"nodeAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}}}}}}};
}
Json term(const char* key, const char* op, const Json& values,
          const char* of = "matchExpressions") {
    return {{of, Json::array({{{"key", key}, {"operator", op}, {"values", values}}})}};
}
Json selector(const char* app) { return {{"matchLabels", {{"app", app}}}}; }
Json near(const char* kind, const char* app, const char* topology) {
    return {{"affinity",
             {{kind,
               {{"requiredDuringSchedulingIgnoredDuringExecution",
                 Json::array({{{"labelSelector", selector(app)}, {"topologyKey", topology}}})}}}}}};
}
Json spread(const char* topology) {
    return {{"topologySpreadConstraints", Json::array({{{"maxSkew", 1},
                                                        {"topologyKey", topology},
                                                        {"whenUnsatisfiable", "DoNotSchedule"},
                                                        {"labelSelector", selector("web")}}})}};
}

std::function<void(World&)> one(const Json& more) {
    return [more](World& world) { world.add_pod("p", 2, more); };
}
std::function<void(World&)> several(unsigned count, const Json& more) {
    return [=](World& world) {
        for (unsigned i = 0; i < count; ++i)
            world.add_pod("p" + std::to_string(i), 1, more, {{"app", "web"}});
    };
}
/// One pod, once n0 to n4 are as `change` makes them.
std::function<void(World&)> besides(const std::function<void(World&, unsigned)>& change,
                                    const Json& more = Json::object()) {
    return [=](World& world) {
        for (unsigned i = 0; i < 5; ++i) change(world, i);
        world.settle();
        world.add_pod("p", 2, more);
    };
}
void fill_all(World& world, const Json& more) {
    for (unsigned i = 0; i < 6; ++i)
        for (unsigned gpu = 0; gpu < 2; ++gpu)
            world.add_pod("full" + std::to_string(i) + std::to_string(gpu), 4, more);
}
/// A volume on a node, and a claim for it; of a class whose volumes wait for their first pod, or bound.
void add_volume(World& world, const std::string& node, bool is_bound) {
    const Json mode = is_bound ? "Immediate" : "WaitForFirstConsumer";
    world.make(resources::storage_classes(), "",
               {{"metadata", {{"name", "local"}}},
                {"provisioner", "kubernetes.io/no-provisioner"},
                {"volumeBindingMode", mode}});
    Json volume{
        {"metadata", {{"name", "disk"}}},
        {"spec",
         {{"capacity", {{"storage", "1Gi"}}},
          {"accessModes", {"ReadWriteOnce"}},
          {"storageClassName", "local"},
          {"local", {{"path", "/data"}}},
          {"nodeAffinity",
           {{"required", {{"nodeSelectorTerms", Json::array({term(kHost, "In", {node})})}}}}}}}};
    if (is_bound) volume["spec"]["claimRef"] = {{"namespace", "team"}, {"name", "data"}};
    world.make(resources::persistent_volumes(), "", volume);
    world.make(resources::volume_claims(), "team",
               {{"metadata", {{"name", "data"}}},
                {"spec",
                 {{"accessModes", {"ReadWriteOnce"}},
                  {"storageClassName", "local"},
                  {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}});
    world.add_pod(
        "p", 1,
        {{"volumes",
          Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}})}});
}

}  // namespace

std::vector<SchedulingRule> rules_of_nodes() {
    const Json preferred{
        {"affinity",
         {{"nodeAffinity",
           {{"preferredDuringSchedulingIgnoredDuringExecution",
             Json::array({{{"weight", 100}, {"preference", term(kZone, "In", {"z2"})}}})}}}}}};
    const Json tolerates{{"tolerations", Json::array({{{"key", "dedicated"},
                                                       {"operator", "Equal"},
                                                       {"value", "others"},
                                                       {"effect", "NoSchedule"}}})}};
    const auto taints = [](const char* effect) {
        return [effect](World& world, unsigned node) { world.taint(node, effect); };
    };
    const auto cordons = [](World& world, unsigned node) {
        world.patch_node(node, {{"spec", {{"unschedulable", true}}}});
    };
    const auto fills = [](World& world, unsigned node) {
        world.fill("n" + std::to_string(node), 0, "95");
    };
    const Json cpu{{"container", {{"resources", {{"requests", {{"cpu", "4"}}}}}}}};
    return {
        {"NodeSelector", one({{"nodeSelector", {{"disk", "ssd"}}}}), on({"n4"}), {}, {}},
        {"AffinityIn", one(required(Json::array({term(kZone, "In", {"z1"})}))), on({"n1", "n4"})},
        {"AffinityOfTwoTerms",
         one(required(
             Json::array({term(kZone, "NotIn", {"z0", "z1"}), term(kHost, "In", {"n0"})}))),
         on({"n0", "n2", "n5"})},
        {"AffinityGt", one(required(Json::array({term("rank", "Gt", {"4"})}))), on({"n5"})},
        {"AffinityOfFields",
         one(required(Json::array({term("metadata.name", "In", {"n3"}, "matchFields")}))),
         on({"n3"})},
        {"PreferredAffinity", one(preferred), on({"n2", "n5"})},
        {"Taint", besides(taints("NoSchedule")), on({"n5"})},
        {"TolerationOfTaint",
         [=](World& world) {
             world.taint(5, "NoExecute");
             besides(taints("NoSchedule"), tolerates)(world);
         },
         on({"n0", "n1", "n2", "n3", "n4"})},
        {"TaintPreferNoSchedule", besides(taints("PreferNoSchedule")), on({"n5"})},
        {"Cordon", besides(cordons), on({"n5"})},
        {"Cpu", besides(fills, cpu), on({"n5"})},
        {"CpuOfTheWholePod", besides(fills, {{"resources", {{"requests", {{"cpu", "4"}}}}}}),
         on({"n5"})},
        {"NodeNameByHand", one({{"nodeName", "n2"}}), on({"n2"})},
    };
}

std::vector<SchedulingRule> rules_of_other_pods() {
    const auto beside = [](const char* topology) {
        return [topology](World& world) {
            world.fill("n1", 0);
            world.settle();
            several(3, near("podAffinity", "filler", topology))(world);
        };
    };
    const Json port{
        {"container", {{"ports", Json::array({{{"containerPort", 80}, {"hostPort", 8080}}})}}}};
    return {
        {"AntiAffinity", several(6, near("podAntiAffinity", "web", kHost)), apart(6)},
        {"AntiAffinityOfOneTooMany", several(7, near("podAntiAffinity", "web", kHost)),
         [](const Placed& placed) {
             // Six of them on six nodes.
             std::set<std::string> nodes;
             for (const auto& [pod, node] : placed) nodes.insert(node);
             return nodes.size() == 7 && nodes.contains("");
         }},
        {"AffinityByZone", beside(kZone), on({"n1", "n4"})},
        {"AffinityByNode", beside(kHost), on({"n1"})},
        {"SpreadOverZones", several(6, spread(kZone)), even_in_zones},
        {"SpreadOverNodes", several(6, spread(kHost)), apart(6)},
        {"HostPortOfTwo", several(2, port), apart(2)},
        {"HostPortOfSix", several(6, port), apart(6)},
    };
}

std::vector<SchedulingRule> rules_of_volumes_and_more() {
    const auto with_class = [](World& world) {
        const kube_client::Resource classes{.group = "node.k8s.io",
                                            .version = "v1",
                                            .plural = "runtimeclasses",
                                            .kind = "RuntimeClass",
                                            .namespaced = false};
        world.make(classes, "",
                   {{"metadata", {{"name", "heavy"}}},
                    {"handler", "heavy"},
                    {"overhead", {{"podFixed", {{"cpu", "4"}}}}},
                    {"scheduling", {{"nodeSelector", {{"disk", "hdd"}}}}}});
        for (const char* const node : {"n0", "n1", "n2", "n3"}) world.fill(node, 0, "95");
        world.settle();
        world.add_pod("p", 1, {{"runtimeClassName", "heavy"}});
    };
    const Json init{
        {"initContainers",
         Json::array({{{"name", "first"},
                       {"image", "none.invalid/c:1"},
                       {"resources", {{"limits", {{"nvidia.com/gpu.shared", "3"}}}}}}})}};
    const auto almost_full = [](World& world, unsigned node) {
        world.fill("n" + std::to_string(node), 3);
        world.fill("n" + std::to_string(node), 3);
    };
    const Json gate{{"schedulingGates", Json::array({{{"name", "example.com/hold"}}})}};
    const auto high_runs = [](const Placed& placed) {
        return !placed.at("high").empty() && (!placed.contains("low") || placed.at("low").empty());
    };
    return {
        {"BoundVolume", [](World& world) { add_volume(world, "n3", true); }, on({"n3"})},
        {"VolumeThatWaitsForItsFirstPod", [](World& world) { add_volume(world, "n2", false); },
         on({"n2"})},
        {"HigherPriorityFirst",
         [](World& world) {
             fill_all(world, {{"priorityClassName", "high"}});
             world.settle();
             world.add_pod("low", 4, {{"priorityClassName", "low"}});
             world.add_pod("high", 4, {{"priorityClassName", "high"}});
         },
         [](const Placed& placed) { return placed.at("low").empty() && placed.at("high").empty(); },
         [](World& world) { world.remove_pod("full30"); }, high_runs},
        {"AnotherGate", one(gate), waits,
         [](World& world) { world.open_gate("p", "example.com/hold"); },
         [](const Placed& placed) { return !waits(placed); }},
        {"RuntimeClass", with_class, on({"n5"})},
        {"InitContainer", besides(almost_full, init), on({"n5"})},
        {"PreEmption",
         [](World& world) {
             fill_all(world, {{"priorityClassName", "low"}});
             world.settle();
             world.add_pod("high", 4, {{"priorityClassName", "high"}});
         },
         [](const Placed& placed) {
             return !placed.at("high").empty() && placed.size() == 12;  // one of low has gone
         }},
    };
}

}  // namespace aliquot
