// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/fleet_world.h"

#include <algorithm>
#include <csignal>

#include "scheduling/gpu_pod.h"
#include "scheduling/plan.h"
#include "sharing/config.h"

namespace aliquot {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
namespace fleet = sim::fleet;
namespace resources = kube_client::resources;

constexpr char kConfig[] =
    "version: v1\nsharing:\n  SHARING:\n    resources:\n    - {name: nvidia.com/gpu, rename: "
    "nvidia.com/gpu.shared, replicas: 4}\n";
constexpr unsigned kNodesOfAKind = 3;

/// Always another owner for a controller's limit on remaking pods.
std::string uid_of(const std::string& owner) {
    std::string digits = std::to_string(std::hash<std::string>()(owner));
    digits.insert(0, 20 - std::min<std::size_t>(20, digits.size()), '0');
    return "11111111-2222-3333-" + digits.substr(4, 4) + "-" + digits.substr(8, 12);
}

}  // namespace

void FleetWorld::cordon(const std::string& node, bool closed) {
    const Json patch{{"spec", {{"unschedulable", closed ? Json(true) : Json()}}}};
    ASSERT_TRUE(api().patch(resources::nodes(), {"", node}, patch.dump()));
}

std::string FleetWorld::node_of(const std::string& owner) {
    const auto all = pods();
    const auto pod = all.find(owners_.at(owner).pod);
    return pod == all.end() ? "" : pod->second.node;
}

void FleetWorld::SetUp() {
    if (real_ && !real_peers::why_not().empty()) GTEST_SKIP() << real_peers::why_not();
    start_server();
    if (HasFatalFailure()) return;
    kubelets_ = std::make_unique<fleet::Kubelets>(
        api(), fleet::KubeletOptions{.heartbeat = 0ms, .evict_after = 0ms});
    add_nodes();
    if (HasFatalFailure()) return;
    kubelets_->start();
    start_scheduler();
    for (std::size_t i = 0; i < controllers_.size(); ++i) start_controller(i);
}

void FleetWorld::start_server() {
    kubeconfig_ = real_peers::kubeconfig();
    if (!real_) {
        auto started = sim::ApiServer::start(
            {.directory = directory_.path().native(), .collect_garbage = false});
        ASSERT_TRUE(started) << started.error().message;
        server_ = *std::move(started);
        kubeconfig_ = server_->kubeconfig_file();
    }
    auto connected =
        kube_client::connect({.kubeconfig = kubeconfig_, .burst = 10'000, .per_second = 100'000});
    ASSERT_TRUE(connected) << connected.error().message;
    connection_ = *std::move(connected);
    for (const char* const space : {kSpace, "aliquot-system"}) {
        const Json object{
            {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", space}}}};
        const auto made = api().create(resources::namespaces(), "", object.dump());
        ASSERT_TRUE(made || (real_ && made.failure().is(kube_client::Reason::kAlreadyExists)));
        // Made by a controller where there is one; pods need it.
        if (real_)
            (void)api().create(resources::service_accounts(), space,
                               R"({"metadata":{"name":"default"}})");
    }
    if (real_) real_peers::clear(api(), {kSpace, "aliquot-system"});
}

void FleetWorld::add_nodes() {
    std::string config = kConfig;
    config.replace(config.find("SHARING"), 7, sharing_);
    const auto read = sharing::read_config("config", config, sharing::Compatibility::kStrict);
    ASSERT_TRUE(read.config);
    for (unsigned i = 0; i < 2 * kNodesOfAKind; ++i) {
        const bool shared = i < kNodesOfAKind;
        fleet::NodeShape shape{.model = shared ? "a2" : "a100-80", .gpus = shared ? 2U : 4U};
        if (shared) shape.sharing = *read.config;
        auto node = fleet::LightNode::make("n" + std::to_string(i), shape);
        ASSERT_TRUE(node) << node.error().message;
        ASSERT_TRUE(kubelets_->add(*std::move(node), ""));
    }
}

void FleetWorld::TearDown() {
    for (auto& controller : controllers_) {
        if (!controller) continue;
        controller->process().signal(SIGCONT);
        controller->process().signal(SIGKILL);
        (void)controller->process().wait(10s);
    }
    scheduler_.reset();
    kube_scheduler_.reset();
    kubelets_.reset();
    if (real_ && connection_.api) real_peers::clear(api(), {kSpace, "aliquot-system"});
}

void FleetWorld::start_scheduler() {
    if (real_) {
        kube_scheduler_ =
            std::make_unique<real_peers::KubeScheduler>(kubeconfig_, scheduler_lines_);
        return;
    }
    scheduler_ = std::make_unique<fleet::Scheduler>(api(), fleet::SchedulerOptions{});
    scheduler_->start();
}

void FleetWorld::start_controller(std::size_t index) {
    std::vector<std::string> words{"--placement", "--placement-unfit-patience", "1s",
                                   "--placement-keep-after", "0s"};
    words.insert(words.end(), more_words_.begin(), more_words_.end());
    controllers_[index] = std::make_unique<contract::ControllerProcess>(
        kubeconfig_, "aliquot-system", configuration_, words);
}

// ---- who makes pods -------------------------------------------------------------------------------

void FleetWorld::add_owner(const std::string& name, Owner owner) {
    owners_[name] = std::move(owner);
}

void FleetWorld::remove_owner(const std::string& name) {
    const auto owner = owners_.find(name);
    if (owner == owners_.end()) return;
    const std::string pod = owner->second.pod;
    owners_.erase(owner);
    if (!pod.empty()) (void)api().remove(resources::pods(), {kSpace, pod});
}

void FleetWorld::tend_owners() {
    const auto all = pods();
    for (const auto& [name, pod] : all) {
        if (pod.is_over() && !pod.leaving) (void)api().remove(resources::pods(), {kSpace, name});
    }
    for (auto& [name, owner] : owners_) {
        const auto present = all.find(owner.pod);
        // After three in ten minutes the controller leaves it to a person.
        if (present != all.end() && owner.made > 3 && present->second.unschedulable &&
            !present->second.gated && present->second.node.empty())
            (void)api().remove(resources::pods(), {kSpace, owner.pod});
        if (present != all.end() && !present->second.is_over() && !present->second.leaving)
            continue;
        Json pod{
            {"metadata", {{"name", name + "-" + std::to_string(++owner.made)}}},
            {"spec",
             {{"containers",
               Json::array({{{"name", "main"},
                             {"image", "none.invalid/c:1"},
                             {"resources",
                              {{"limits", {{owner.resource, std::to_string(owner.count)}}}}}}})}}}};
        pod["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "apps/v1"},
                                                           {"kind", "ReplicaSet"},
                                                           {"name", name},
                                                           {"uid", uid_of(name)},
                                                           {"controller", true}}});
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = owner.cpu;
        if (owner.gated)
            pod["spec"]["schedulingGates"] = Json::array({{{"name", "aliquot.dev/placement"}}});
        if (!owner.node.empty()) pod["spec"]["nodeName"] = owner.node;
        const auto made = api().create(resources::pods(), kSpace, pod.dump());
        if (made) owner.pod = made->name;
    }
}

