// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/placement_rules_world.h"

#include <algorithm>

#include "sharing/config.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
namespace fleet = sim::fleet;
namespace resources = kube_client::resources;

constexpr char kShares[] =
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, rename: "
    "nvidia.com/gpu.shared, replicas: 4}\n";
constexpr unsigned kNodes = 6;
constexpr unsigned kZones = 3;

std::string node_name(unsigned index) { return "n" + std::to_string(index); }

}  // namespace

PlacementRulesWorld::PlacementRulesWorld() {
    real_ = true;
    more_words_ = {"--placement-preemption", "--placement-preemption-least-run", "0s"};
    // What is tested is what is decided, and not how fast.
    scheduler_lines_ = "podMaxBackoffSeconds: 2\n";
}

void PlacementRulesWorld::add_nodes() {
    const auto read = sharing::read_config("config", kShares, sharing::Compatibility::kStrict);
    ASSERT_TRUE(read.config);
    for (unsigned i = 0; i < kNodes; ++i) {
        auto node = fleet::LightNode::make(node_name(i),
                                           {.model = "a2", .gpus = 2, .sharing = *read.config});
        ASSERT_TRUE(node) << node.error().message;
        ASSERT_TRUE(kubelets_->add(*std::move(node), "z" + std::to_string(i % kZones)));
        patch_node(
            i, {{"metadata",
                 {{"labels", {{"rank", std::to_string(i)}, {"disk", i == 4 ? "ssd" : "hdd"}}}}}});
    }
    for (const auto& [name, value] : {std::pair("low", 100), std::pair("high", 1000)}) {
        const kube_client::Resource classes{.group = "scheduling.k8s.io",
                                            .version = "v1",
                                            .plural = "priorityclasses",
                                            .kind = "PriorityClass",
                                            .namespaced = false};
        make(classes, "", {{"metadata", {{"name", name}}}, {"value", value}});
    }
}

void PlacementRulesWorld::SetUp() {
    FleetWorld::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // A new node is tainted until its kubelet is there.
    const auto ready = [&] {
        const auto nodes = api().list(resources::nodes(), {});
        return nodes && std::ranges::all_of(nodes->items, [](const auto& node) {
                   return !kube_client::json_at(node.json, "/spec/taints") &&
                          kube_client::string_at(node.json,
                                                 "/status/allocatable/nvidia.com~1gpu.shared");
               });
    };
    for (unsigned i = 0; i < 600 && !ready(); ++i) std::this_thread::sleep_for(50ms);
    const auto leads = [](const auto& one) { return one->said().contains("kube.leading"); };
    for (unsigned i = 0; i < 600 && !std::ranges::any_of(controllers_, leads); ++i)
        std::this_thread::sleep_for(50ms);
}

void PlacementRulesWorld::TearDown() {
    if (connection_.api) clean();
    FleetWorld::TearDown();
}