// ---- what there is --------------------------------------------------------------------------------

std::map<std::string, FleetWorld::Pod> FleetWorld::pods() {
    std::map<std::string, Pod> found;
    std::vector<kube_client::Object> objects;
    // Faults meet whoever asks.
    EXPECT_TRUE(soon([&] {
        auto list = api().list(resources::pods(), {.namespace_name = kSpace});
        if (list) objects = std::move(list->items);
        return static_cast<bool>(list);
    }));
    for (const auto& object : objects) {
        const auto read = scheduling::read_gpu_pod(object.json);
        if (!read || read->devices.empty()) continue;
        Pod pod{.name = read->name,
                .uid = read->uid,
                .node = read->node,
                .phase = kube_client::string_at(object.json, "/status/phase").value_or(""),
                .resource = read->devices[0].resource,
                .count = read->devices[0].count,
                .gated = read->is_gated,
                .leaving = read->is_leaving,
                .unschedulable = !read->unschedulable.empty(),
                .targets = {}};
        if (const auto plan = scheduling::parse_plan(read->plan)) {
            for (const auto& target : plan->targets) pod.targets.insert(target.node);
        }
        found[pod.name] = std::move(pod);
    }
    return found;
}

std::map<std::string, std::map<std::string, unsigned>> FleetWorld::free_units() const {
    std::map<std::string, std::map<std::string, unsigned>> free;
    kubelets_->visit([&](const fleet::LightNode& node, bool is_lost) {
        if (is_lost) return;
        for (const auto& resource : node.offer().resources) {
            std::set<std::string> ids;
            for (const auto& device : resource.devices()) {
                if (device.healthy) ids.insert(device.id);
            }
            for (const auto& [uid, held] : node.held()) {
                const auto of_resource = held.find(resource.name);
                if (of_resource == held.end()) continue;
                for (const std::string& id : of_resource->second) ids.erase(id);
            }
            free[node.name()][resource.name] = static_cast<unsigned>(ids.size());
        }
    });
    return free;
}