void PlacementRulesWorld::add_pod(const std::string& name, unsigned count, const Json& more,
                                  const Json& labels) {
    Json container{{"name", "main"}, {"image", "none.invalid/c:1"}};
    if (count > 0) container["resources"]["limits"][kShare] = std::to_string(count);
    Json pod{{"metadata", {{"name", name}, {"labels", labels}}},
             {"spec", {{"containers", Json::array({container})}}}};
    if (gated_ && count > 0 && !more.contains("nodeName"))
        pod["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
    for (const auto& [key, value] : more.items()) {
        // A list that is there is added to.
        if (pod["spec"].contains(key) && key == "schedulingGates")
            pod["spec"][key].insert(pod["spec"][key].end(), value.begin(), value.end());
        else if (key == "container")
            pod["spec"]["containers"][0].merge_patch(value);
        else
            pod["spec"][key] = value;
    }
    const auto made = api().create(resources::pods(), kSpace, pod.dump());
    ASSERT_TRUE(made) << made.failure().message;
    asked_.push_back(name);
}

void PlacementRulesWorld::fill(const std::string& node, unsigned count, const std::string& cpu) {
    const std::string name = "filler" + std::to_string(++fills_);
    Json container{{"name", "main"}, {"image", "none.invalid/c:1"}};
    container["resources"]["requests"]["cpu"] = cpu;
    if (count > 0) container["resources"]["limits"][kShare] = std::to_string(count);
    const Json pod{{"metadata", {{"name", name}, {"labels", {{"app", "filler"}}}}},
                   {"spec", {{"nodeName", node}, {"containers", Json::array({container})}}}};
    const auto made = api().create(resources::pods(), kSpace, pod.dump());
    ASSERT_TRUE(made) << made.failure().message;
}

void PlacementRulesWorld::patch_node(unsigned index, const Json& patch) {
    const auto done = api().patch(resources::nodes(), {"", node_name(index)}, patch.dump());
    ASSERT_TRUE(done) << done.failure().message;
}

void PlacementRulesWorld::taint(unsigned index, const char* effect) {
    const Json taint{{"key", "dedicated"}, {"value", "others"}, {"effect", effect}};
    patch_node(index, {{"spec", {{"taints", Json::array({taint})}}}});
}

void PlacementRulesWorld::make(const kube_client::Resource& resource, const std::string& space,
                               Json object) {
    object["apiVersion"] = resource.api_version();
    object["kind"] = resource.kind;
    const std::string name = object["metadata"]["name"];
    const auto made = api().create(resource, space, object.dump());
    ASSERT_TRUE(made || made.failure().is(kube_client::Reason::kAlreadyExists))
        << made.failure().message;
    made_.emplace_back(resource, kube_client::ObjectKey{space, name});
}

void PlacementRulesWorld::remove_pod(const std::string& name) {
    (void)api().remove(resources::pods(), {kSpace, name}, {.grace_seconds = 0});
}

void PlacementRulesWorld::open_gate(const std::string& pod, const std::string& gate) {
    const auto found = api().get(resources::pods(), {kSpace, pod});
    ASSERT_TRUE(found);
    Json object = Json::parse(found->json);
    Json left = Json::array();
    for (const Json& one : object["spec"].value("schedulingGates", Json::array()))
        if (one["name"] != gate) left.push_back(one);
    object["spec"]["schedulingGates"] = left;
    ASSERT_TRUE(api().replace(resources::pods(), {kSpace, pod}, object.dump()));
}

void PlacementRulesWorld::settle() {
    const auto runs = [&] {
        const auto pods = api().list(resources::pods(), {.namespace_name = kSpace});
        return pods && std::ranges::all_of(pods->items, [](const auto& pod) {
                   return kube_client::string_at(pod.json, "/status/phase") == "Running";
               });
    };
    for (unsigned i = 0; i < 400 && !runs(); ++i) std::this_thread::sleep_for(50ms);
    std::this_thread::sleep_for(500ms);
}

PlacementRulesWorld::Placed PlacementRulesWorld::placed() {
    Placed found;
    for (const std::string& name : asked_) {
        const auto pod = api().get(resources::pods(), {kSpace, name});
        if (!pod) continue;
        found[name] = kube_client::string_at(pod->json, "/spec/nodeName").value_or("");
    }
    return found;
}

void PlacementRulesWorld::bind_volumes() {
    const auto volumes = api().list(resources::persistent_volumes(), {});
    for (const auto& volume : volumes ? volumes->items : std::vector<kube_client::Object>{}) {
        const Json claim = Json::parse(volume.json)["spec"].value("claimRef", Json());
        if (!claim.is_object()) {
            (void)api().patch(resources::persistent_volumes(), volume.key(),
                              R"({"status":{"phase":"Available"}})",
                              {.write = {.subresource = "status"}});
            continue;
        }
        const std::string name = claim.value("name", "");
        const Json patch{
            {"metadata", {{"annotations", {{"pv.kubernetes.io/bind-completed", "yes"}}}}},
            {"spec", {{"volumeName", volume.name}}}};
        (void)api().patch(resources::volume_claims(), {kSpace, name}, patch.dump());
        for (const auto& [resource, key] :
             {std::pair(resources::volume_claims(), kube_client::ObjectKey{kSpace, name}),
              std::pair(resources::persistent_volumes(), volume.key())})
            (void)api().patch(resource, key, R"({"status":{"phase":"Bound"}})",
                              {.write = {.subresource = "status"}});
    }
}

void PlacementRulesWorld::clean() {
    real_peers::clear_pods(api(), kSpace);
    for (unsigned i = 0; i < kNodes; ++i)
        (void)api().patch(resources::nodes(), {"", node_name(i)},
                          R"({"spec":{"taints":null,"unschedulable":null}})");
    for (auto one = made_.rbegin(); one != made_.rend(); ++one) {
        if (one->first.kind == "PriorityClass") continue;  // for the next round as well
        // Nobody is there who lets go of what protects a volume that is used.
        (void)api().patch(one->first, one->second, R"({"metadata":{"finalizers":null}})");
        (void)api().remove(one->first, one->second, {.grace_seconds = 0});
    }
    std::erase_if(made_, [](const auto& one) { return one.first.kind != "PriorityClass"; });
    asked_.clear();
}

std::string PlacementRulesWorld::said() {
    std::string text = nodes_text();
    for (const auto& controller : controllers_) text += "\n---\n" + controller->said();
    return text + "\n---\n" + kube_scheduler_->said();
}

testing::AssertionResult PlacementRulesWorld::comes_to(
    const std::function<bool(const Placed&)>& right) {
    const auto limit = std::chrono::steady_clock::now() + 120s;
    auto holds_since = std::chrono::steady_clock::time_point::max();
    while (std::chrono::steady_clock::now() < limit) {
        const auto now = std::chrono::steady_clock::now();
        bind_volumes();
        if (!right(placed()))
            holds_since = std::chrono::steady_clock::time_point::max();
        else if (holds_since == std::chrono::steady_clock::time_point::max())
            holds_since = now;
        else if (now - holds_since > 2s)
            return testing::AssertionSuccess();
        std::this_thread::sleep_for(50ms);
    }
    auto failure = testing::AssertionFailure();
    for (const auto& [pod, node] : placed()) failure << pod << " on '" << node << "', ";
    return failure << said();
}

}  // namespace aliquot