std::string FleetWorld::complaint() {
    tend_owners();
    const auto all = pods();
    const auto free = free_units();
    std::map<std::string, const Pod*> by_uid;
    for (const auto& [name, pod] : all) by_uid[pod.uid] = &pod;
    for (const auto& [name, owner] : owners_) {
        if (!all.contains(owner.pod)) return owner.pod + " is not there yet";
    }
    for (const auto& [name, pod] : all) {
        if (pod.leaving || pod.is_over()) return name + " is not gone yet";
        if (!pod.node.empty()) {
            if (pod.phase != "Running") return name + " on " + pod.node + " is " + pod.phase;
            continue;
        }
        for (const auto& [node, units] : free) {
            const auto has = units.find(pod.resource);
            if (has != units.end() && has->second >= pod.count)
                return name + (pod.gated ? " is gated" : " is not bound") + " and " + node +
                       " has room for it";
        }
        // One that no node could take while some were away was left to kube-scheduler, and waits there.
        if (!pod.gated && !pod.targets.empty()) return name + " was let go and is not bound";
    }
    std::string wrong;
    std::map<std::string, std::set<std::string>> ids;  // by node
    std::set<std::string> holders;
    kubelets_->visit([&](const fleet::LightNode& node, bool) {
        for (const auto& [uid, resources] : node.held()) {
            const auto pod = by_uid.find(uid);
            if (pod == by_uid.end()) wrong = node.name() + " keeps devices of a pod that is gone";
            if (!holders.insert(uid).second) wrong = uid + " holds devices of two nodes";
            for (const auto& [resource, held] : resources) {
                for (const std::string& id : held) {
                    if (!ids[node.name()].insert(id).second) wrong = id + " was granted twice";
                }
                if (pod != by_uid.end() && held.size() != pod->second->count)
                    wrong = pod->second->name + " holds " + std::to_string(held.size());
            }
        }
    });
    return wrong;
}

std::string FleetWorld::nodes_text() {
    std::string text;
    const auto free = free_units();
    const auto nodes = api().list(resources::nodes(), {});
    for (const auto& node : nodes ? nodes->items : std::vector<kube_client::Object>{}) {
        const Json allocatable = Json::parse(node.json)["status"].value("allocatable", Json());
        text += "\n" + node.name + ": allocatable " + allocatable.dump() + ", free";
        const auto units = free.find(node.name);
        if (units == free.end()) continue;
        for (const auto& [resource, count] : units->second)
            text += " " + resource + "=" + std::to_string(count);
        text += "\n  told: " +
                kube_client::string_at(node.json, "/metadata/annotations/aliquot.dev~1granted")
                    .value_or("nothing");
    }
    for (const auto& [name, pod] : pods()) {
        text += "\n" + name + ' ' + pod.uid + ' ' + pod.resource + '=' + std::to_string(pod.count) +
                ' ' + (pod.gated ? "gated" : pod.phase) + " on '" + pod.node + "', planned for";
        for (const std::string& target : pod.targets) text += ' ' + target;
    }
    return text;
}

testing::AssertionResult FleetWorld::settles(std::chrono::seconds patience) {
    std::string last;
    const bool settled = soon(
        [&] {
            last = complaint();
            return last.empty();
        },
        patience);
    if (settled) return testing::AssertionSuccess();
    last += nodes_text();
    for (const auto& controller : controllers_) last += "\n---\n" + controller->said();
    return testing::AssertionFailure() << last;
}

void FleetWorld::expect_exact_books(const std::string& resource) {
    unsigned free = 0;
    for (const auto& [node, units] : free_units()) {
        const auto has = units.find(resource);
        if (has != units.end()) free += has->second;
    }
    // Pods that wait for more at once would take what the others leave.
    for (const auto& [name, pod] : pods()) {
        if (pod.resource == resource && pod.node.empty()) return;
    }
    std::vector<std::string> made;
    for (unsigned i = 0; i <= free; ++i) {
        made.push_back("fill" + std::to_string(++fills_));
        add_owner(made.back(), {.resource = resource, .count = 1});
    }
    tend_owners();
    const auto running = [&] {
        const auto all = pods();
        return std::ranges::count_if(made, [&](const std::string& name) {
            const auto pod = all.find(owners_.at(name).pod);
            return pod != all.end() && pod->second.phase == "Running";
        });
    };
    EXPECT_TRUE(soon([&] { return running() == static_cast<std::ptrdiff_t>(free); }))
        << running() << " of " << free << " free units of " << resource << " were given\n"
        << controllers_[0]->said() << "\n---\n"
        << controllers_[1]->said();
    EXPECT_TRUE(settles(60s));
    for (const std::string& name : made) remove_owner(name);
}

}  // namespace aliquot
